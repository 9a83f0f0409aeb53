// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, duration, exactBytes, parseDuration, rate, shortCount } from "./format";

test("counts and sizes are short and do not jump at a unit's edge", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(9223372036854775807n), "9,223,372,036,854,775,807");
  assert.deepEqual([0, 999, 1000, 1234, 35_000, 999_999, 2_500_000].map(shortCount),
                   ["0", "999", "1k", "1.2k", "35k", "1M", "2.5M"]);
  assert.deepEqual([0, 812, 1024, 1536, 40 * 1024 * 1024].map(bytes),
                   ["0 B", "812 B", "1 KiB", "1.5 KiB", "40 MiB"]);
  assert.deepEqual([0, 1024, 1.25 * 1024 * 1024].map(exactBytes), ["0 B", "1 KiB", "1.25 MiB"]);
  assert.deepEqual([0, 0.4, 3, 12.6, 1234.4].map(rate), ["0", "0.4", "3", "13", "1,234"]);
});

test("a duration never claims more time than is left", () => {
  assert.deepEqual([0, 850, 1000, 59_999, 60_000, 200_000, 3_599_999, 90_000_000].map(duration),
                   ["0 ms", "850 ms", "1.0 s", "59.9 s", "1 m", "3 m 20 s", "59 m 59 s", "1 d 1 h"]);
});

test("durations are read as they are written", () => {
  const given: [string, number | null][] = [
    ["90", 90_000], ["1.5s", 1500], ["500ms", 500], ["1h 30m", 5_400_000], ["2D", 172_800_000],
    ["1w", 604_800_000], ["0", null], ["", null], ["-5", null], ["5x", null], ["1h30", null],
    ["9999999999999999d", null],
  ];
  for (const [text, ms] of given) assert.equal(parseDuration(text), ms, text);
  for (const ms of [850, 59_900, 200_000, 5_400_000]) assert.equal(parseDuration(duration(ms)), ms);
});
