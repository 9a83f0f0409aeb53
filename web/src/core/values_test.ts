// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Argument, ValueMap, decode, encode, idOf, show, toMap, toNumber } from "./values";

test("integers beyond 2^53 keep every digit", () => {
  assert.equal(decode({ $int: "9223372036854775807" }), 9223372036854775807n);
  assert.equal(toNumber(decode({ $int: "9007199254740993" })), 9007199254740992);
});

test("bytes that are no text come back as the same bytes", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const wire = JSON.parse(JSON.stringify(encode(bytes))) as unknown;
  assert.deepEqual(decode(wire), bytes);
});

test("arguments are sent as text, so that no digit is lost", () => {
  const given: [Argument, unknown][] = [["x", "x"], [12, "12"], ["", ""]];
  for (const [argument, wire] of given) assert.equal(encode(argument), wire);
});

test("maps keep their order, and keys that are no text", () => {
  const map = decode({ b: 1, a: [null, true] }) as ValueMap;
  assert.deepEqual(map.entries, [["b", 1], ["a", [null, true]]]);
  const other = decode({ $map: [[1, "one"], [{ $base64: "/w==" }, 2]] }) as ValueMap;
  assert.deepEqual(other.entries, [[1, "one"], [Uint8Array.of(255), 2]]);
  assert.equal(toMap(["a", 1, "b", 2]).get("b"), 2);
});

test("a text and bytes never have the same id", () => {
  assert.notEqual(idOf("/w=="), idOf(Uint8Array.of(255)));
  assert.equal(idOf(Uint8Array.of(255)), idOf(Uint8Array.of(255)));
});

test("what cannot be seen is written out", () => {
  assert.equal(show("a\nb\u0000\u202ec"), "a\\nb\\x00\\u202ec");
  assert.equal(show(""), '""');
  assert.equal(show("<b>ü 🦋"), "<b>ü 🦋");
  assert.equal(show(Uint8Array.of(0x61, 0xff, 0x5c)), "a\\xff\\x5c");
});
