// SPDX-License-Identifier: Apache-2.0
// What users of rate-limiter-flexible and of rate-limit-redis do. A counter expires with its
// window; a script counts and reads the time that is left in one step.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";

import express from "express";
import { rateLimit } from "express-rate-limit";
import { Redis } from "ioredis";
import Valkey from "iovalkey";
import { RedisStore } from "rate-limit-redis";
import limiters from "rate-limiter-flexible";
import { createClient } from "redis";

import { limit, until } from "./wait.js";

const { BurstyRateLimiter, RateLimiterQueue, RateLimiterRedis, RateLimiterRedisNonAtomic,
        RateLimiterUnion, RateLimiterValkey } = limiters;
const port = Number(process.env.PORT);
const ioredis = () => new Redis({ port, host: "127.0.0.1" });
const redis = () => createClient({ url: `redis://127.0.0.1:${port}` }).connect();
const iovalkey = () => new Valkey({ port, host: "127.0.0.1" });
const flush = (client) => (client.flushall ?? client.flushAll).call(client);
const close = (client) => (client.close ?? client.quit).call(client);

/** Of `count` calls at once, those that the limiter lets through and those that it refuses. */
async function burst(count, call) {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, call));
  const of = (wanted) => outcomes.filter(({ status }) => status === wanted);
  const passed = of("fulfilled").map(({ value }) => value);
  const refused = of("rejected").map(({ reason }) => reason);
  for (const reason of refused) if (reason instanceof Error) throw reason;
  return { passed, refused };
}

for (const [name, connect, Limiter, options] of [
  ["ioredis", ioredis, RateLimiterRedis, {}],
  ["redis", redis, RateLimiterRedis, { useRedisPackage: true }],
  ["iovalkey", iovalkey, RateLimiterValkey, {}],
]) {
  describe(`rate-limiter-flexible on ${name}`, limit, () => {
    let client;
    const limiter = (more) => new Limiter({ ...options, storeClient: client, ...more });
    before(async () => {
      client = await connect();
    });
    beforeEach(() => flush(client));
    after(() => close(client));

    test("exactly as many pass as there are points, in each window", async () => {
      const limits = limiter({ points: 5, duration: 1 });
      for (let window = 0; window < 2; ++window) {
        const { passed, refused } = await burst(20, () => limits.consume("ann"));
        assert.equal(passed.length, 5);
        assert.deepEqual(passed.map((one) => one.remainingPoints), [4, 3, 2, 1, 0]);
        assert.ok(passed[0].isFirstInDuration && !passed[1].isFirstInDuration);
        assert.equal(refused.length, 15);
        assert.ok(refused.every((one) => one.msBeforeNext > 0 && one.msBeforeNext <= 1000));
        const another = await burst(7, () => limits.consume("bob"));
        assert.equal(another.passed.length, 5);
        if (window === 0) {
          await until("the window is over", async () => (await limits.get("ann")) === null &&
                                                        (await limits.get("bob")) === null);
        }
      }
    });

    test("a block lasts, and points are taken and given back", async () => {
      const limits = limiter({ points: 3, duration: 60, blockDuration: 100 });
      assert.equal((await limits.penalty("ann", 2)).consumedPoints, 2);
      assert.equal((await limits.consume("ann")).remainingPoints, 0);
      assert.equal((await limits.reward("ann")).consumedPoints, 2);
      assert.equal((await limits.consume("ann")).remainingPoints, 0);
      const refused = await limits.consume("ann").catch((reason) => reason);
      assert.ok(refused.msBeforeNext > 90_000 && refused.msBeforeNext <= 100_000, "blocked");
      await limits.block("bob", 50);
      const blocked = await limits.get("bob");
      assert.ok(blocked.consumedPoints > 3);
      assert.ok(blocked.msBeforeNext > 40_000 && blocked.msBeforeNext <= 50_000);
      await limits.set("cat", 2, 50);
      assert.equal((await limits.get("cat")).remainingPoints, 1);
      assert.equal(await limits.delete("ann"), true);
      assert.equal(await limits.get("ann"), null);
    });

    test("points without a duration are kept", async () => {
      const limits = limiter({ points: 3, duration: 0 });
      assert.equal((await limits.consume("ann", 3)).remainingPoints, 0);
      const refused = await limits.consume("ann").catch((reason) => reason);
      assert.equal(refused.consumedPoints, 4);
      assert.equal((await limits.reward("ann", 2)).consumedPoints, 2);
    });

    test("limits together, with a burst, and with a queue", async () => {
      const seconds = limiter({ keyPrefix: "s", points: 2, duration: 60 });
      const minutes = limiter({ keyPrefix: "m", points: 5, duration: 600 });
      const union = new RateLimiterUnion(seconds, minutes);
      assert.equal((await union.consume("ann")).m.remainingPoints, 4);
      const bursty = new BurstyRateLimiter(seconds, minutes);
      assert.equal((await burst(20, () => bursty.consume("bob"))).passed.length, 7);
      const queue = new RateLimiterQueue(limiter({ keyPrefix: "q", points: 2, duration: 1 }));
      const left = await Promise.all([queue.removeTokens(1), queue.removeTokens(1),
                                      queue.removeTokens(2)]);
      assert.deepEqual(left, [1, 0, 0], "the third waits for the next window");
    });

    test("after SCRIPT FLUSH the script is sent again", async () => {
      const limits = limiter({ points: 3, duration: 60 });
      await limits.consume("ann");
      await (client.script ? client.script("FLUSH") : client.scriptFlush());
      assert.equal((await limits.consume("ann")).remainingPoints, 1);
    });
  });
}

test("rate-limiter-flexible without Lua", async (context) => {
  const client = ioredis();
  context.after(() => client.quit());
  await client.flushall();
  const limits = new RateLimiterRedisNonAtomic({ storeClient: client, points: 3, duration: 60 });
  for (const left of [2, 1, 0]) {
    assert.equal((await limits.consume("dan")).remainingPoints, left);
  }
  assert.equal((await burst(5, () => limits.consume("dan"))).passed.length, 0);
});

for (const [name, connect, sender] of [
  ["ioredis", ioredis, (client) => (command, ...words) => client.call(command, ...words)],
  ["redis", redis, (client) => (...words) => client.sendCommand(words)],
]) {
  describe(`rate-limit-redis on ${name}`, limit, () => {
    let client, sendCommand;
    before(async () => {
      client = await connect();
      sendCommand = sender(client);
    });
    beforeEach(() => flush(client));
    after(() => close(client));

    test("its store counts within a window", async () => {
      const store = new RedisStore({ sendCommand, prefix: "hits:" });
      await store.init({ windowMs: 700 });
      for (let window = 0; window < 2; ++window) {
        const hits = await Promise.all(Array.from({ length: 10 }, () => store.increment("ann")));
        assert.deepEqual(hits.map(({ totalHits }) => totalHits), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert.ok(hits.every(({ resetTime }) => resetTime - Date.now() <= 700));
        await store.decrement("ann");
        assert.equal((await store.get("ann")).totalHits, 9);
        if (window === 0) {
          await until("the window is over", async () => !((await store.get("ann")).totalHits > 0));
        }
      }
      await store.increment("bob");
      await store.resetKey("bob");
      assert.equal((await store.increment("bob")).totalHits, 1);
      await sendCommand("SCRIPT", "FLUSH");
      assert.equal((await store.increment("bob")).totalHits, 2);
    });

    test("a web server lets exactly so many requests through", async (context) => {
      const app = express();
      app.use(rateLimit({ windowMs: 60_000, limit: 5, standardHeaders: "draft-8",
                          legacyHeaders: false, store: new RedisStore({ sendCommand }) }));
      app.get("/", (_, response) => response.send("welcome"));
      const server = app.listen(0, "127.0.0.1");
      context.after(() => server.close());
      await once(server, "listening");
      const address = `http://127.0.0.1:${server.address().port}/`;
      const replies = await Promise.all(Array.from({ length: 12 }, () => fetch(address)));
      const statuses = replies.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [...Array(5).fill(200), ...Array(7).fill(429)]);
      assert.match(replies[0].headers.get("ratelimit"), /r=\d+; t=\d+/);
      await Promise.all(replies.map((reply) => reply.text()));
    });
  });
}
