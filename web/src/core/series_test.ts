// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Rates, Series } from "./series";

test("a series keeps the latest samples only", () => {
  const series = new Series(2, 3);
  for (let at = 1; at <= 5; at += 1) series.add(at, [at * 10]);
  assert.deepEqual(series.data(), [[3, 4, 5], [30, 40, 50], [null, null, null]]);
  assert.deepEqual(series.latest(2).map(({ seconds }) => seconds), [5, 4]);
});

test("rates are growth per second", () => {
  const rates = new Rates();
  assert.equal(rates.next(1000, { commands: 10 }), null);
  assert.deepEqual(rates.next(3000, { commands: 30 }), { commands: 10 });
});

test("a server that has started again gives no rate, neither negative nor huge", () => {
  const rates = new Rates();
  rates.next(1000, { commands: 1000 });
  assert.equal(rates.next(2000, { commands: 5 }), null);
  assert.deepEqual(rates.next(3000, { commands: 6 }), { commands: 1 });
  assert.equal(rates.next(3000, { commands: 7 }), null);
});
