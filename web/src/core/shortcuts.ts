// SPDX-License-Identifier: Apache-2.0
// Keys for the whole page. They do nothing while text is typed or a question is open.

import { isDialogOpen, showHelp } from "./dialog";
import { byId, takesText } from "./dom";

export interface Shortcut {
  key: string;
  what: string;
  run(): void;
}

const OTHERS: [string, string][] = [
  ["+ -", "Zoom the expiry horizon, when it has the focus"],
  ["← →", "Move the expiry horizon"],
  ["↑ ↓", "Move through keys, completions or the history"],
  ["Tab", "Take the first completion in the prompt"],
  ["Esc", "Close a question, or leave a field"],
];

export function startShortcuts(shortcuts: Shortcut[]): void {
  const help = () => void showHelp([...shortcuts.map(({ key, what }): [string, string] => [key, what]),
                                    ["?", "This help"], ...OTHERS]);
  byId("help").addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
    if (event.key === "Escape" && takesText(event.target)) {
      (event.target as HTMLElement).blur();
      return;
    }
    if (takesText(event.target) || byId("main").hidden) return;
    if (event.key === "?") {
      event.preventDefault();
      help();
      return;
    }
    const found = shortcuts.find(({ key }) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}
