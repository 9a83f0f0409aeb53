// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Info } from "./info";

const INFO = new Info([
  "# Server", "mayfly_version:0.1.0", "listener0:name=tcp,bind=127.0.0.1,bind=-::1,port=7300", "",
  "# Replication", "role:master", "slave0:ip=127.0.0.1,port=7001,state=online,offset=42,lag=1", "",
  "# Commandstats", "cmdstat_get:calls=3,usec=6,usec_per_call=2.00,rejected_calls=0,failed_calls=1",
  "cmdstat_config|get:calls=1,usec=90,usec_per_call=90.00,rejected_calls=0,failed_calls=0", "",
  "# Keyspace", "db0:keys=3,expires=1,avg_ttl=0", "db7:keys=10,expires=0,avg_ttl=0", "",
].join("\r\n"));

test("fields are texts or numbers; what is absent is zero", () => {
  assert.equal(INFO.text("mayfly_version"), "0.1.0");
  assert.equal(INFO.number("used_memory"), 0);
  assert.equal(INFO.has("role"), true);
  assert.equal(INFO.has("# Server"), false);
});

test("keys are counted over all databases", () => {
  assert.deepEqual(INFO.databases().map(({ db, keys }) => [db, keys]), [[0, 3], [7, 10]]);
  assert.equal(INFO.keys(), 13);
});

test("replicas and commands are read", () => {
  assert.deepEqual(INFO.replicas(),
                   [{ address: "127.0.0.1:7001", state: "online", offset: 42, lag: 1 }]);
  assert.deepEqual(INFO.commands().map(({ name, calls, failed }) => [name, calls, failed]),
                   [["config|get", 1, 0], ["get", 3, 1]]);
});
