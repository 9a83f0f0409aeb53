// SPDX-License-Identifier: Apache-2.0
// Scripts and functions as users of ioredis, iovalkey and node-redis write them.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";

import { Redis } from "ioredis";
import Valkey from "iovalkey";
import { createClient, defineScript, ErrorReply } from "redis";

import { limit, until } from "./wait.js";

const port = Number(process.env.PORT);
const sha1 = (text) => createHash("sha1").update(text).digest("hex");

// Calls within the last `ARGV[1]` microseconds, `ARGV[2]` of them at most.
const slidingWindow = `
  local now = redis.call("TIME")
  local time = now[1] * 1000000 + now[2]
  redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", time - ARGV[1])
  if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call("ZADD", KEYS[1], string.format("%.0f", time), ARGV[3])
  redis.call("PEXPIRE", KEYS[1], math.ceil(ARGV[1] / 1000))
  return 1`;

for (const [name, Client] of [["ioredis", Redis], ["iovalkey", Valkey]]) {
  describe(`scripts of ${name}`, limit, () => {
    let client;
    before(() => {
      client = new Client({ port, host: "127.0.0.1" });
      client.defineCommand("echoAll", { lua: "return {KEYS, ARGV}", numberOfKeys: 2 });
      client.defineCommand("takeSlot", { lua: slidingWindow, numberOfKeys: 1 });
      client.defineCommand("countKeys", { lua: "return #KEYS" });
    });
    beforeEach(async () => {
      await client.flushall();
      await client.script("FLUSH");
    });
    after(() => client.quit());

    test("commands that are scripts", async () => {
      assert.deepEqual(await client.echoAll("k1", "k2", "a", "ü"), [["k1", "k2"], ["a", "ü"]]);
      assert.deepEqual(await client.echoAllBuffer("k1", "k2", Buffer.from([0, 255, 13, 10])),
                       [[Buffer.from("k1"), Buffer.from("k2")], [Buffer.from([0, 255, 13, 10])]]);
      assert.equal(await client.countKeys(3, "a", "b", "c"), 3);
      const prefixed = new Client({ port, host: "127.0.0.1", keyPrefix: "p:",
                                    scripts: { own: { lua: "return KEYS[1]", numberOfKeys: 1 } } });
      assert.equal(await prefixed.own("key"), "p:key");
      await prefixed.quit();
    });

    test("are sent once, and again when the server has lost them", async () => {
      assert.equal(await client.countKeys(1, "a"), 1);
      const [there] = await client.script("EXISTS", sha1("return #KEYS"));
      assert.equal(there, 1);
      const before = await client.info("commandstats");
      await client.countKeys(1, "a");
      const evals = (info) => Number(/cmdstat_eval:calls=(\d+)/.exec(info)?.[1] ?? 0);
      assert.equal(evals(await client.info("commandstats")), evals(before), "by EVALSHA");
      await client.script("FLUSH");
      assert.equal(await client.countKeys(1, "a"), 1);
    });

    test("in pipelines and transactions", async () => {
      const pipeline = client.pipeline().set("n", 1);
      for (let n = 0; n < 100; ++n) pipeline.countKeys(2, "a", "b").incr("n");
      const replies = await pipeline.exec();
      assert.equal(replies.length, 201);
      assert.ok(replies.every(([error]) => !error));
      assert.deepEqual(replies.slice(-2), [[null, 2], [null, 101]]);
      const sha = await client.script("LOAD", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
      assert.deepEqual(await client.multi().evalsha(sha, 1, "n", 9).get("n").exec(),
                       [[null, 110], [null, "110"]]);
    });

    test("a limiter with a sliding window lets exactly so many through", async () => {
      let call = 0;
      const burst = async () => {
        const slots = await Promise.all(
          Array.from({ length: 20 }, () => client.takeSlot("calls", 700_000, 5, ++call)));
        return slots.reduce((sum, slot) => sum + slot);
      };
      assert.equal(await burst(), 5);
      await until("the window is over", async () => (await client.exists("calls")) === 0);
      assert.equal(await burst(), 5);
    });

    test("errors", async () => {
      await assert.rejects(client.evalsha("f".repeat(40), 0), /^ReplyError: NOSCRIPT /);
      await assert.rejects(client.eval("return redis.call('GET')", 0), /Wrong number of args/);
      await assert.rejects(client.eval("return syntax error", 0), /Error compiling script/);
      await assert.rejects(client.eval("return redis.error_reply('MY own')", 0), /MY own/);
      await client.hset("h", "f", "v");
      await assert.rejects(client.eval("return redis.call('INCR', KEYS[1])", 1, "h"), /WRONGTYPE/);
      assert.match(await client.eval("return redis.pcall('INCR', KEYS[1]).err", 1, "h"),
                   /^WRONGTYPE/);
    });

    test("conversions, cjson, cmsgpack and bit", async () => {
      assert.deepEqual(await client.eval("return {1, 2.9, 'x', false, true, {4}, nil, 5}", 0),
                       [1, 2, "x", null, 1, [4]]);
      const document = JSON.stringify({ a: [1, 2.5, "x", { b: true }], c: "ü" });
      const script = `local value = cmsgpack.unpack(cmsgpack.pack(cjson.decode(ARGV[1])))
                      value.bits = bit.bxor(0xff, 0x0f)
                      return cjson.encode(value)`;
      assert.deepEqual(JSON.parse(await client.eval(script, 0, document)),
                       { ...JSON.parse(document), bits: 0xf0 });
    });
  });
}

describe("scripts of node-redis", limit, () => {
  const add = defineScript({
    SCRIPT: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
    NUMBER_OF_KEYS: 1,
    parseCommand: (parser, key, amount) => {
      parser.pushKey(key);
      parser.push(amount.toString());
    },
    transformReply: (reply) => reply,
  });
  for (const RESP of [2, 3]) {
    test(`scripts and functions in RESP${RESP}`, async (context) => {
      const url = `redis://127.0.0.1:${port}`;
      const client = await createClient({ url, RESP, scripts: { add } }).connect();
      context.after(() => client.close());
      await client.flushAll();
      await client.scriptFlush();
      assert.equal(await client.add("n", 5), 5);
      assert.equal(await client.add("n", 5), 10);
      assert.deepEqual(await client.multi().add("n", 1).get("n").exec(), [11, "11"]);
      assert.deepEqual(await client.scriptExists([add.SHA1, "f".repeat(40)]), [1, 0]);
      assert.equal(await client.evalRo("return redis.call('GET', KEYS[1])", { keys: ["n"] }), "11");
      await assert.rejects(client.evalRo("return redis.call('DEL', KEYS[1])", { keys: ["n"] }),
                           ErrorReply);
      const double = await client.eval("redis.setresp(3) return {double = 1.5}");
      assert.equal(Number(double), 1.5);
      await client.functionFlush();
      const library = `#!lua name=counters
        redis.register_function("add", function(keys, args)
          return redis.call("INCRBY", keys[1], args[1])
        end)
        redis.register_function{function_name = "read", flags = {"no-writes"},
          callback = function(keys) return redis.call("GET", keys[1]) end}`;
      assert.equal(await client.functionLoad(library, { REPLACE: true }), "counters");
      assert.equal(await client.fCall("add", { keys: ["n"], arguments: ["9"] }), 20);
      assert.equal(await client.fCallRo("read", { keys: ["n"] }), "20");
      await assert.rejects(client.fCallRo("add", { keys: ["n"], arguments: ["9"] }), ErrorReply);
      const [{ library_name: listed, functions }] = await client.functionList();
      assert.equal(listed, "counters");
      assert.deepEqual(functions.map((one) => one.name).sort(), ["add", "read"]);
      const dumped = await client.withTypeMapping({ 36: Buffer }).functionDump();
      await client.functionDelete("counters");
      await assert.rejects(client.fCall("add", { keys: ["n"], arguments: ["1"] }), ErrorReply);
      assert.equal(await client.functionRestore(dumped), "OK");
      assert.equal(await client.fCall("add", { keys: ["n"], arguments: ["1"] }), 21);
    });
  }
});
