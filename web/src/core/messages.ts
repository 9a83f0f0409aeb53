// SPDX-License-Identifier: Apache-2.0
// Short messages at the edge of the page, which a screen reader reads out too.

import { LoginNeeded } from "./api";
import { byId, h } from "./dom";

const SHOWN_MS = 5000;
let onLoginNeeded: () => void = () => {};

export function whenLoginIsNeeded(action: () => void): void {
  onLoginNeeded = action;
}

export function say(text: string, isBad = false): void {
  byId("said").textContent = text;
  const toast = h("div", { class: isBad ? "toast bad" : "toast", "aria-hidden": "true" }, text);
  const toasts = byId("toasts");
  toasts.append(toast);
  while (toasts.children.length > 3) toasts.firstElementChild?.remove();
  setTimeout(() => toast.remove(), SHOWN_MS);
}

/** Says why something that the user asked for did not work. */
export function report(error: unknown): void {
  if (error instanceof LoginNeeded) {
    onLoginNeeded();
    return;
  }
  say(error instanceof Error ? error.message : String(error), true);
}
