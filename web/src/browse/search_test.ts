// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command, Reply } from "../core/api";
import { type Query, Search } from "./search";

const QUERY: Query = { pattern: "", type: "", order: "soonest", from: null, to: null };

/** A server with `total` keys, key:0 being the largest, that remembers what it was asked. */
function server(total: number) {
  const asked: Command[] = [];
  let mostInOneRequest = 0;
  const one = (command: Command): Reply => {
    asked.push(command);
    const [name, argument] = command.map(String);
    if (name === "TYPE") return { ok: "string" };
    if (name === "PEXPIRETIME") return { ok: -1 };
    if (name === "MEMORY") return { ok: 10_000_000 - Number(String(command[2]).slice(4)) };
    const step = Number(command[command.indexOf("COUNT") + 1]);
    const start = Number(argument);
    const end = Math.min(total, start + step);
    const keys = Array.from({ length: end - start }, (_, index) => `key:${start + index}`);
    const next = end === total ? "0" : String(end);
    if (name === "SCAN") return { ok: [next, keys] };
    return { ok: [next, keys.map((key, index) => [key, 1000 + index, "key"])] };
  };
  return {
    asked,
    most: () => mostInOneRequest,
    run: (_db: number, commands: Command[]) => {
      mostInOneRequest = Math.max(mostInOneRequest, commands.length);
      return Promise.resolve(commands.map(one));
    },
  };
}

test("the order by time asks for a page and no more", async () => {
  const fake = server(1_000_000);
  const search = new Search(0, QUERY, fake.run);
  await search.more();
  assert.equal(search.rows.length, 50);
  assert.equal(search.done, false);
  const scans = fake.asked.filter(([name]) => name === "EXPIRESCAN");
  assert.equal(scans.length, 1);
  assert.deepEqual(scans[0], ["EXPIRESCAN", "0", "FROM", "-", "TO", "+", "COUNT", "50",
                              "MEMBERS"]);
  await search.more();
  assert.equal(search.rows.length, 100);
});

test("a pattern that matches nothing is looked for in a bounded part of the keys", async () => {
  const asked: Command[] = [];
  const search = new Search(0, { ...QUERY, pattern: "user:*", type: "hash" }, (_db, commands) => {
    asked.push(...commands);
    return Promise.resolve(commands.map(() => ({ ok: ["1", []] })));
  });
  await search.more();
  assert.equal(asked.length, 100);
  assert.deepEqual(asked[1]?.slice(6), ["MATCH", "user:*", "TYPE", "hash", "COUNT", "200",
                                          "MEMBERS"]);
  assert.equal(search.done, false);
});

test("a step examines a bounded part of a large keyspace, in bounded requests", async () => {
  const fake = server(5_000_000);
  const search = new Search(0, { ...QUERY, order: "largest" }, fake.run);
  await search.more();
  assert.equal(search.examined, 20_000);
  assert.equal(search.rows.length, 200);
  assert.equal(search.rows[0]?.name, "key:0");
  assert.ok(fake.most() <= 128);
});

test("a search that is stopped asks nothing more", async () => {
  const fake = server(5_000_000);
  const search = new Search(0, { ...QUERY, order: "name", pattern: "key:*" }, fake.run);
  await search.more(() => false);
  assert.equal(fake.asked.filter(([name]) => name === "SCAN").length, 1);
});

test("an error of the server ends the search with its text", async () => {
  const search = new Search(0, QUERY, () => Promise.resolve([{ error: "ERR no" }]));
  await assert.rejects(search.more(), /ERR no/);
});

/** A server with these keys, none of which has a TTL of its own. */
function keys(types: Record<string, string>, members: Record<string, [string, number]>) {
  const one = (command: Command): Reply => {
    const [word, argument] = command.map(String);
    const name = argument ?? "";
    if (word === "TYPE") return { ok: types[name] ?? "none" };
    if (word === "PEXPIRETIME") return { ok: -1 };
    if (word === "MEMORY") return { ok: 100 };
    if (word === "DBSIZE") return { ok: Object.keys(types).length };
    if (word === "HEXPIRESCAN") return { ok: ["0", members[name] ? [members[name]] : []] };
    if (word === "EXPIRESCAN") {
      return { ok: ["0", Object.entries(members).map(([key, [, at]]) => [key, at, "members"])] };
    }
    const match = String(command[command.indexOf("MATCH") + 1]);
    const text = match.slice(1, -1);
    return { ok: ["0", Object.keys(types).filter((key) => key.includes(text))] };
  };
  return (_db: number, commands: Command[]) => Promise.resolve(commands.map(one));
}

test("a key is listed with the member that expires first", async () => {
  const search = new Search(0, QUERY, keys({ cart: "hash", plain: "string" },
                                           { cart: ["token", 5000] }));
  await search.more();
  assert.equal(search.rows.length, 1);
  assert.deepEqual(search.rows[0]?.member, { name: "token", deadline: 5000 });
  assert.equal(search.rows[0]?.deadline, null);
});

test("a list by time without rows says how many keys there are", async () => {
  const search = new Search(0, QUERY, keys({ one: "string", two: "string" }, {}));
  await search.more();
  assert.deepEqual([search.rows.length, search.total], [0, 2]);
});

test("the key of just this name is found first, then those that contain it", async () => {
  const run = keys({ "a:user:1": "string", "user:1": "string", "user:10": "string" }, {});
  const search = new Search(0, { ...QUERY, pattern: "user:1", order: "name" }, run);
  await search.more();
  assert.deepEqual(search.rows.map(({ name }) => name), ["user:1", "a:user:1", "user:10"]);
  const byTime = new Search(0, { ...QUERY, pattern: "user:1" }, run);
  await byTime.more();
  assert.deepEqual(byTime.rows.map(({ name }) => name), ["user:1"]);
});
