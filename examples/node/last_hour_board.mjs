// SPDX-License-Identifier: Apache-2.0
// Leaderboard of the last hour: the best games that were finished in it.
//
// A game is a member of a sorted set, by its points, with a deadline an hour after its end
// (ZADDEX). An hour later it is gone, and those below it move up: nobody removes old games, and
// ranks and counts are exact at every moment. A member is a game and not a player, so that when a
// player's best game goes the next best is still there.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "redis";

const HOUR_S = 3600;
const BOARD = "example:board";

const client = createClient({ url: `redis://127.0.0.1:${process.env.PORT ?? 6379}` });
client.on("error", (error) => {
  console.error(error.message); // connect ECONNREFUSED, say: is there a server?
  process.exit(1); // a program that is to go on logs it: the client connects again by itself
});
await client.connect();

// The client has no methods for deadlines of members; sendCommand() takes words.
const ask = (...words) => client.sendCommand(words.map(String));

const finish = (game, points) => ask("ZADDEX", BOARD, "EX", HOUR_S, "MEMBERS", 1, points, game);

// Of the best games, the names.
const best = (count) => client.zRange(BOARD, 0, count - 1, { REV: true });

// 1 is the best; null: the game is older than an hour.
async function place(game) {
  const rank = await client.zRevRank(BOARD, game);
  return rank === null ? null : rank + 1;
}

// How many games have at least so many points.
const games = (least) => client.zCount(BOARD, least, "+inf");

async function secondsLeft(game) {
  return (await ask("ZTTL", BOARD, "MEMBERS", 1, game))[0];
}

// Instead of waiting: the deadline of this game comes at once.
async function passAnHour(game) {
  await ask("ZPEXPIRE", BOARD, 1, "MEMBERS", 1, game);
  while ((await client.zScore(BOARD, game)) !== null) await pause(2);
}

function claim(what, holds) {
  assert.ok(holds, what);
  console.log(`  yes: ${what}`);
}

await client.del(BOARD);
for (const [game, points] of [["ann:1", 90], ["ann:2", 70], ["bob:1", 80], ["cat:1", 40]]) {
  await finish(game, points);
}
claim("ann's first game leads", (await best(2)).join(" ") === "ann:1 bob:1");
claim("her second is third", (await place("ann:2")) === 3);
claim("three games have 50 points", (await games(50)) === 3);
await client.zIncrBy(BOARD, 15, "cat:1"); // which keeps the deadline
const left = await secondsLeft("cat:1");
claim("cat gets 15 more, and no more time", (await games(50)) === 4 && left > 0 && left <= HOUR_S);
await passAnHour("ann:1");
claim("an hour after it ann's first game is gone", (await place("ann:1")) === null);
claim("bob leads", (await best(2)).join(" ") === "bob:1 ann:2");
claim("and ann's second game is second", (await place("ann:2")) === 2);
claim("three games are left, exactly", (await client.zCard(BOARD)) === 3);
for (const game of ["ann:2", "bob:1", "cat:1"]) await passAnHour(game);
claim("with the last game the key is gone", (await client.exists(BOARD)) === 0);
await client.close();
