// SPDX-License-Identifier: Apache-2.0
// What a user of redlock does. A lock is a key with a TTL; three scripts take, extend and release.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";

import { Redis } from "ioredis";
import Valkey from "iovalkey";
import Redlock from "redlock";

import { limit, until } from "./wait.js";

const port = Number(process.env.PORT);

for (const [name, Client] of [["ioredis", Redis], ["iovalkey", Valkey]]) {
  describe(`redlock on ${name}`, limit, () => {
    let client, locks;
    const refused = { name: "LockError" };
    before(() => {
      client = new Client({ port, host: "127.0.0.1" });
      locks = new Redlock([client], { retryCount: 0 });
      locks.on("clientError", (error) => assert.fail(error));
    });
    beforeEach(() => client.flushall());
    after(() => client.quit());

    test("a lock that is held is refused, and free again when it is released", async () => {
      const lock = await locks.acquire("door", 60_000);
      await assert.rejects(locks.acquire("door", 60_000), refused);
      assert.equal(await client.get("door"), lock.value);
      const left = await client.pttl("door");
      assert.ok(left > 50_000 && left <= 60_000, left);
      await lock.unlock();
      assert.equal(await client.exists("door"), 0);
      const next = await locks.acquire("door", 60_000);
      assert.notEqual(next.value, lock.value);
      await assert.rejects(locks.release(lock), refused);
      assert.equal(await client.get("door"), next.value, "the lock of another is not released");
      await next.unlock();
    });

    test("a lock is extended by its holder only", async () => {
      const lock = await locks.acquire("door", 10_000);
      await lock.extend(100_000);
      assert.ok((await client.pttl("door")) > 90_000);
      await client.set("door", "of another");
      await assert.rejects(lock.extend(100_000), refused);
      assert.equal(await client.pttl("door"), -1);
    });

    test("several names are locked together or not at all", async () => {
      const second = await locks.acquire("b", 60_000);
      await assert.rejects(locks.acquire(["a", "b", "c"], 60_000), refused);
      assert.equal(await client.exists("a", "c"), 0);
      await second.unlock();
      const all = await locks.acquire(["a", "b", "c"], 60_000);
      assert.equal(await client.exists("a", "b", "c"), 3);
      await all.unlock();
      assert.equal(await client.exists("a", "b", "c"), 0);
    });

    test("a lock that is not released ends with its time, and who waits gets it", async () => {
      const waiting = new Redlock([client], { retryCount: 1000, retryDelay: 5, retryJitter: 2 });
      const lock = await locks.acquire("door", 500);
      const next = await waiting.acquire("door", 60_000);
      assert.ok(next.attempts > 1, next.attempts);
      await assert.rejects(lock.extend(1000), refused);
      await assert.rejects(lock.unlock(), refused);
      await next.unlock();
    });

    test("one of many holds it at a time", async () => {
      const waiting = new Redlock([client], { retryCount: 1000, retryDelay: 3, retryJitter: 2 });
      let inside = 0, most = 0, total = 0;
      await Promise.all(Array.from({ length: 20 }, async () => {
        const lock = await waiting.acquire("door", 60_000);
        most = Math.max(most, ++inside);
        await client.ping();
        total += 1;
        --inside;
        await lock.unlock();
      }));
      assert.deepEqual([most, total], [1, 20]);
    });

    test("after SCRIPT FLUSH the scripts are sent again", async () => {
      const lock = await locks.acquire("door", 60_000);
      await client.script("FLUSH");
      await lock.unlock();
      await until("it is free", async () => (await client.exists("door")) === 0);
    });
  });
}
