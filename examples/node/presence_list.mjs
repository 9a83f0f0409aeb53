// SPDX-License-Identifier: Apache-2.0
// Presence list: who is online, for all web servers at once.
//
// The users who are online are one set, and each member has a deadline of its own (SADDEX). A
// browser sends a heartbeat every 20 seconds, which puts the deadline off to a minute from then. A
// user whose browser is closed, or whose network is gone, sends none, and a minute later is no
// member: nobody looks for silent users, and SCARD is exact. Since it is a set, it can be
// intersected with others.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const ONLINE_S = 60;
const ONLINE = "example:online";

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

// The client has no methods for deadlines of members; sendCommand() takes words.
const ask = (...words) => client.sendCommand(words.map(String));

// Whether the user has just come online.
async function heartbeat(user) {
  return (await ask("SADDEX", ONLINE, "EX", ONLINE_S, "MEMBERS", 1, user)) === 1;
}

const logOut = (user) => client.sRem(ONLINE, user);
const isOnline = async (user) => (await client.sIsMember(ONLINE, user)) === 1;
const friendsOnline = (user) => client.sInter([ONLINE, `example:friends:${user}`]);

// Until the user counts as offline; -2 for one who is.
async function secondsLeft(user) {
  return (await ask("STTL", ONLINE, "MEMBERS", 1, user))[0];
}

// Instead of waiting for a minute without a heartbeat: the deadline comes at once.
async function beSilent(user) {
  await ask("SPEXPIRE", ONLINE, 1, "MEMBERS", 1, user);
  while (await isOnline(user)) await pause(2);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

await client.del(ONLINE);
await client.sAdd("example:friends:ann", ["bob", "cat", "dan"]);
for (const user of ["ann", "bob", "cat"]) claim(`${user} comes online`, await heartbeat(user));
claim("ann's next heartbeat is no news", !(await heartbeat("ann")));
assert.deepEqual((await friendsOnline("ann")).sort(), ["bob", "cat"]);
claim("two of ann's friends are online", true);
await logOut("cat");
claim("cat logs out", !(await isOnline("cat")));
const left = await secondsLeft("bob");
claim("bob has a minute", left > 0 && left <= ONLINE_S);
await beSilent("bob");
claim("bob's browser is closed: a minute later he is gone", (await secondsLeft("bob")) === -2);
claim("one user is online, exactly", (await client.sCard(ONLINE)) === 1);
claim("none of ann's friends is online", (await friendsOnline("ann")).length === 0);
await beSilent("ann");
claim("with the last member the key is gone", (await client.exists(ONLINE)) === 0);
await client.del("example:friends:ann");
await client.close();
