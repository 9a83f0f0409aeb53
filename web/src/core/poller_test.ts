// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Poller, type Timers } from "./poller";

/** Timers that ring when the test says so. */
class ManualTimers implements Timers {
  visible = true;
  pending: { action: () => void; ms: number } | null = null;
  set(action: () => void, ms: number): number {
    this.pending = { action, ms };
    return 1;
  }
  clear(): void {
    this.pending = null;
  }
  isVisible(): boolean {
    return this.visible;
  }
  async ring(): Promise<number> {
    const { action, ms } = this.pending ?? { action: () => {}, ms: -1 };
    this.pending = null;
    action();
    await settle();
    return ms;
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("polls once a period while it works, and ever less often while it fails", async () => {
  const timers = new ManualTimers();
  let works = true;
  const poller = new Poller(() => Promise.resolve(works), 1000, timers);
  poller.start();
  await settle();
  assert.equal(await timers.ring(), 1000);
  works = false;
  const waits = [];
  for (let turn = 0; turn < 8; turn += 1) waits.push(await timers.ring());
  assert.deepEqual(waits, [1000, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  works = true;
  await timers.ring();
  assert.equal(timers.pending?.ms, 1000);
});

test("asks nothing while the page is hidden, and at once when it is shown again", async () => {
  const timers = new ManualTimers();
  let calls = 0;
  const poller = new Poller(() => { calls += 1; return Promise.resolve(true); }, 1000, timers);
  poller.start();
  await settle();
  timers.visible = false;
  await timers.ring();
  assert.equal(calls, 1);
  assert.equal(timers.pending, null);
  timers.visible = true;
  poller.now();
  await settle();
  assert.equal(calls, 2);
  assert.equal(timers.pending !== null, true);
});

test("one call is under way at most, and none after stop", async () => {
  const timers = new ManualTimers();
  let calls = 0;
  let finish: (worked: boolean) => void = () => {};
  const poller = new Poller(() => new Promise((resolve) => { calls += 1; finish = resolve; }), 1000,
                            timers);
  poller.start();
  poller.now();
  assert.equal(calls, 1);
  poller.stop();
  finish(true);
  await settle();
  assert.equal(timers.pending, null);
});
