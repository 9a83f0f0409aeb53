// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "../core/values";
import { History, completions, danger, isSecret, words } from "./line";
import { readDocs, render } from "./render";

test("words and quotes are those of redis-cli", () => {
  assert.deepEqual(words(String.raw`set  k "a b\n\"c\"" 'it\'s' x`),
                   ["set", "k", 'a b\n"c"', "it's", "x"]);
  assert.deepEqual(words(String.raw`get "\xff\x00"`), ["get", Uint8Array.of(255, 0)]);
  assert.deepEqual(words('set k ""'), ["set", "k", ""]);
  assert.deepEqual(words("  "), []);
  for (const line of ['get "a', "get 'a", 'get "a"b']) assert.equal(words(line), null, line);
  assert.deepEqual(words('"🦋 \\xc3\\xbc"'), ["🦋 ü"]);
});

test("commands that destroy, stop or block are asked about, in any case", () => {
  for (const line of ["flushall", "FlushDB async", "shutdown", "keys *", "config set a b",
                      "client kill x", "debug sleep 1", "replicaof no one"]) {
    assert.ok(danger(words(line) ?? []), line);
  }
  for (const line of ["get a", "config get a", "client list", "scan 0", ""]) {
    assert.equal(danger(words(line) ?? []), null, line);
  }
});

test("secrets are not kept", () => {
  assert.equal(isSecret(["auth", "x"]), true);
  assert.equal(isSecret(["config", "set", "requirepass", "x"]), true);
  assert.equal(isSecret(["get", "auth"]), false);
});

test("only the first word is completed", () => {
  const names = ["GET", "GETDEL", "SET"];
  assert.deepEqual(completions(names, "ge"), ["GET", "GETDEL"]);
  assert.deepEqual(completions(names, "get"), ["GETDEL"]);
  assert.deepEqual(completions(names, "get k"), []);
  assert.deepEqual(completions(names, ""), []);
});

test("the history goes back and forth, and keeps the line that was begun", () => {
  const history = new History([], 2);
  for (const line of ["a", "b", "b", "c"]) history.add(line);
  assert.deepEqual(history.lines, ["b", "c"]);
  assert.equal(history.older("new"), "c");
  assert.equal(history.older("c"), "b");
  assert.equal(history.older("b"), null);
  assert.equal(history.newer(), "c");
  assert.equal(history.newer(), "new");
  assert.equal(history.newer(), null);
});

test("replies look as in redis-cli", () => {
  assert.equal(render(decode([1, "a", null, ["x", "y"]])),
               '1) (integer) 1\n2) "a"\n3) (nil)\n4) 1) "x"\n   2) "y"');
  assert.equal(render(decode({ k: 1.5 })), '1# "k" => (double) 1.5');
  assert.equal(render(decode({ $int: "9223372036854775807" })), "(integer) 9223372036854775807");
  assert.equal(render(decode([])), "(empty array)");
  assert.equal(render(decode({ $base64: "/wA=" })), '"\\xff\\x00"');
});

test("the syntax of a command is made from its documentation", () => {
  const docs = decode({ expire: { summary: "Sets a TTL.", arguments: [
    { name: "key", type: "key", display_text: "key" },
    { name: "seconds", type: "integer", display_text: "seconds" },
    { name: "condition", type: "oneof", flags: ["optional"], arguments: [
      { name: "nx", type: "pure-token", token: "NX", display_text: "nx" },
      { name: "xx", type: "pure-token", token: "XX", display_text: "xx" }] }] } });
  assert.deepEqual(readDocs(docs, "EXPIRE"),
                   { summary: "Sets a TTL.", syntax: "EXPIRE key seconds [NX | XX]" });
  assert.equal(readDocs(docs, "GET"), null);
});
