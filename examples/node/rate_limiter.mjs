// SPDX-License-Identifier: Apache-2.0
// Rate limiter: ten calls a minute for each user, by counters that reset themselves.
//
// A counter is a key whose deadline is the end of its window. INCR makes it or adds to it; EXPIRE
// with NX gives it a deadline if it has none, that is, at the first call. When the window is over
// the counter is gone: nobody sets it back to zero, nor has to forget users who went away.
//
// With a limit for each route, a user's counters are fields of one hash, and each field has a
// window of its own (HEXPIRE). One DEL pardons the user.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const LIMIT = 10;
const WINDOW_S = 60;

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

// Whether the user may make this call; if not, in how many milliseconds the next one.
async function allow(user) {
  const key = `example:calls:${user}`;
  const [count, , waitMs] =
    await client.multi().incr(key).expire(key, WINDOW_S, "NX").pTTL(key).exec();
  return count <= LIMIT ? { allowed: true } : { allowed: false, waitMs };
}

// The same for each route.
async function allowRoute(user, route) {
  const key = `example:routes:${user}`;
  const [count, , [waitMs]] = await client
    .multi()
    .hIncrBy(key, route, 1)
    .hExpire(key, route, WINDOW_S, "NX")
    .hpTTL(key, [route])
    .exec();
  return count <= LIMIT ? { allowed: true } : { allowed: false, waitMs };
}

// How many of twenty calls are allowed.
async function burst(call) {
  const replies = await Promise.all(Array.from({ length: 20 }, call));
  return replies.filter((reply) => reply.allowed).length;
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

const ann = () => allow("ann");
const bob = () => allow("bob");
await client.del(["example:calls:ann", "example:calls:bob", "example:routes:ann"]);
claim("of twenty calls ten are allowed", (await burst(ann)) === LIMIT);
claim("bob has ten of his own", (await burst(bob)) === LIMIT);
const { waitMs } = await ann();
claim("ann is told how long to wait", waitMs > 0 && waitMs <= WINDOW_S * 1000);

// Instead of waiting for a minute: what is left of the window is made short.
await client.pExpire("example:calls:ann", 1);
while (await client.exists("example:calls:ann")) await pause(2);
claim("when the window is over, she has ten again", (await burst(ann)) === LIMIT);
claim("bob's window goes on", (await burst(bob)) === 0);

const search = () => allowRoute("ann", "/search");
const pay = () => allowRoute("ann", "/pay");
claim("ann may search ten times, and pay ten times",
      (await burst(search)) === LIMIT && (await burst(pay)) === LIMIT);
claim("and each has a window of its own", (await pay()).waitMs > 0);
await client.hpExpire("example:routes:ann", "/search", 1);
while (await client.hExists("example:routes:ann", "/search")) await pause(2);
claim("the window of one route ends by itself",
      (await burst(search)) === LIMIT && (await burst(pay)) === 0);
await client.del("example:routes:ann");
claim("she is pardoned by one DEL", (await burst(pay)) === LIMIT);
await client.del(["example:calls:ann", "example:calls:bob", "example:routes:ann"]);
await client.close();
