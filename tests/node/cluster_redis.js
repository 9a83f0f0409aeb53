// SPDX-License-Identifier: Apache-2.0
// A cluster with `redis` (node-redis).

import assert from "node:assert/strict";

import { createCluster } from "redis";

import { again, hasFieldDeadlines, prefix, run, seeds } from "./cluster_work.js";
import { soon, until } from "./wait.js";

const rootNodes = seeds.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
const unheard = () => {};  // what a node that is down makes of its connections

function connect() {
  const defaults = { socket: { reconnectStrategy: 100, connectTimeout: 1000 } };
  return createCluster({ rootNodes, defaults }).on("error", unheard).connect();
}

const cluster = await soon("connected", connect());

const script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])";

// It passes CLUSTERDOWN on, as it does with every server.
const api = {
  get: (key) => again(() => cluster.get(key)),
  setSafe: async (key, value) => {
    const wait = () => cluster.sendCommand(key, false, ["WAIT", "1", "900"]).catch(() => 0);
    const [, count] = await again(() => Promise.all([cluster.set(key, value), wait()]));
    return count;
  },
  hash: async (key, field, value) => {
    const expiration = { type: "PX", value: 60_000 };
    await again(() => hasFieldDeadlines ? cluster.hSetEx(key, { [field]: value }, { expiration })
                                        : cluster.hSet(key, field, value));
    await again(() => cluster.hGet(key, field));
  },
  script: (keys, words) => again(() => cluster.eval(script, { keys, arguments: words })),
  multi: (one, other, value) => again(() => cluster.multi().set(one, value).incr(other).exec()),
  list: (key, value) => again(() => cluster.lPush(key, value)),
  zset: (key, score, member) => again(() => cluster.zAdd(key, { score, value: member })),
  stream: (key, value) => again(() => cluster.xAdd(key, "*", { n: value })),
  close: () => cluster.destroy(),
};

async function types() {
  const key = (word) => `{${prefix}:types}${word}`;
  assert.equal(await cluster.set(key("s"), "v"), "OK");
  assert.deepEqual(await cluster.mGet([key("s"), key("nothing")]), ["v", null]);
  assert.equal(await cluster.hSet(key("h"), "f", "v"), 1);
  assert.equal(await cluster.sAdd(key("set"), ["a", "b"]), 2);
  assert.equal(await cluster.rPush(key("l"), ["a", "b"]), 2);
  assert.equal(await cluster.xAdd(key("x"), "1-1", { f: "v" }), "1-1");
  if (hasFieldDeadlines) {
    const expiration = { type: "PX", value: 50_000 };
    assert.equal(await cluster.hSetEx(key("e"), { f: "v" }, { expiration }), 1);
    assert.deepEqual(await cluster.hpExpire(key("e"), "f", 60_000), [1]);
    assert.ok((await cluster.hpTTL(key("e"), "f"))[0] > 50_000);
  }
  await assert.rejects(cluster.mGet(["one", "two"]), /CROSSSLOT/);
  assert.equal(cluster.masters.length, Number(process.env.SHARDS ?? 3));
  await cluster.del(["s", "h", "set", "l", "x", "e"].map(key));
}

async function messages() {
  const subscriber = await connect(), heard = [];
  await subscriber.subscribe(`${prefix}:news`, (text) => heard.push(text));
  const channel = `${prefix}:sharded`;
  await subscriber.sSubscribe(channel, (text) => heard.push(text));
  for (const [number, master] of cluster.masters.entries()) {
    await (await cluster.nodeClient(master)).publish(`${prefix}:news`, String(number));
  }
  assert.equal(await cluster.sPublish(channel, "in one shard"), 1);
  await until("all messages", () => heard.length === cluster.masters.length + 1);
  subscriber.destroy();
}

await run(api, async () => {
  await types();
  await messages();
});
