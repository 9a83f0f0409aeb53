// SPDX-License-Identifier: Apache-2.0
// Idempotency keys: a request that is sent twice, since the answer was lost, is done once.
//
// The client names each request. SET NX GET is one command that either takes the name or tells what
// it stands for: an answer, which is kept for a day, or that somebody is at work on it.
//
// Both have deadlines, and they do all the housekeeping. That of an answer is the longest for which
// a client tries again. That of "at work" is a lease, longer than the work may take: if the worker
// crashes, the name is free again by itself, and the request may be sent once more.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const WINDOW_S = 24 * 60 * 60;
const LEASE_S = 30;
const AT_WORK = "at work";

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

// What is answered to the request: as the first time, if there was one within the window.
async function serve(request, work) {
  const key = `example:answer:${request}`;
  const lease = { condition: "NX", GET: true, expiration: { type: "EX", value: LEASE_S } };
  const before = await client.set(key, AT_WORK, lease);
  if (before === AT_WORK) return "409 still at work, try again";
  if (before !== null) return before;

  let answer;
  try {
    answer = await work();
  } catch {
    await client.del(key); // nothing was done, and the client may try again at once
    return "500 try again";
  }
  await client.set(key, answer, { expiration: { type: "EX", value: WINDOW_S } });
  return answer;
}

let balance = 100;
async function charge() {
  await pause(5); // the bank takes its time
  balance -= 30;
  return `200 charged 30, left ${balance}`;
}

// Instead of waiting: the name has a moment left.
async function expire(request) {
  await client.pExpire(`example:answer:${request}`, 1);
  while (await client.exists(`example:answer:${request}`)) await pause(2);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

await client.del(["r1", "r2", "r3"].map((request) => `example:answer:${request}`));
const both = await Promise.all([serve("r1", charge), serve("r1", charge)]);
const first = "200 charged 30, left 70";
claim("of two at once, one is done", both[0] === first && both[1].startsWith("409"));
claim("sent again, it gets the first answer", (await serve("r1", charge)) === first);
claim("and is not done again", balance === 70);
claim("for a day", (await client.ttl("example:answer:r1")) > WINDOW_S - 10);

const failing = () => Promise.reject(new Error("the bank is closed"));
claim("one that failed", (await serve("r2", failing)).startsWith("500"));
claim("can be sent again", (await serve("r2", charge)) === "200 charged 30, left 40");

serve("r3", () => new Promise(() => {})); // a worker that crashes: it will never answer
claim("while it may be alive, others wait", (await serve("r3", charge)).startsWith("409"));
await expire("r3");
claim("then its lease is over", (await serve("r3", charge)) === "200 charged 30, left 10");

await expire("r1");
claim("a day later the name means nothing", (await serve("r1", charge)) !== first);
await client.del(["r1", "r2", "r3"].map((request) => `example:answer:${request}`));
await client.close();
