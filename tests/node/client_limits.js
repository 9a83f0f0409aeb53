// SPDX-License-Identifier: Apache-2.0
// What a user of rate-limiter-flexible does. RateLimiterRedis and RateLimiterValkey count within a
// duration by a Lua script, which the server does not run yet; what they do without one is tested
// here, and RateLimiterRedisNonAtomic, which needs none.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";

import { Redis } from "ioredis";
import Valkey from "iovalkey";
import limiters from "rate-limiter-flexible";
import { createClient } from "redis";

const { RateLimiterRedis, RateLimiterRedisNonAtomic, RateLimiterValkey } = limiters;
const port = Number(process.env.PORT);
const kinds = [
  ["ioredis", () => new Redis({ port, host: "127.0.0.1" }), RateLimiterRedis, {}],
  ["redis", () => createClient({ url: `redis://127.0.0.1:${port}` }).connect(), RateLimiterRedis,
   { useRedisPackage: true }],
  ["iovalkey", () => new Valkey({ port, host: "127.0.0.1" }), RateLimiterValkey, {}],
];

for (const [name, connect, Limiter, options] of kinds) {
  describe(`rate-limiter-flexible on ${name}`, () => {
    let client;
    before(async () => {
      client = await connect();
    });
    beforeEach(async () => {
      await (client.flushall ?? client.flushAll).call(client);
    });
    after(() => (client.close ?? client.quit).call(client));

    test("points without a duration are consumed, given back and removed", async () => {
      const limiter = new Limiter({ ...options, storeClient: client, points: 3, duration: 0 });
      assert.equal((await limiter.consume("ann")).remainingPoints, 2);
      assert.equal((await limiter.consume("ann", 2)).remainingPoints, 0);
      const refused = await limiter.consume("ann").catch((reason) => reason);
      assert.equal(refused.consumedPoints, 4);
      assert.equal((await limiter.reward("ann", 2)).consumedPoints, 2);
      assert.equal((await limiter.get("ann")).consumedPoints, 2);
      assert.equal(await limiter.delete("ann"), true);
      assert.equal(await limiter.get("ann"), null);
    });

    test("blocks and points that are set last their time", async () => {
      const limiter = new Limiter({ ...options, storeClient: client, points: 3, duration: 60 });
      await limiter.block("bob", 100);
      const blocked = await limiter.get("bob");
      assert.ok(blocked.consumedPoints > 3);
      assert.ok(blocked.msBeforeNext > 90000 && blocked.msBeforeNext <= 100000);
      await limiter.set("cat", 2, 50);
      const set = await limiter.get("cat");
      assert.equal(set.remainingPoints, 1);
      assert.ok(set.msBeforeNext > 40000 && set.msBeforeNext <= 50000);
    });
  });
}

describe("rate-limiter-flexible without Lua", () => {
  test("points within a duration", async (context) => {
    const client = new Redis({ port, host: "127.0.0.1" });
    context.after(() => client.quit());
    const limiter = new RateLimiterRedisNonAtomic({ storeClient: client, points: 3, duration: 60,
                                                    blockDuration: 100 });
    const first = await limiter.consume("dan");
    assert.equal(first.remainingPoints, 2);
    assert.ok(first.msBeforeNext > 50000 && first.msBeforeNext <= 60000);
    await limiter.consume("dan", 2);
    const refused = await limiter.consume("dan").catch((reason) => reason);
    assert.equal(refused.remainingPoints, 0);
    assert.ok(refused.msBeforeNext > 90000, "blocked");
  });

  test("a script is refused with a clear error, not with silence", async (context) => {
    const client = new Redis({ port, host: "127.0.0.1" });
    context.after(() => client.quit());
    const limiter = new RateLimiterRedis({ storeClient: client, points: 3, duration: 60 });
    const outcome = await limiter.consume("eve").catch((reason) => reason);
    assert.ok(outcome.remainingPoints === 2 || /'eval/i.test(outcome.message),
              outcome);
  });
});
