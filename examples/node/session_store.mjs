// SPDX-License-Identifier: Apache-2.0
// Session store: a session ends half an hour after its last request, for all web servers at once.
//
// A session is a hash. EXPIRE gives the whole of it a deadline, and each request puts that off; so
// there is no "last seen" to compare with the time and no job that looks for dead sessions.
//
// A part of a session may have to end sooner: for ten minutes after the password was entered its
// owner may change it. That is a field with a deadline of its own (HSETEX), which requests do not
// put off. Without it, a second key would have to be kept in step with the session.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const IDLE_S = 30 * 60;
const TRUSTED_S = 10 * 60;

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

async function logIn(token, user) {
  await client.multi().hSet(token, { user }).expire(token, IDLE_S).exec();
  await passwordWasEntered(token);
}

// If the session has ended meanwhile, this leaves a hash without a user: no session, and its only
// field takes it along when it expires.
async function passwordWasEntered(token) {
  const expiration = { type: "EX", value: TRUSTED_S };
  await client.hSetEx(token, { trusted: "yes" }, { expiration });
}

// The session, or null if it has ended. This is what keeps it alive.
async function request(token) {
  const [session] = await client.multi().hGetAll(token).expire(token, IDLE_S).exec();
  return session.user === undefined ? null : session;
}

// Instead of waiting: takes `seconds` off what the session and its fields have left.
async function pass(token, seconds) {
  const keyLeft = (await client.pTTL(token)) - seconds * 1000;
  const [fieldHas] = await client.hpTTL(token, ["trusted"]); // below 0: it has no deadline
  const fieldLeft = fieldHas < 0 ? Infinity : fieldHas - seconds * 1000;
  if (fieldHas >= 0) await client.hpExpire(token, "trusted", Math.max(fieldLeft, 1));
  await client.pExpire(token, Math.max(keyLeft, 1));
  while (fieldLeft <= 0 && (await client.hExists(token, "trusted"))) await pause(2);
  while (keyLeft <= 0 && (await client.exists(token))) await pause(2);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

const ann = "example:session:ann";
const bob = "example:session:bob";
const eve = "example:session:eve";
for (const token of [ann, bob, eve]) await logIn(token, token.split(":").at(-1));
claim("ann is logged in, and trusted", (await request(ann)).trusted === "yes");
await client.del(eve);
claim("eve logs out", (await request(eve)) === null);

for (const token of [ann, bob]) await pass(token, 20 * 60);
const session = await request(ann);
claim("ann is here after 20 minutes", session.user === "ann");
claim("but no longer trusted", session.trusted === undefined);
claim("her session has half an hour again", (await client.ttl(ann)) > IDLE_S - 10);

for (const token of [ann, bob]) await pass(token, 10 * 60);
claim("bob, who made no request, is gone after 30", (await request(bob)) === null);
claim("ann is not", (await request(ann)).user === "ann");
await passwordWasEntered(ann);
claim("she is trusted again", (await request(ann)).trusted === "yes");
await pass(ann, IDLE_S);
claim("then she is idle for 30 minutes, and gone", (await request(ann)) === null);
claim("of nobody anything is left", (await client.exists([ann, bob, eve])) === 0);
await client.close();
