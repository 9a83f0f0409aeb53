// SPDX-License-Identifier: Apache-2.0
// What a client of a cluster does while nodes die and slots move: used by cluster_ioredis.js and
// cluster_redis.js. It says `ready` when it has begun, works until its input ends, and then prints
// what it has seen as one line of JSON:
//
//   {"requests": 12345, "errors": {"message": count}, "lost": ["..."], "longest_ms": 2400}

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

const workers = 6;
const restMs = 2;

/** Addresses of some nodes: [{ host, port }]. */
export const seeds = process.env.SEEDS.split(",").map((place) => {
  const [host, port] = place.split(":");
  return { host, port: Number(port) };
});

/** Whether the server has deadlines of fields. */
export const hasFieldDeadlines = process.env.PEER !== "redis";

/** Of one program: each writes keys of its own. */
export const prefix = process.env.PREFIX ?? "node";

const input = new Promise((resolve) => {
  process.stdin.on("end", resolve).on("close", resolve).resume();
});

/** Whoever gets CLUSTERDOWN tries again, and so for a part of a pipeline that is elsewhere now: some
    libraries leave that to their users. */
export async function again(ask) {
  const end = Date.now() + 30_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!/^(CLUSTERDOWN|MOVED|TRYAGAIN|LOADING)/.test(error.message)) throw error;
      if (Date.now() > end) throw error;
      await pause(50);
    }
  }
}

class Tally {
  requests = 0;
  errors = {};
  lost = [];
  longestMs = 0;

  /** Runs one request. Undefined if it failed. */
  async note(what, ask) {
    const begin = Date.now();
    try {
      return await ask();
    } catch (error) {
      const message = `${what}: ${error.message}`;
      this.errors[message] = (this.errors[message] ?? 0) + 1;
      return undefined;
    } finally {
      ++this.requests;
      this.longestMs = Math.max(this.longestMs, Date.now() - begin);
    }
  }
}

/** One worker alone writes its key: what it reads is no older than what it knows to be safe. */
async function work(api, number, tally, state) {
  const key = `${prefix}:${number}`;
  let last = 0, safe = 0;
  while (!state.isOver) {
    const next = ++last;
    const count = await tally.note("set", () => api.setSafe(key, String(next)));
    if (count >= 1) safe = next;
    const seen = await tally.note("get", () => api.get(key));
    if (seen !== undefined && Number(seen ?? 0) < safe) {
      tally.lost.push(`${key} is ${seen} after ${safe} was safe`);
    }
    await others(api, key, next, tally);
    await pause(restMs);
  }
  return { key, safe };
}

async function others(api, key, number, tally) {
  const tag = `{${key}}`;
  const kinds = {
    hash: () => api.hash(`${tag}h`, `f${number % 20}`, String(number)),
    script: () => api.script([`${tag}s`], [String(number)]),
    multi: () => api.multi(`${tag}a`, `${tag}b`, String(number)),
    list: () => api.list(`${tag}l`, String(number)),
    zset: () => api.zset(`${tag}z`, number, `m${number % 50}`),
    stream: () => api.stream(`${tag}x`, String(number)),
  };
  const names = Object.keys(kinds);
  const name = names[number % names.length];
  await tally.note(name, kinds[name]);
}

/** Works until the input ends, and tells. */
export async function run(api, features) {
  await features();
  const tally = new Tally(), state = { isOver: false };
  const done = Array.from({ length: workers }, (_, number) => work(api, number, tally, state));
  console.log("ready");
  await input;
  state.isOver = true;
  for (const { key, safe } of await Promise.all(done)) {
    const seen = Number(await api.get(key));
    if (seen < safe) tally.lost.push(`in the end, ${key} is ${seen}; ${safe} was safe`);
    assert.ok(safe > 0, `${key}: WAIT never said that a write is safe`);
  }
  console.log(JSON.stringify({ requests: tally.requests, errors: tally.errors, lost: tally.lost,
                               longest_ms: tally.longestMs }));
  await api.close();
  process.exit(0);
}
