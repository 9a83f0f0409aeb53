// SPDX-License-Identifier: Apache-2.0
// What users of `ioredis` and of `iovalkey` do: the second is a fork of the first.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";

import { Redis } from "ioredis";
import Valkey from "iovalkey";

const port = Number(process.env.PORT);

for (const [name, Client] of [["ioredis", Redis], ["iovalkey", Valkey]]) {
  describe(name, () => {
    let client;
    // A fork that does not know a command yet sends it all the same.
    const ask = (command, ...words) =>
      typeof client[command] === "function" ? client[command](...words)
                                            : client.call(command, ...words);
    before(() => {
      client = new Client({ port, host: "127.0.0.1" });
    });
    beforeEach(() => client.flushall());
    after(() => client.quit());

    test("strings and hashes", async () => {
      assert.equal(await client.set("key", "value", "EX", 100), "OK");
      assert.equal(await client.set("key", "other", "NX"), null);
      assert.equal(await client.get("key"), "value");
      assert.equal(await client.getex("key", "PERSIST"), "value");
      assert.equal(await client.ttl("key"), -1);
      assert.deepEqual(await client.getBuffer("key"), Buffer.from("value"));
      assert.equal(await client.mset({ a: 1, b: 2 }), "OK");
      assert.deepEqual(await client.mget("a", "b", "c"), ["1", "2", null]);
      assert.equal(await client.hset("h", { f: "v", g: "w" }), 2);
      assert.deepEqual(await client.hgetall("h"), { f: "v", g: "w" });
      assert.deepEqual(await client.hmget("h", "f", "x"), ["v", null]);
      await assert.rejects(client.incr("h"), /WRONGTYPE/);
    });

    test("field expiry", async () => {
      assert.equal(await ask("hsetex", "h", "EX", 100, "FIELDS", 2, "a", 1, "b", 2), 1);
      assert.deepEqual(await ask("hexpire", "h", 50, "FIELDS", 2, "a", "nothing"), [1, -2]);
      assert.deepEqual(await ask("httl", "h", "FIELDS", 2, "a", "b"), [50, 100]);
      assert.deepEqual(await ask("hpexpireat", "h", 33177117420123, "FIELDS", 1, "a"), [1]);
      assert.deepEqual(await ask("hpexpiretime", "h", "FIELDS", 1, "a"), [33177117420123]);
      assert.deepEqual(await ask("hpersist", "h", "FIELDS", 1, "a"), [1]);
      assert.deepEqual(await ask("hgetex", "h", "PX", 50000, "FIELDS", 1, "a"), ["1"]);
      assert.deepEqual(await ask("hgetdel", "h", "FIELDS", 1, "a"), ["1"]);
    });

    test("sets", async () => {
      assert.equal(await client.sadd("s", "a", "b", "c"), 3);
      assert.deepEqual((await client.smembers("s")).sort(), ["a", "b", "c"]);
      assert.deepEqual(await client.smismember("s", "a", "x"), [1, 0]);
      assert.equal(await client.sadd("t", ["b", "c", "d"]), 3);
      assert.deepEqual((await client.sinter("s", "t")).sort(), ["b", "c"]);
      assert.equal(await client.sintercard(2, "s", "t", "LIMIT", 1), 1);
      assert.equal(await client.sunionstore("u", "s", "t"), 4);
      assert.equal(await client.smove("s", "t", "a"), 1);
      assert.equal((await client.spop("t", 2)).length, 2);
      assert.deepEqual(await client.sort("s", "ALPHA", "DESC"), ["c", "b"]);
      await client.sadd("many", Array.from({ length: 1000 }, (_, n) => `member:${n}`));
      const seen = new Set();
      for await (const names of client.sscanStream("many", { count: 50 })) {
        for (const name of names) seen.add(name);
      }
      assert.equal(seen.size, 1000);
    });

    test("sorted sets", async () => {
      assert.equal(await client.zadd("z", 1, "a", 2.5, "b", "+inf", "c"), 3);
      assert.equal(await client.zadd("z", "GT", "CH", 0, "a", 3, "b"), 1);
      assert.equal(await client.zadd("z", "XX", "INCR", 1, "x"), null);
      assert.equal(await client.zincrby("z", 0.25, "a"), "1.25");
      assert.deepEqual(await client.zrange("z", 0, -1, "WITHSCORES"),
                       ["a", "1.25", "b", "3", "c", "inf"]);
      assert.deepEqual(await client.zrange("z", 3, "-inf", "BYSCORE", "REV", "LIMIT", 1, 1), ["a"]);
      assert.deepEqual(await client.zmscore("z", "a", "x"), ["1.25", null]);
      assert.equal(await client.zrevrank("z", "a"), 2);
      assert.equal(await client.zcount("z", "(1.25", "+inf"), 2);
      assert.equal(await client.zunionstore("u", 2, "z", "z", "WEIGHTS", 1, 2), 3);
      assert.equal(await client.zscore("u", "b"), "9");
      assert.deepEqual(await client.zpopmax("z"), ["c", "inf"]);
      const seen = [];
      for await (const found of client.zscanStream("z")) seen.push(...found);
      assert.deepEqual(seen.sort(), ["1.25", "3", "a", "b"]);
    });

    test("blocking pops", async () => {
      assert.equal(await client.bzpopmin("queue", 0.01), null);
      const other = client.duplicate();
      const served = other.bzpopmax("nothing", "queue", 0);
      while (!/blocked_clients:1\r/.test(await client.info("clients")));
      await client.zadd("queue", 1.5, "job", 1, "next");
      assert.deepEqual(await served, ["queue", "job", "1.5"]);
      await other.quit();
    });

    test("member expiry", async () => {
      assert.equal(await ask("saddex", "s", "EX", 100, "MEMBERS", 2, "a", "b"), 2);
      assert.deepEqual(await ask("sexpire", "s", 50, "MEMBERS", 2, "a", "nothing"), [1, -2]);
      assert.deepEqual(await ask("sttl", "s", "MEMBERS", 2, "a", "b"), [50, 100]);
      assert.deepEqual(await ask("spersist", "s", "MEMBERS", 1, "a"), [1]);
      assert.equal(await ask("zaddex", "z", "EX", 100, "MEMBERS", 2, 1, "a", 2, "b"), 2);
      assert.deepEqual(await ask("zpexpireat", "z", 33177117420123, "MEMBERS", 1, "a"), [1]);
      assert.deepEqual(await ask("zpexpiretime", "z", "MEMBERS", 1, "a"), [33177117420123]);
      assert.deepEqual(await ask("zexpire", "z", 0, "MEMBERS", 1, "a"), [2]);
      assert.equal(await client.zrank("z", "b"), 0);
    });

    test("pipelines and transactions", async () => {
      const pipeline = client.pipeline();
      for (let n = 0; n < 1000; ++n) pipeline.set(`k${n}`, n);
      assert.ok((await pipeline.exec()).every(([error, reply]) => !error && reply === "OK"));
      assert.deepEqual(await client.multi().incr("n").hset("h", "f", "v").exec(),
                       [[null, 1], [null, 1]]);
      await client.watch("n");
      const other = client.duplicate();
      await other.incr("n");
      assert.equal(await client.multi().incr("n").exec(), null);
      await other.quit();
      let count = 0;
      for await (const keys of client.scanStream({ match: "k*", count: 100 })) count += keys.length;
      assert.equal(count, 1000);
      const fields = [];
      for await (const found of client.hscanStream("h")) fields.push(...found);
      assert.deepEqual(fields, ["f", "v"]);
    });

    test("messages, and the expiry of a key and a field", async () => {
      await client.config("SET", "notify-keyspace-events", "Ex");
      const subscriber = client.duplicate();
      await subscriber.psubscribe("__keyevent@0__:*");
      const seen = [];
      const done = new Promise((resolve) => {
        subscriber.on("pmessage", (_, channel, key) => {
          seen.push(`${channel.split(":")[1]} ${key}`);
          if (seen.length === 2) resolve();
        });
      });
      await client.set("a", 1, "PX", 20);
      await ask("hsetex", "h", "PX", 20, "FIELDS", 1, "f", "v");
      await done;
      assert.deepEqual(seen.sort(), ["expired a", "hexpired h"]);
      await subscriber.quit();
      await client.config("SET", "notify-keyspace-events", "");
    });

    test("monitoring", async () => {
      const monitor = await client.monitor();
      const said = once(monitor, "monitor");
      await client.get("something");
      assert.deepEqual((await said)[1], ["get", "something"]);
      monitor.disconnect();
    });

    test("names, databases and prefixes", async () => {
      const other = new Client({ port, host: "127.0.0.1", db: 3, connectionName: "me",
                                 keyPrefix: "p:", enableReadyCheck: true });
      await other.set("key", "value");
      assert.equal(await other.client("GETNAME"), "me");
      assert.equal(await client.exists("p:key"), 0);
      await client.select(3);
      assert.equal(await client.get("p:key"), "value");
      await client.select(0);
      await other.quit();
    });
  });
}
