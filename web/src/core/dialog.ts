// SPDX-License-Identifier: Apache-2.0
// Questions to the user. The browser's own dialog element keeps the focus inside, closes on Esc
// and gives the focus back.

import { button, h } from "./dom";
import { duration, parseDuration } from "./format";

let dialogs = 0;

/** Shows a dialog until it closes; the result is its return value, "" if it was dismissed. */
function ask(title: string, content: (Node | string)[], buttons: HTMLButtonElement[],
             submit?: () => string | null): Promise<string> {
  dialogs += 1;
  const id = `dialog-${dialogs}`;
  const form = h("form", { method: "dialog" }, h("h2", { id }, title), ...content,
                 h("div", { class: "buttons" }, ...buttons));
  const dialog = h("dialog", { "aria-labelledby": id }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const result = submit ? submit() : "yes";
    if (result !== null) dialog.close(result);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close("");  // beside it
  });
  for (const element of buttons) {
    if (element.type === "button") element.addEventListener("click", () => dialog.close(""));
  }
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const result = dialog.returnValue;
      dialog.remove();
      resolve(result);
    });
    dialog.showModal();
  });
}

const cancel = () => h("button", { type: "button" }, "Cancel");

/** Whether the user says yes to what `action` names, such as "Delete". */
export async function confirm(title: string, text: string, action: string,
                              isDangerous = true): Promise<boolean> {
  const yes = h("button", { type: "submit", class: isDangerous ? "primary danger" : "primary" },
                action);
  const no = cancel();
  no.autofocus = true;
  return (await ask(title, [h("p", {}, text)], [no, yes])) === "yes";
}

const PRESETS = ["10s", "1m", "10m", "1h", "1d", "1w"];

/** A duration above zero in milliseconds, or null. */
export async function askDuration(title: string, current: number | null): Promise<number | null> {
  const error = h("p", { class: "error", role: "alert" });
  const input = h("input", { id: "ttl-input", type: "text", autocomplete: "off", autofocus: true,
                             placeholder: "90s, 10m, 1h 30m, 2d" });
  if (current !== null && current > 0) input.value = duration(current);
  const presets = PRESETS.map((text) => button(text, () => { input.value = text; input.focus(); },
                                               { class: "small" }));
  const yes = h("button", { type: "submit", class: "primary" }, "Set TTL");
  const result = await ask(title, [
    h("label", { for: "ttl-input" }, "Time to live"), input,
    h("div", { class: "presets" }, ...presets), error,
  ], [cancel(), yes], () => {
    const ms = parseDuration(input.value);
    if (ms !== null) return String(ms);
    error.textContent = "Not a duration: write 90s, 10m, 1h 30m or 2d (a number alone is seconds).";
    input.setAttribute("aria-invalid", "true");
    input.focus();
    return null;
  });
  return result === "" ? null : Number(result);
}

export async function showHelp(shortcuts: [string, string][]): Promise<void> {
  const list = h("dl", { class: "keys" }, ...shortcuts.flatMap(([keys, what]) => [
    h("dt", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, what),
  ]));
  await ask("Keyboard shortcuts", [list],
            [h("button", { type: "submit", class: "primary" }, "Close")]);
}

export function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
