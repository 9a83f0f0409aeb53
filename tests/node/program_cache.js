// SPDX-License-Identifier: Apache-2.0
// What users of caches do: node-redis keeps replies in its own memory until the server says that a
// key has changed or expired; Keyv keeps values in the server by @keyv/valkey.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import KeyvValkey, { createKeyv } from "@keyv/valkey";
import Keyv from "keyv";
import { BasicClientSideCache, BasicPooledClientSideCache, createClient, createClientPool }
  from "redis";

import { limit, soon, until } from "./wait.js";

const url = `redis://127.0.0.1:${process.env.PORT}`;

describe("the cache of node-redis", limit, () => {
  let cache, client, other;
  const hits = () => cache.stats().hitCount;
  const misses = () => cache.stats().missCount;
  const gone = (key) => soon(`word that ${key} is gone`, new Promise((resolve) => {
    cache.on("invalidate", (name) => {
      if (name === null || name.toString() === key) resolve();
    });
  }));
  before(async () => {
    other = await createClient({ url }).connect();
  });
  beforeEach(async () => {
    await other.flushAll();
    cache = new BasicClientSideCache();
    client = await createClient({ url, RESP: 3, clientSideCache: cache }).connect();
  });
  afterEach(() => client.close());
  after(() => other.close());

  test("a value is read once, and again when another client has written", async () => {
    await other.set("key", "one");
    assert.equal(await client.get("key"), "one");
    assert.equal(await client.get("key"), "one");
    assert.deepEqual([hits(), misses()], [1, 1]);
    const told = gone("key");
    await other.set("key", "two");
    await told;
    assert.equal(await client.get("key"), "two");
    assert.deepEqual([hits(), misses()], [1, 2]);
    const deleted = gone("key");
    await other.del("key");
    await deleted;
    assert.equal(await client.get("key"), null);
  });

  test("a write in a script and in a transaction is told, too", async () => {
    await other.mSet({ a: "1", b: "1" });
    await client.mGet(["a", "b"]);
    await client.get("b");
    const both = Promise.all([gone("a"), gone("b")]);
    await other.eval("return redis.call('INCR', KEYS[1])", { keys: ["a"], arguments: [] });
    await other.multi().incr("b").exec();
    await both;
    assert.deepEqual(await client.mGet(["a", "b"]), ["2", "2"]);
    assert.equal(await client.get("b"), "2");
  });

  test("a key that expires is told without a command on it", async () => {
    await other.set("brief", "value", { PX: 700 });
    const told = gone("brief");
    assert.equal(await client.get("brief"), "value");
    await told;
    assert.equal(await client.get("brief"), null);
    assert.equal(hits(), 0);
  });

  test("all keys are forgotten when the database is emptied", async () => {
    await other.mSet({ a: "1", b: "2" });
    assert.deepEqual([await client.get("a"), await client.get("b")], ["1", "2"]);
    const told = gone(null);
    await other.flushAll();
    await told;
    assert.deepEqual([await client.get("a"), await client.get("b")], [null, null]);
  });

  test("collections are cached and told as strings are", async () => {
    await other.hSet("h", { f: "v" });
    await other.zAdd("z", { value: "a", score: 1 });
    for (let round = 0; round < 2; ++round) {
      assert.deepEqual({ ...(await client.hGetAll("h")) }, { f: "v" });
      assert.deepEqual(await client.zRange("z", 0, -1), ["a"]);
    }
    assert.deepEqual([hits(), misses()], [2, 2]);
    const both = Promise.all([gone("h"), gone("z")]);
    await other.hSet("h", "g", "w");
    await other.zAdd("z", { value: "b", score: 2 });
    await both;
    assert.deepEqual({ ...(await client.hGetAll("h")) }, { f: "v", g: "w" });
    assert.deepEqual(await client.zRange("z", 0, -1), ["a", "b"]);
  });

  test("a hash, a set and a sorted set are told when one of their members expires", async () => {
    await other.hSetEx("h", { goes: "2" }, { expiration: { type: "PX", value: 700 } });
    await other.sendCommand(["SADDEX", "s", "PX", "700", "MEMBERS", "1", "goes"]);
    await other.sendCommand(["ZADDEX", "z", "PX", "700", "MEMBERS", "1", "2", "goes"]);
    await other.hSet("h", { stays: "1" });
    await other.sAdd("s", "stays");
    await other.zAdd("z", { value: "stays", score: 1 });
    const told = Promise.all(["h", "s", "z"].map(gone));
    assert.deepEqual({ ...(await client.hGetAll("h")) }, { goes: "2", stays: "1" });
    assert.deepEqual([...(await client.sMembers("s"))].sort(), ["goes", "stays"]);
    assert.deepEqual(await client.zRange("z", 0, -1), ["stays", "goes"]);
    await told;
    assert.deepEqual({ ...(await client.hGetAll("h")) }, { stays: "1" });
    assert.deepEqual([...(await client.sMembers("s"))], ["stays"]);
    assert.deepEqual(await client.zRange("z", 0, -1), ["stays"]);
    assert.equal(hits(), 0);
  });

  test("a pool shares one cache", async () => {
    const shared = new BasicPooledClientSideCache();
    const pool = await createClientPool({ url, RESP: 3 },
                                        { clientSideCache: shared, minimum: 3 }).connect();
    await other.set("key", "one");
    assert.deepEqual(await Promise.all(Array.from({ length: 9 }, () => pool.get("key"))),
                     Array(9).fill("one"));
    await other.set("key", "two");
    await until("the new value is seen", async () => (await pool.get("key")) === "two");
    const before = shared.stats().hitCount;
    await pool.get("key");
    assert.equal(shared.stats().hitCount, before + 1);
    await pool.close();
  });
});

describe("@keyv/valkey", limit, () => {
  let plain;
  before(async () => {
    plain = await createClient({ url }).connect();
  });
  beforeEach(() => plain.flushAll());
  after(() => plain.close());

  for (const useRedisSets of [true, false]) {
    test(`values in a namespace, ${useRedisSets ? "with" : "without"} a set of its keys`,
         async (context) => {
      const open = (namespace) => {
        const keyv = new Keyv(new KeyvValkey(url, { useRedisSets }), { namespace });
        keyv.on("error", (error) => assert.fail(error));
        context.after(() => keyv.disconnect());
        return keyv;
      };
      const [users, pages] = [open("users"), open("pages")];
      assert.equal(await users.get("ann"), undefined);
      assert.equal(await users.set("ann", { age: 30, photo: Buffer.from("png") }), true);
      assert.deepEqual(await users.get("ann"), { age: 30, photo: Buffer.from("png") });
      await users.set("bob", 5);
      await pages.set("ann", "a page");
      assert.deepEqual(await users.get(["bob", "nobody"]), [5, undefined]);
      assert.equal(await users.has("bob"), true);
      assert.equal(await users.delete("bob"), true);
      assert.equal(await users.delete("bob"), false);
      assert.equal(await users.has("bob"), false);
      for (let n = 0; n < 100; ++n) await users.set(`user ${n}`, n);
      await users.delete(["user 0", "user 1"]);
      await users.clear();
      assert.equal(await users.get("user 50"), undefined);
      assert.equal(await pages.get("ann"), "a page");
    });
  }

  test("values that end with their time, and all that are there", async (context) => {
    const keyv = createKeyv(url);
    context.after(() => keyv.disconnect());
    await keyv.set("brief", 1, 500);
    assert.equal(await keyv.get("brief"), 1);
    await until("its time is over", async () => (await keyv.get("brief")) === undefined);
    const entries = Array.from({ length: 50 }, (_, n) => [`key ${n}`, n]);
    for (const [key, value] of entries) await keyv.set(key, value);
    const seen = new Map();
    for await (const [key, value] of keyv.iterator("keyv")) seen.set(key, value);
    assert.deepEqual([...seen].sort((a, b) => a[1] - b[1]), entries);
  });
});
