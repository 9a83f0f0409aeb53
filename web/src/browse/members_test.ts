// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command, Reply } from "../core/api";
import { type Key, deleteCommand, expireCommand, persistCommand, readKey, readMembers } from "./members";

const BINARY = Uint8Array.of(0xff, 0x00);
const keyOf = (type: string): Key =>
  ({ name: "k", type, deadline: null, size: 1, encoding: "", length: 2 });

function replies(table: Record<string, Reply>) {
  return (_db: number, commands: Command[]) =>
    Promise.resolve(commands.map(([name]) => table[String(name)] ?? { error: `ERR ${String(name)}` }));
}

test("fields come with their values and deadlines", async () => {
  const run = replies({ HSCAN: { ok: ["17", ["f", "v", BINARY, "w"]] },
                        HPEXPIRETIME: { ok: [-1, 1_794_861_183_287] } });
  const page = await readMembers(0, keyOf("hash"), "0", { order: "stored" }, run);
  assert.equal(page.next, "17");
  assert.deepEqual(page.members, [{ name: "f", value: "v", deadline: null },
                                  { name: BINARY, value: "w", deadline: 1_794_861_183_287 }]);
});

test("scores are read from pairs, as RESP3 writes them", async () => {
  const run = replies({ ZRANGE: { ok: [["a", 1.5], ["b", "inf"]] }, ZPEXPIRETIME: { ok: [-1, -1] } });
  const page = await readMembers(0, keyOf("zset"), "0", { order: "stored" }, run);
  assert.deepEqual(page.members.map(({ name, value }) => [name, value]), [["a", "1.5"], ["b", "inf"]]);
  assert.equal(page.next, null);
});

test("a key that is gone is null, and a wrong type is an error", async () => {
  assert.equal(await readKey(0, "k", replies({ TYPE: { ok: "none" } })), null);
  const run = replies({ SSCAN: { error: "WRONGTYPE" } });
  await assert.rejects(readMembers(0, keyOf("set"), "0", { order: "stored" }, run), /WRONGTYPE/);
});

test("changes name the key or the member, byte for byte", () => {
  assert.deepEqual(expireCommand(keyOf("hash"), null, 5000), ["PEXPIRE", "k", "5000"]);
  assert.deepEqual(expireCommand(keyOf("hash"), BINARY, 5000),
                   ["HPEXPIRE", "k", "5000", "FIELDS", "1", BINARY]);
  assert.deepEqual(persistCommand(keyOf("zset"), "m"), ["ZPERSIST", "k", "MEMBERS", "1", "m"]);
  assert.deepEqual(deleteCommand(keyOf("set"), "m"), ["SREM", "k", "m"]);
  assert.deepEqual(deleteCommand(keyOf("set"), null), ["UNLINK", "k"]);
});
