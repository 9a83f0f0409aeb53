// SPDX-License-Identifier: Apache-2.0
// Cache with a freshness window: the answer of a slow service is good for a minute.
//
// An answer is a key with a TTL, so what is found is fresh, and whoever finds nothing asks the
// service. No age is kept or compared. PTTL tells how long an answer will last: near its end one
// caller asks again ahead of time, so that nobody has to wait at the deadline. Who that is, a
// second key with a TTL decides: if he crashes, it expires, and somebody else does it.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const FRESH_MS = 60_000;
const AHEAD_MS = 15_000; // asked again when less than this is left
const PATIENCE_MS = 5_000; // how long others leave that to the one who began

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

let asked = 0;
async function askService(city) {
  await pause(5);
  return `${city}: answer ${++asked}`;
}

// Whether this caller, and nobody else now, is to ask ahead of time.
async function mayRefresh(city) {
  const expiration = { type: "PX", value: PATIENCE_MS };
  const options = { condition: "NX", expiration };
  return (await client.set(`example:refresh:${city}`, "", options)) === "OK";
}

async function load(city) {
  const answer = await askService(city);
  const expiration = { type: "PX", value: FRESH_MS };
  await client.set(`example:cache:${city}`, answer, { expiration });
  return answer;
}

// The answer for `city`. Callers in this process that find none share one question.
const loading = new Map();
async function lookUp(city) {
  const key = `example:cache:${city}`;
  const [answer, left] = await client.multi().get(key).pTTL(key).exec();
  if (answer !== null && (left >= AHEAD_MS || !(await mayRefresh(city)))) return answer;
  if (!loading.has(city)) loading.set(city, load(city).finally(() => loading.delete(city)));
  return loading.get(city);
}

// Instead of waiting: takes `ms` off what the key has left.
async function pass(key, ms) {
  const left = (await client.pTTL(key)) - ms;
  await client.pExpire(key, Math.max(left, 1));
  while (left <= 0 && (await client.exists(key))) await pause(2);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

const cached = "example:cache:rome";
const refresh = "example:refresh:rome";
await client.del([cached, refresh]);
const answers = await Promise.all(Array.from({ length: 100 }, () => lookUp("rome")));
claim("a hundred lookups ask once", asked === 1 && new Set(answers).size === 1);
await pass(cached, 30_000);
claim("30 s later the answer is good", (await lookUp("rome")) === "rome: answer 1");

await pass(cached, 16_000);
claim("46 s later somebody asks ahead of time", await mayRefresh("rome"));
claim("and others still get the first answer", (await lookUp("rome")) === "rome: answer 1");
await pass(refresh, PATIENCE_MS);
claim("if he fails, another one does it", (await lookUp("rome")) === "rome: answer 2");

await pass(cached, FRESH_MS);
claim("a minute later nothing is there", (await client.get(cached)) === null);
claim("and it is asked for again", (await lookUp("rome")) === "rome: answer 3");
await client.del([cached, refresh]);
await client.close();
