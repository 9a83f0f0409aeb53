// SPDX-License-Identifier: Apache-2.0
// Waiting in the tests of this folder: for a condition, never for a fixed time.

import { setTimeout as pause } from "node:timers/promises";

const patienceMs = 15000;

/** For `describe`: its tests inherit it, so that one that waits for ever fails by its name. */
export const limit = { timeout: 60_000 };

/** Waits until `holds()` is truthy, and returns what it gave. Fails if that takes too long. */
export async function until(what, holds) {
  const end = Date.now() + patienceMs;
  for (;;) {
    const outcome = await holds();
    if (outcome) return outcome;
    if (Date.now() > end) throw new Error(`not within ${patienceMs} ms: ${what}`);
    await pause(5);
  }
}

/** Waits for a promise, but not for ever. */
export async function soon(what, promise) {
  const giveUp = new AbortController();
  const late = pause(patienceMs, null, { signal: giveUp.signal }).then(
    () => Promise.reject(new Error(`not within ${patienceMs} ms: ${what}`)),
    () => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    giveUp.abort();
  }
}
