// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the system prefers, until the user chooses. The choice is remembered.

import { recolour } from "./chart";
import { byId } from "./dom";

const KEPT = "mayfly-theme";
const SYSTEM = "(prefers-color-scheme: dark)";

function chosen(): string | null {
  try {
    const theme = localStorage.getItem(KEPT);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null;
  }
}

function apply(): void {
  const theme = chosen() ?? (matchMedia(SYSTEM).matches ? "dark" : "light");
  document.documentElement.dataset["theme"] = theme;
  const toggle = byId("theme");
  toggle.textContent = theme === "dark" ? "☀" : "☾";
  toggle.setAttribute("aria-label", theme === "dark" ? "Use the light theme" : "Use the dark theme");
  recolour();
}

export function toggleTheme(): void {
  const next = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEPT, next);
  } catch {
    // The browser allows no storage: the choice lasts as long as the page.
  }
  document.documentElement.dataset["theme"] = next;
  apply();
}

export function startTheme(): void {
  apply();
  matchMedia(SYSTEM).addEventListener("change", apply);
  byId("theme").addEventListener("click", toggleTheme);
}
