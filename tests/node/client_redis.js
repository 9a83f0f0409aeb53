// SPDX-License-Identifier: Apache-2.0
// What a user of `redis` (node-redis) does, in RESP2 and RESP3, and connect-redis on top of it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";

import { RedisStore } from "connect-redis";
import { createClient, ErrorReply, WatchError } from "redis";

const url = `redis://127.0.0.1:${process.env.PORT}`;

for (const RESP of [2, 3]) {
  describe(`redis with RESP${RESP}`, () => {
    let client;
    before(async () => {
      client = await createClient({ url, RESP }).connect();
    });
    beforeEach(() => client.flushAll());
    after(() => client.close());

    test("strings", async () => {
      assert.equal(await client.set("key", "value", { EX: 100 }), "OK");
      assert.equal(await client.set("key", "other", { NX: true }), null);
      assert.equal(await client.get("key"), "value");
      assert.equal(await client.ttl("key"), 100);
      assert.equal(await client.incrBy("n", 5), 5);
      assert.deepEqual(await client.mGet(["key", "nothing"]), ["value", null]);
      assert.equal(await client.getDel("key"), "value");
      await assert.rejects(client.hGet("n", "f"), ErrorReply);
    });

    test("hashes", async () => {
      assert.equal(await client.hSet("h", { a: 1, b: "two" }), 2);
      assert.deepEqual({ ...(await client.hGetAll("h")) }, { a: "1", b: "two" });
      assert.equal(await client.hIncrBy("h", "a", 2), 3);
      assert.deepEqual((await client.hKeys("h")).sort(), ["a", "b"]);
      assert.deepEqual(await client.hRandFieldCountWithValues("h", 5).then((all) => all.length), 2);
      const seen = [];
      for await (const entries of client.hScanIterator("h")) {
        for (const { field } of entries) seen.push(field);
      }
      assert.deepEqual(seen.sort(), ["a", "b"]);
      const names = [];
      for await (const fields of client.hScanNoValuesIterator("h")) names.push(...fields);
      assert.deepEqual(names.sort(), ["a", "b"]);
    });

    test("field expiry", async () => {
      const expiration = { type: "EX", value: 100 };
      assert.equal(await client.hSetEx("h", { a: "1", b: "2" }, { expiration }), 1);
      assert.equal(await client.hSetEx("h", { a: "1" }, { expiration, mode: "FNX" }), 0);
      assert.deepEqual(await client.hExpire("h", ["a", "nothing"], 50), [1, -2]);
      assert.deepEqual(await client.hExpire("h", "a", 70, "GT"), [1]);
      assert.deepEqual(await client.hTTL("h", ["a", "b"]), [70, 100]);
      assert.deepEqual(await client.hpExpireAt("h", "a", 33177117420123), [1]);
      assert.deepEqual(await client.hpExpireTime("h", "a"), [33177117420123]);
      assert.deepEqual(await client.hPersist("h", ["a"]), [1]);
      const options = { expiration: { type: "PX", value: 50000 } };
      assert.deepEqual(await client.hGetEx("h", ["a", "c"], options), ["1", null]);
      const [left] = await client.hpTTL("h", "a");
      assert.ok(left > 40000 && left <= 50000, left);
      assert.deepEqual(await client.hGetDel("h", ["a"]), ["1"]);
      assert.equal(await client.hLen("h"), 1);
    });

    test("pipelines and transactions", async () => {
      const sets = Array.from({ length: 1000 }, (_, n) => client.set(`k${n}`, n.toString()));
      assert.ok((await Promise.all(sets)).every((reply) => reply === "OK"));
      assert.deepEqual(await client.multi().incr("n").hSet("h", "f", "v").get("k7").exec(),
                       [1, 1, "7"]);
      const other = await client.duplicate().connect();
      await other.watch("n");
      await client.set("n", "100");
      await assert.rejects(other.multi().incr("n").exec(), WatchError);
      await other.close();
      let count = 0;
      for await (const keys of client.scanIterator({ MATCH: "k*", COUNT: 100 })) {
        count += keys.length;
      }
      assert.equal(count, 1000);
    });

    test("messages and keyspace events", async () => {
      await client.configSet("notify-keyspace-events", "Exh");
      const subscriber = await client.duplicate().connect();
      const seen = [];
      const done = new Promise((resolve) => {
        subscriber.pSubscribe("__keyevent@0__:*", (key, channel) => {
          seen.push(`${channel.split(":")[1]} ${key}`);
          if (seen.length === 4) resolve();
        }).then(async () => {
          await client.set("a", "1", { PX: 20 });
          await client.hSetEx("h", { f: "v" }, { expiration: { type: "PX", value: 20 } });
        });
      });
      await done;
      assert.deepEqual(seen.slice(0, 2), ["hset h", "hexpire h"]);
      assert.deepEqual(seen.slice(2).sort(), ["expired a", "hexpired h"]);
      await subscriber.close();
      await client.configSet("notify-keyspace-events", "");
    });

    test("administration", async () => {
      assert.match(await client.info("stats"), /expired_fields:/);
      assert.deepEqual({ ...(await client.configGet("maxmemory")) }, { maxmemory: "0" });
      assert.equal(await client.clientSetName("me"), "OK");
      assert.equal((await client.clientInfo()).name, "me");
      assert.ok((await client.clientList()).length >= 1);
      assert.ok((await client.commandCount()) > 100);
      assert.deepEqual(await client.commandGetKeys(["SET", "a", "b"]), ["a"]);
      assert.ok((await client.commandInfo(["get"]))[0].flags.has("readonly"));
      assert.ok((await client.memoryStats())["total.allocated"] > 0);
    });
  });
}

describe("connect-redis", () => {
  let client;
  before(async () => {
    client = await createClient({ url }).connect();
  });
  after(() => client.close());

  test("sessions are kept, touched, listed and destroyed", async () => {
    await client.flushAll();
    const store = new RedisStore({ client, prefix: "session:", ttl: 100 });
    const session = { user: "ann", cookie: { originalMaxAge: null } };
    await store.set("1", session);
    assert.deepEqual(await store.get("1"), session);
    assert.equal(await client.ttl("session:1"), 100);
    const cookie = { expires: new Date(Date.now() + 50000).toISOString() };
    await store.touch("1", { cookie });
    assert.ok((await client.ttl("session:1")) <= 50);
    await store.set("2", { ...session, cookie });
    assert.ok((await client.ttl("session:2")) <= 50);
    assert.equal(await store.length(), 2);
    assert.deepEqual((await store.ids()).sort(), ["1", "2"]);
    assert.deepEqual((await store.all()).map((one) => one.id).sort(), ["1", "2"]);
    await store.destroy("1");
    assert.equal(await store.get("1"), null);
    await store.clear();
    assert.equal(await store.length(), 0);
  });

  test("a session ends at its time", async () => {
    await client.configSet("notify-keyspace-events", "Ex");
    const subscriber = await client.duplicate().connect();
    const ended = new Promise((resolve) => {
      subscriber.subscribe("__keyevent@0__:expired", resolve);
    });
    const store = new RedisStore({ client, prefix: "session:", ttl: 1 });
    await store.set("brief", { cookie: {} });
    assert.notEqual(await store.get("brief"), null);
    assert.equal(await ended, "session:brief");
    assert.equal(await store.get("brief"), null);
    await subscriber.close();
    await client.configSet("notify-keyspace-events", "");
  });

  test("its client notices when the server is gone, and says so", async () => {
    const lost = createClient({ url: "redis://127.0.0.1:1", socket: { reconnectStrategy: false } });
    const said = once(lost, "error");
    await assert.rejects(lost.connect());
    await said;
  });
});
