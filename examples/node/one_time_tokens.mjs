// SPDX-License-Identifier: Apache-2.0
// One-time tokens: a code sent by mail is good for ten minutes, and for one use.
//
// A token is a key with a TTL whose value says whom it is for; to redeem it is one command, GETDEL.
// Too old, used before and never issued are then the same thing, an absent key, and there is one
// test for all three. No table of used tokens grows, and none is cleaned.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const GOOD_FOR_S = 10 * 60;

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

// A new token for the user. NX, since a token that somebody else has now must not change hands.
async function issue(user) {
  const options = { condition: "NX", expiration: { type: "EX", value: GOOD_FOR_S } };
  for (;;) {
    const token = randomBytes(16).toString("hex");
    if ((await client.set(`example:token:${token}`, user, options)) === "OK") return token;
  }
}

// Whom the token is for, or null if it is not good. It is not a second time.
function redeem(token) {
  return client.getDel(`example:token:${token}`);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

const first = await issue("ann");
const left = await client.ttl(`example:token:${first}`);
claim("a token is good for ten minutes", left > GOOD_FOR_S - 10 && left <= GOOD_FOR_S);
claim("the first use succeeds", (await redeem(first)) === "ann");
claim("the second fails", (await redeem(first)) === null);
claim("so does a token that nobody issued", (await redeem("0000")) === null);

const old = await issue("bob");
await client.pExpire(`example:token:${old}`, 1); // instead of waiting for ten minutes
while (await client.exists(`example:token:${old}`)) await pause(2);
claim("so does one that is too old", (await redeem(old)) === null);

const wanted = await issue("joe");
const others = await Promise.all(Array.from({ length: 3 }, () => client.duplicate().connect()));
const key = `example:token:${wanted}`;
const replies = await Promise.all([client, ...others].map((one) => one.getDel(key)));
claim("of four at once, one gets in", replies.filter((reply) => reply === "joe").length === 1);
await Promise.all([client, ...others].map((one) => one.close()));
