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

    test("sets", async () => {
      assert.equal(await client.sAdd("s", ["a", "b", "c"]), 3);
      assert.deepEqual([...(await client.sMembers("s"))].sort(), ["a", "b", "c"]);
      assert.deepEqual((await client.smIsMember("s", ["a", "x"])).map(Number), [1, 0]);
      assert.equal(await client.sAdd("t", ["b", "c", "d"]), 3);
      assert.deepEqual([...(await client.sInter(["s", "t"]))].sort(), ["b", "c"]);
      assert.equal(await client.sInterCard(["s", "t"], 1), 1);
      assert.equal(await client.sUnionStore("u", ["s", "t"]), 4);
      assert.equal(Number(await client.sMove("s", "t", "a")), 1);
      assert.equal((await client.sPopCount("t", 2)).length, 2);
      await client.sAdd("many", Array.from({ length: 1000 }, (_, n) => `member:${n}`));
      const seen = new Set();
      for await (const names of client.sScanIterator("many", { COUNT: 50 })) {
        for (const name of names) seen.add(name);
      }
      assert.equal(seen.size, 1000);
    });

    test("sorted sets", async () => {
      const members = [{ value: "a", score: 1 }, { value: "b", score: 2.5 },
                       { value: "c", score: Infinity }];
      assert.equal(await client.zAdd("z", members), 3);
      const better = [{ value: "a", score: 0 }, { value: "b", score: 3 }];
      assert.equal(await client.zAdd("z", better, { comparison: "GT", CH: true }), 1);
      assert.equal(await client.zIncrBy("z", 0.25, "a"), 1.25);
      const top = await client.zRangeWithScores("z", 0, 1, { REV: true });
      assert.deepEqual(top.map((one) => ({ ...one })),
                       [{ value: "c", score: Infinity }, { value: "b", score: 3 }]);
      assert.deepEqual(await client.zRange("z", "(1", "3", { BY: "SCORE" }), ["a", "b"]);
      assert.deepEqual(await client.zmScore("z", ["a", "x"]), [1.25, null]);
      assert.deepEqual({ ...(await client.zRankWithScore("z", "b")) }, { rank: 1, score: 3 });
      assert.equal(await client.zUnionStore("u", [{ key: "z", weight: 2 }]), 3);
      assert.equal(await client.zScore("u", "b"), 6);
      assert.deepEqual({ ...(await client.zPopMax("z")) }, { value: "c", score: Infinity });
      const popped = await client.zmPop(["nothing", "z"], "MIN", { COUNT: 5 });
      assert.equal(popped.key, "z");
      assert.deepEqual(popped.members.map(({ score }) => score), [1.25, 3]);
      const seen = [];
      for await (const entries of client.zScanIterator("u")) {
        for (const { value, score } of entries) seen.push(`${value} ${score}`);
      }
      assert.deepEqual(seen.sort(), ["a 2.5", "b 6", "c Infinity"]);
    });

    test("blocking pops", async () => {
      assert.equal(await client.bzPopMin("queue", 0.01), null);
      const other = await client.duplicate().connect();
      const served = other.bzPopMax(["nothing", "queue"], 0);
      while (!/blocked_clients:1\r/.test(await client.info("clients")));
      await client.zAdd("queue", [{ value: "job", score: 1.5 }, { value: "next", score: 1 }]);
      assert.deepEqual({ ...(await served) }, { key: "queue", value: "job", score: 1.5 });
      await other.close();
    });

    test("member expiry", async () => {
      const ask = (text) => client.sendCommand(text.split(" "));
      assert.equal(await ask("SADDEX s EX 100 MEMBERS 2 a b"), 2);
      assert.deepEqual(await ask("SEXPIRE s 50 MEMBERS 2 a nothing"), [1, -2]);
      assert.deepEqual(await ask("STTL s MEMBERS 2 a b"), [50, 100]);
      assert.deepEqual(await ask("SPERSIST s MEMBERS 1 a"), [1]);
      assert.equal(await ask("ZADDEX z EX 100 MEMBERS 2 1 a 2 b"), 2);
      assert.equal(await ask("ZADDEX z GT CH EX 200 MEMBERS 2 0 a 3 b"), 1);
      assert.deepEqual(await ask("ZTTL z MEMBERS 2 a b"), [100, 200]);
      assert.deepEqual(await ask("ZEXPIRE z 0 MEMBERS 1 a"), [2]);
      assert.equal(await client.zRank("z", "b"), 0);
      assert.equal(await client.zCard("z"), 1);
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
