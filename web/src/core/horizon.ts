// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the expiry horizon. A window is a part of the coming time; its edges divide it
// into slots. Edges lie at multiples of the slot's width, so that a bar keeps its place in time
// and moves to the left as time passes, instead of changing its height at every poll.
//
// TTLSTATS FORECAST says what will have expired at each edge; the difference between two edges is
// what expires between them.

import type { Forecast } from "./ttlstats";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const RANGES: { label: string; name: string; ms: number }[] = [
  { label: "30s", name: "30 seconds", ms: 30 * SECOND },
  { label: "5m", name: "5 minutes", ms: 5 * MINUTE },
  { label: "1h", name: "1 hour", ms: HOUR },
  { label: "6h", name: "6 hours", ms: 6 * HOUR },
  { label: "1d", name: "1 day", ms: DAY },
  { label: "1w", name: "1 week", ms: 7 * DAY },
  { label: "5w", name: "5 weeks", ms: 35 * DAY },
];

// Widths that people can read on a clock or a calendar.
const WIDTHS = [
  100, 250, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE,
  2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY,
];
const MOST_SLOTS = 100;
export const SHORTEST_MS = 5 * SECOND;
export const LONGEST_MS = 366 * DAY;

/** From `start` to `start + length` milliseconds after now. */
export interface Window {
  start: number;
  length: number;
}

export interface Slot {
  from: number;
  to: number;
  entries: number;
  bytes: number;
  memory: number;
}

export function slotWidth(length: number): number {
  return WIDTHS.find((width) => length / width <= MOST_SLOTS) ?? Math.ceil(length / MOST_SLOTS);
}

/** The edges of the slots, ascending: the window's own ends and the multiples between them. */
export function edges(window: Window, now: number): number[] {
  const width = slotWidth(window.length);
  const from = now + window.start;
  const to = from + window.length;
  const found = [from];
  for (let edge = Math.floor(from / width) * width + width; edge < to; edge += width) {
    found.push(edge);
  }
  found.push(to);
  return found;
}

/** What expires between each two points, which are in the order of time. */
export function slots(forecast: Forecast[]): Slot[] {
  const found: Slot[] = [];
  for (let at = 0; at + 1 < forecast.length; at += 1) {
    const one = forecast[at] as Forecast;
    const next = forecast[at + 1] as Forecast;
    found.push({
      from: one.at,
      to: next.at,
      entries: Math.max(0, next.entries - one.entries),
      bytes: Math.max(0, next.bytes - one.bytes),
      memory: next.memory,
    });
  }
  return found;
}

export function total(all: Slot[]): { entries: number; bytes: number } {
  return all.reduce((sum, slot) => ({ entries: sum.entries + slot.entries,
                                      bytes: sum.bytes + slot.bytes }), { entries: 0, bytes: 0 });
}

/** The slot at this moment. */
export function slotAt(all: Slot[], ms: number): Slot | null {
  return all.find((slot) => slot.from <= ms && ms < slot.to) ?? null;
}

/** The window after a zoom by `factor` (below 1: closer) around a moment `at` after now. */
export function zoom(window: Window, factor: number, at = window.start + window.length / 2): Window {
  const length = clamp(window.length * factor, SHORTEST_MS, LONGEST_MS);
  const share = window.length === 0 ? 0.5 : (at - window.start) / window.length;
  return fit({ start: at - share * length, length });
}

export function pan(window: Window, share: number): Window {
  return fit({ start: window.start + share * window.length, length: window.length });
}

/** The same window, moved so that it begins no earlier than now. */
export function fit(window: Window): Window {
  const length = Math.round(clamp(window.length, SHORTEST_MS, LONGEST_MS));
  return { start: Math.round(clamp(window.start, 0, LONGEST_MS)), length };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
