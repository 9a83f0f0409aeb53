// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LONGEST_MS, RANGES, SHORTEST_MS, edges, fit, pan, slotAt, slotWidth, slots, total, zoom,
} from "./horizon";

const NOW = 1_794_861_183_287;

test("edges cover the window without a gap, and stay where they are as time passes", () => {
  for (const { ms } of RANGES) {
    const window = { start: 0, length: ms };
    const width = slotWidth(ms);
    const first = edges(window, NOW);
    assert.equal(first[0], NOW);
    assert.equal(first[first.length - 1], NOW + ms);
    assert.ok(first.length <= 103, `${ms}: ${first.length} edges`);
    for (let at = 1; at < first.length; at += 1) {
      const step = (first[at] as number) - (first[at - 1] as number);
      assert.ok(step > 0 && step <= width);
    }
    const inner = (all: number[]) => all.slice(1, -1);
    const later = inner(edges(window, NOW + 1));
    assert.ok(later.filter((edge) => inner(first).includes(edge)).length >= later.length - 1);
  }
});

test("slots are the differences between points, and add up", () => {
  const points = [0, 5, 5, 30].map((entries, index) => (
    { at: NOW + index * 10, entries, bytes: entries * 100, memory: 10_000 - entries * 100 }));
  const all = slots(points);
  assert.deepEqual(all.map((slot) => slot.entries), [5, 0, 25]);
  assert.deepEqual(total(all), { entries: 30, bytes: 3000 });
  assert.equal(slotAt(all, NOW + 10)?.from, NOW + 10);
  assert.equal(slotAt(all, NOW + 30), null);
  assert.deepEqual(slots([]), []);
});

test("zoom keeps the moment under the pointer where it is", () => {
  const window = { start: 10_000, length: 100_000 };
  const closer = zoom(window, 0.5, 60_000);
  assert.deepEqual(closer, { start: 35_000, length: 50_000 });
});

test("no window begins before now, or is too short or too long to be drawn", () => {
  assert.equal(pan({ start: 10, length: 60_000 }, -1).start, 0);
  assert.equal(zoom({ start: 0, length: 6000 }, 0.01).length, SHORTEST_MS);
  assert.equal(zoom({ start: 0, length: LONGEST_MS }, 4).length, LONGEST_MS);
  assert.deepEqual(fit({ start: -5, length: 10_000.4 }), { start: 0, length: 10_000 });
});
