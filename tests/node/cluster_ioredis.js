// SPDX-License-Identifier: Apache-2.0
// A cluster with `ioredis`, or with its fork `iovalkey` if that is what CLIENT says.

import assert from "node:assert/strict";

import { again, hasFieldDeadlines, prefix, run, seeds } from "./cluster_work.js";
import { soon, until } from "./wait.js";

const { Cluster } = await import(process.env.CLIENT ?? "ioredis");

// A takeover lasts up to 3.5 s, and longer on a busy machine. By default, it gives up after 16 times
// 100 ms.
const options = {
  maxRedirections: 300,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  slotsRefreshTimeout: 2000,
  redisOptions: { connectTimeout: 1000 },
};
const cluster = new Cluster(seeds, options);
const unheard = () => {};  // what a node that is down makes of its connections
cluster.on("error", unheard);

// A fork that does not know a command yet sends it all the same.
const ask = (command, ...words) => typeof cluster[command] === "function"
                                     ? cluster[command](...words)
                                     : cluster.call(command, ...words);

const script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])";

function replies(results) {
  for (const [error] of results) if (error) throw error;
  return results.map(([, reply]) => reply);
}

// It tries single requests again, but not all of a pipeline.
const api = {
  get: (key) => cluster.get(key),
  setSafe: (key, value) => again(async () => {
    const [set, wait] = await cluster.pipeline().set(key, value).call("WAIT", 1, 900).exec();
    if (set[0]) await cluster.get(key);  // it learns of MOVED from single requests only
    replies([set]);
    return wait[0] ? 0 : wait[1];  // UNBLOCKED when it becomes a replica meanwhile, as in Redis
  }),
  hash: async (key, field, value) => {
    if (hasFieldDeadlines) await ask("hsetex", key, "PX", 60_000, "FIELDS", 1, field, value);
    else await cluster.hset(key, field, value);
    await cluster.hget(key, field);
  },
  script: (keys, words) => cluster.eval(script, keys.length, ...keys, ...words),
  multi: (one, other, value) => again(async () =>
    replies(await cluster.multi().set(one, value).incr(other).exec())),
  list: (key, value) => again(async () =>
    replies(await cluster.pipeline().lpush(key, value).ltrim(key, 0, 99).exec())),
  zset: (key, score, member) => cluster.zadd(key, score, member),
  stream: (key, value) => cluster.xadd(key, "MAXLEN", 100, "*", "n", value),
  close: () => cluster.disconnect(),
};

async function types() {
  const key = (word) => `{${prefix}:types}${word}`;
  assert.equal(await cluster.set(key("s"), "v"), "OK");
  assert.deepEqual(await cluster.mget(key("s"), key("nothing")), ["v", null]);
  assert.equal(await cluster.hset(key("h"), "f", "v"), 1);
  assert.equal(await cluster.sadd(key("set"), "a", "b"), 2);
  assert.equal(await cluster.zadd(key("z"), 1, "a", 2, "b"), 2);
  assert.equal(await cluster.rpush(key("l"), "a", "b"), 2);
  assert.match(await cluster.xadd(key("x"), "1-1", "f", "v"), /^1-1$/);
  assert.deepEqual(await cluster.zrange(key("z"), 0, -1), ["a", "b"]);
  if (hasFieldDeadlines) {
    assert.equal(await ask("hsetex", key("e"), "PX", 50_000, "FIELDS", 1, "f", "v"), 1);
    assert.deepEqual(await ask("hpexpire", key("e"), 60_000, "FIELDS", 1, "f"), [1]);
    assert.ok((await ask("hpttl", key("e"), "FIELDS", 1, "f"))[0] > 50_000);
  }
  await assert.rejects(cluster.mset("one", 1, "two", 2), /CROSSSLOT|same slot/);
  assert.equal(cluster.nodes("master").length, Number(process.env.SHARDS ?? 3));
  await cluster.del(...["s", "h", "set", "z", "l", "x", "e"].map(key));
}

async function messages() {
  const subscriber = new Cluster(seeds, options), heard = [];
  subscriber.on("error", unheard);
  subscriber.on("message", (channel, text) => heard.push(`${channel} ${text}`));
  await soon("subscribed", subscriber.subscribe(`${prefix}:news`));
  const publishers = cluster.nodes("master");
  for (const [number, node] of publishers.entries()) {
    await node.publish(`${prefix}:news`, String(number));
  }
  await until("messages of all nodes", () => heard.length === publishers.length);
  subscriber.disconnect();
}

await soon("connected", cluster.ping());
await run(api, async () => {
  await types();
  await messages();
});
