// SPDX-License-Identifier: Apache-2.0
// Remaining times that count down. An element says once, by the event "due", that its time is
// over; whoever shows it then asks the server. Only the server decides what has expired.

import { h, setText } from "./dom";
import { dateTime, duration } from "./format";
import { serverNow } from "./state";

const NEAR_MS = 10_000;

/** `deadline` is in unix milliseconds; null is none. */
export function countdown(deadline: number | null): HTMLElement {
  const element = h("span", { class: "left" });
  if (deadline === null) {
    element.textContent = "no TTL";
    element.classList.add("dim");
  } else {
    element.dataset["deadline"] = String(deadline);
    element.title = dateTime(deadline);
    tick(element, serverNow());
  }
  return element;
}

function tick(element: HTMLElement, now: number): void {
  const left = Number(element.dataset["deadline"]) - now;
  setText(element, left > 0 ? duration(left) : "due");
  element.dataset["near"] = String(left > 0 && left < NEAR_MS);
  if (left <= 0 && element.dataset["due"] !== "true") {
    element.dataset["due"] = "true";
    element.dispatchEvent(new CustomEvent("due", { bubbles: true }));
  }
}

/** Five times a second; once for those who prefer less motion. Not while the page is hidden. */
export function startCountdowns(): void {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    const now = serverNow();
    document.querySelectorAll<HTMLElement>(".left[data-deadline]").forEach((element) =>
      tick(element, now));
  }, calm ? 1000 : 200);
}
