#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly export: from a store into real servers, and the whole way there and back."""

import os
import signal
import unittest

import program
from server_copy import (FAR, Mayfly, Redis, ServerCase, await_that, free_port, server_contents)

MANY = 40_000


def hex_member(key, name):
    return (len(key).to_bytes(4, "big") + key + name).hex()


class ExportTest(ServerCase):
    def put_member(self, family, key, name, value, *words):
        self.mayfly("cf create", family)
        self.done("put", "--cf", family, "--hex", hex_member(key, name), value.hex(), *words)

    def test_there_and_back_everything_is_the_same(self):
        redis = self.start(Redis)
        client = redis.client()
        self.fill(client, 2000)
        client.ok("SET", b"\x00\xff", b"\xfe\x00", "PXAT", FAR)
        client.ok("HSET", b"\xff" * 300, "a", "1", "", "2", b"\xff\xff", "3")
        client.ok("PEXPIREAT", b"\xff" * 300, FAR)
        client.ok("SADD", "s", *range(3000))
        client.ok("ZADD", "z", "0.1", "x", "-inf", "y", "1e300", "z", "7", "")
        client.ok("PEXPIREAT", "z", FAR)
        client.ok("RPUSH", "l", *range(3000))
        self.fill_stream(client, "x")
        client.ok("PEXPIREAT", "x", FAR)
        client.ok("XGROUP", "CREATE", "empty", "g", "$", "MKSTREAM")
        client.ok("XADD", "end", f"{2**64 - 1}-{2**64 - 1}", "f", "v")
        before = server_contents(client)
        self.copied("import", self.url(redis), "--db", self.db)
        summary = self.copied("export", self.url(redis, 1), "--db", self.db, "--batch", "100")
        self.assertEqual(server_contents(client, 1), before)
        self.assertEqual(summary["keys"], len(before))
        self.assertEqual([name for name in os.listdir(self.folder) if "port" in name], [])

    def test_members_keep_deadlines_that_differ_and_else_the_key_has_the_one(self):
        target = self.start(Mayfly)
        client = target.client()
        for name, moment in (("a", FAR), ("b", FAR + 1), ("c", None)):
            for key in ("own", "same"):
                client.ok("HSET", key, name, "v")
                client.ok("SADD", "set:" + key, name)
                client.ok("ZADD", "zset:" + key, "1.5", name)
            if moment is not None:
                client.ok("HPEXPIREAT", "own", moment, "FIELDS", 1, name)
                client.ok("SPEXPIREAT", "set:own", moment, "MEMBERS", 1, name)
                client.ok("ZPEXPIREAT", "zset:own", moment, "MEMBERS", 1, name)
        for key in ("same", "set:same", "zset:same"):
            client.ok("PEXPIREAT", key, FAR)
        before = server_contents(client)
        self.copied("import", self.url(target), "--db", self.db, "--cf", "mine")
        client.ok("FLUSHALL")
        self.copied("export", self.url(target), "--db", self.db, "--cf", "mine")
        self.assertEqual(server_contents(client), before)

    def test_a_server_without_deadlines_of_members_gets_the_latest_if_they_may_be_dropped(self):
        redis = self.start(Redis)
        self.put_member("set", b"s", b"soon", b"", "--ttl", "1h")
        self.put_member("set", b"s", b"late", b"", "--ttl", "2100-01-01T00:00Z")
        self.put_member("zset", b"z", b"soon", b"1.5", "--ttl", "1h")
        self.put_member("zset", b"z", b"never", b"2")
        self.put_member("hash", b"h", b"f", b"v", "--ttl", "1h")
        self.put_member("hash", b"h", b"g", b"v")
        words = ("export", self.url(redis), "--db", self.db)
        self.refused(self.program.run(*words), "--without-member-ttl", "with TTLs")
        summary = self.copied(*words, "--without-member-ttl")
        self.assertEqual((summary["deadlines_loosened"], summary["deadlines_dropped"]), (0, 4))
        self.assertEqual(server_contents(redis.client()), {
            b"s": ("set", [b"late", b"soon"], 4_102_444_800_000, {}),
            b"z": ("zset", [b"soon", b"1.5", b"never", b"2"], -1, {}),
            b"h": ("hash", {b"f": b"v", b"g": b"v"}, -1, {})})

    def test_patterns_and_entries_that_no_import_has_made(self):
        redis = self.start(Redis)
        self.put(**{"a:1": "1", "b:1": "2"})
        self.put_member("hash", b"a:h", b"f", b"v")
        self.put_member("hash", b"b:h", b"f", b"v")
        self.done("put", "--cf", "hash", "--hex", "00000009ff", "00")
        self.done("put", "--cf", "hash", "--hex", "ff", "00")
        words = ("export", self.url(redis), "--db", self.db, "--match", "a:*")
        summary = self.copied(*words)
        self.assertEqual((summary["keys"], sum(summary["skipped"].values())), (2, 2))
        self.assertEqual(sorted(redis.client().ok("KEYS", "*")), [b"a:1", b"a:h"])
        self.refused(self.program.run(*words, "--strict"), "--strict", "hash")

    def test_one_that_was_interrupted_goes_on_and_gives_the_same(self):
        redis = self.start(Redis)
        client = redis.client()
        self.fill(client, MANY)
        before = client.ok("DBSIZE")
        self.copied("import", self.url(redis), "--db", self.db)
        words = ("export", self.url(redis, 1), "--db", self.db, "--batch", "10")
        state, written = self.db + ".export", 0
        for how in (signal.SIGKILL, signal.SIGTERM):
            process = self.spawn(*words)
            await_that(lambda: os.path.exists(state) and os.stat(state).st_mtime_ns > written,
                       "a new state file")
            written = os.stat(state).st_mtime_ns
            process.send_signal(how)
            out, errors = process.communicate(timeout=program.PATIENCE_S)
            self.assertEqual(process.returncode, program.FAILED if how == signal.SIGTERM else -how,
                             (out, errors))
        summary = self.program.run(*words, "--json").json
        self.assertEqual((summary["keys"], summary["resumed"]), (before, True))
        client.ok("SELECT", 1)
        self.assertEqual(client.ok("DBSIZE"), before)
        self.assertEqual(client.ok("GET", f"key:{MANY - 1}"), b"value %d" % (MANY - 1))
        self.assertEqual(client.ok("HGETALL", "hash:7"), [b"a", b"7", b"b", b"-7"])

    def test_wrong_input_is_refused(self):
        self.put(a="1")
        redis = self.start(Redis)
        run = lambda *words: self.program.run("export", *words)  # noqa: E731
        self.refused(run("--db", self.db), "TARGET")
        self.refused(run(self.url(redis)), "--db")
        self.refused(run(self.url(redis), "--db", self.path("absent.db")), "absent.db")
        self.refused(run(self.url(redis), "--db", self.db, "--cf", "nobody"), "nobody")
        self.refused(run(self.url(redis), "--db", self.db, "--resume"), "nothing to resume")
        self.refused(run(self.url(redis), "--db", self.db, "--resume", "--restart"), "--restart")
        self.refused(run("--db", self.db, f"127.0.0.1:{free_port()}"), "refused")
        self.refused(run("--db", self.db, "rediss://127.0.0.1"), "TLS")
        state = self.write("state", b"a letter to a friend")
        self.refused(run(self.url(redis), "--db", self.db, "--state", state), "state", "--state")


if __name__ == "__main__":
    unittest.main()
