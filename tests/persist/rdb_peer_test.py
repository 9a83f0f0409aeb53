#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RDB files and dumps go from here to Debian's redis-server and back, key by key; and the files
that other servers wrote (tests/data/golden) are loaded."""

import glob
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from contents import contents, difference, golden, now_ms  # noqa: E402
from mayfly_server import Mayfly, Redis  # noqa: E402
from resp_client import await_that  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(HERE), "data", "golden")
FAR = 4_102_444_800_123
INTEGERS = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 2**31 - 1, 2**31, -2**31,
            -2**31 - 1, 2**63 - 1, -2**63, 10**12]
SCORES = ["0", "-0", "1", "-3", "0.1", "1e300", "-1e-310", "inf", "-inf", "9007199254740993",
          "1e17"]
LIBRARY = "#!lua name=library\nredis.register_function('f', function() return 1 end)"


def everything(chance):
    """Writes of all that both servers hold."""
    yield from (("SET", f"int:{number}", number) for number in INTEGERS)
    for size in (0, 1, 20, 21, 63, 64, 100, 16383, 16384, 100_000):
        yield "SET", f"binary:{size}", chance.randbytes(size)
        yield "SET", f"long:{size}", b"a compressible text " * (size // 20)
    yield "SET", "", "a name without a letter"
    yield "SET", bytes(range(256)), "a binary name"
    yield "SET", "like an int", "007"
    for size in (1, 2, 100, 128, 129, 512, 513, 5_000):
        pairs = [word for number in range(size) for word in (f"field {number}", number * 77_777)]
        yield "HSET", f"hash:{size}", *pairs
    yield "HSET", "hash:binary", chance.randbytes(30), chance.randbytes(3_000), "", "", "e", ""
    yield "HSET", "hash:ints", *(word for number in INTEGERS for word in (number, -number // 2))
    yield "HSET", "hash:64", "f", "x" * 64
    yield "HSET", "hash:65", "f", "x" * 65
    for size in (1, 2, 128, 129, 512, 513, 5_000):
        yield "SADD", f"set:{size}", *(f"member {number}" for number in range(size))
        yield "SADD", f"ints:{size}", *(number * 77_777 for number in range(size))
        pairs = [word for number in range(size) for word in (number / 7, f"member {number}")]
        yield "ZADD", f"zset:{size}", *pairs
    for limit in (2**15, 2**31, 2**63):
        yield "SADD", f"ints:{limit}", 1, limit - 1, -limit
    yield "SADD", "set:binary", chance.randbytes(30), chance.randbytes(3_000), "", "007"
    yield "SADD", "set:65", "x" * 65
    yield "ZADD", "zset:scores", *(word for score in SCORES for word in (score, "m" + score))
    yield "ZADD", "zset:binary", 1, chance.randbytes(30), 1, chance.randbytes(3_000), 1, ""
    yield from lists(chance)
    yield from streams(chance)
    yield "PFADD", "hll:sparse", *range(20)
    yield "PFADD", "hll:dense", *range(10_000)
    yield "GEOADD", "geo", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"
    yield "SETBIT", "bits", 10_000, 1
    for database in (0, 1, 9, 15):
        yield "SELECT", database
        yield "SET", "until", database, "PXAT", FAR + database
        yield "HSET", "hash until", "f", database
        yield "PEXPIREAT", "hash until", FAR - database
        yield "RPUSH", "list until", "e", database
        yield "PEXPIREAT", "list until", FAR - database
        yield "XADD", "stream until", "5-5", "f", database
        yield "PEXPIREAT", "stream until", FAR - database
    yield "SELECT", 0


def lists(chance):
    """Of one chunk and of many, with elements that are too long for a chunk."""
    for size in (1, 2, 128, 129, 5_000):
        yield "RPUSH", f"list:{size}", *(f"element {number}" for number in range(size))
        yield "LPUSH", f"list:ints:{size}", *(number * 77_777 for number in range(size))
    yield "RPUSH", "list:ints", *INTEGERS
    yield "RPUSH", "list:binary", chance.randbytes(30), chance.randbytes(3_000), "", "007", ""
    yield "RPUSH", "list:long", "a", chance.randbytes(8_192), "b", chance.randbytes(100_000)
    yield "RPUSH", "list:long", "x" * 70_000, "c"
    yield "RPUSH", "list:one long", "x" * 20_000


def streams(chance):
    """With entries that were deleted and trimmed, groups, consumers and pending entries."""
    for number in range(1, 401):
        words = ("field", number) if number % 7 else ("other", chance.randbytes(9), "n", -number)
        yield "XADD", "stream", f"{number // 3 + 1}-{number}", *words
    yield "XDEL", "stream", "1-1", "1-2", "134-400", "50-148"
    yield "XGROUP", "CREATE", "stream", "readers", 0
    yield "XGROUP", "CREATE", "stream", "late", "$"
    yield "XGROUP", "CREATE", "stream", bytes(range(256)), "30-1", "ENTRIESREAD", 7
    yield "XGROUP", "CREATECONSUMER", "stream", "readers", "never"
    for consumer in ("ann", "bob"):
        yield "XREADGROUP", "GROUP", "readers", consumer, "COUNT", 20, "STREAMS", "stream", ">"
    yield "XACK", "stream", "readers", "2-3", "2-4"
    yield "XCLAIM", "stream", "readers", "eve", 0, "4-11", "TIME", FAR // 3, "RETRYCOUNT", 300
    yield "XDEL", "stream", "4-10"
    for number in range(300):
        yield "XADD", "stream:trimmed", "MAXLEN", "~", 150, f"{number + 1}-0", "f", number
    yield "XSETID", "stream:trimmed", "9000-5", "ENTRIESADDED", 1_000, "MAXDELETEDID", "8000-1"
    yield "XGROUP", "CREATE", "stream:made", "g", "$", "MKSTREAM"
    yield "XADD", "stream:emptied", "MAXLEN", 0, "7-7", "f", "v"
    yield "XADD", "stream:end", f"{2**64 - 1}-{2**64 - 1}", "f", "v"


class PeerCase(unittest.TestCase):
    def start(self, kind, *options, file=None, name="dump.rdb"):
        server = kind(*options)
        if file is not None:
            shutil.copy(file, server.path(name))
        return self.enterContext(server)

    def fill(self, server):
        seed = random.randrange(1_000_000)
        print(f"seed {seed}")
        client = server.client()
        for words in everything(random.Random(seed)):
            client.ok(*words)
        return client

    def assert_same(self, expected, server):
        seen = contents(server.client(), has_member_deadlines=False)
        self.assertEqual(difference(expected, seen), "")


class FileTest(PeerCase):
    def test_redis_loads_what_was_saved_here(self):
        for compression in ("yes", "no"):
            with self.subTest(compression=compression):
                ours = self.start(Mayfly, "--rdbcompression", compression)
                client = self.fill(ours)
                client.ok("SAVE")
                checked = subprocess.run(["redis-check-rdb", ours.path("dump.rdb")], text=True,
                                         capture_output=True, check=False, timeout=60)
                self.assertEqual(checked.returncode, 0, checked.stdout)
                theirs = self.start(Redis, file=ours.path("dump.rdb"))
                self.assert_same(contents(client), theirs)

    def test_what_redis_saved_is_loaded_here(self):
        theirs = self.start(Redis)
        client = self.fill(theirs)
        expected = contents(client, has_member_deadlines=False)
        client.ok("SAVE")
        ours = self.start(Mayfly, file=theirs.path("dump.rdb"))
        self.assert_same(expected, ours)
        self.assertNotIn("unsupported", ours.log())
        ours.client().ok("SAVE")
        again = self.start(Redis, file=ours.path("dump.rdb"))
        self.assert_same(expected, again)

    def test_expiry_goes_on_where_it_was(self):
        theirs = self.start(Redis)
        client = theirs.client()
        soon = now_ms() + 700
        client.ok("SET", "soon", 1, "PXAT", soon)
        client.ok("SET", "far", 1, "PXAT", FAR)
        client.ok("SAVE")
        ours = self.start(Mayfly, file=theirs.path("dump.rdb")).client()
        seen = ours.ask("PEXPIRETIME", "soon")
        self.assertIn(seen, (soon, -2))
        self.assertTrue(seen == soon or now_ms() >= soon)
        self.assertEqual(ours.ask("PEXPIRETIME", "far"), FAR)


class FunctionsTest(PeerCase):
    """Libraries of functions go to and fro; one of another engine than Lua cannot be held."""

    def setUp(self):
        self.theirs = theirs = self.start(Redis, "--repl-diskless-sync-delay", "0",
                                          "--rdbcompression", "no", "--rdbchecksum", "no")
        client = theirs.client()
        client.ok("FUNCTION", "LOAD", LIBRARY)
        client.ok("SET", "between", "v")
        client.ok("RPUSH", "list", *range(1_000))
        client.ok("SAVE")
        self.file = theirs.path("dump.rdb")

    def make_foreign(self):
        """The library of the file is of an engine that nobody has."""
        with open(self.file, "rb") as file:
            data = file.read()
        self.assertEqual(data.count(b"#!lua"), 1)
        with open(self.file, "wb") as file:
            file.write(data.replace(b"#!lua", b"#!lub"))

    def test_they_are_loaded_and_saved(self):
        ours = self.start(Mayfly, file=self.file)
        listed = self.theirs.client().ok("FUNCTION", "LIST", "WITHCODE")
        self.assertEqual(ours.client().ok("FUNCTION", "LIST", "WITHCODE"), listed)
        ours.client().ok("SAVE")
        again = self.start(Redis, file=ours.path("dump.rdb"))
        self.assertEqual(again.client().ok("FUNCTION", "LIST", "WITHCODE"), listed)

    def test_a_replica_gets_them(self):
        ours = self.start(Mayfly, "--replicaof", "127.0.0.1", str(self.theirs.port))
        client, theirs = ours.client(), self.theirs.client()
        await_that(lambda: b"master_link_status:up" in client.ask("INFO", "replication"), ours.log)
        self.assertEqual(client.ok("FUNCTION", "LIST"), theirs.ok("FUNCTION", "LIST"))
        theirs.ok("FUNCTION", "FLUSH")
        await_that(lambda: client.ok("FUNCTION", "LIST") == [], ours.log)

    def test_a_foreign_one_is_left_out_and_counted_if_asked_for(self):
        self.make_foreign()
        ours = self.start(Mayfly, "--drop-unsupported", file=self.file)
        client = ours.client()
        self.assertEqual(sorted(client.ok("KEYS", "*")), [b"between", b"list"])
        warned = [line for line in ours.log().splitlines() if "keys of unsupported types" in line]
        self.assertEqual(len(warned), 1, ours.log())
        self.assertIn("1 of type function", warned[0])
        client.ok("SAVE")
        with open(self.file, "rb") as theirs, open(ours.path("dump.rdb.unsupported-1"),
                                                   "rb") as kept:
            self.assertEqual(theirs.read(), kept.read())

    def test_else_it_is_refused_and_counted(self):
        self.make_foreign()
        ours = self.start(Mayfly)
        ours.stop()
        shutil.copy(self.file, ours.path("dump.rdb"))
        ours.spawn()
        said = ours.end_refused()
        self.assertIn("1 of type function", said)
        self.assertIn("dump.rdb", said)
        self.assertIn("--drop-unsupported", said)
        self.assertNotIn("Ready to accept", said)
        with open(self.file, "rb") as theirs, open(ours.path("dump.rdb"), "rb") as kept:
            self.assertEqual(theirs.read(), kept.read())


class DumpTest(PeerCase):
    def test_a_dump_made_here_is_restored_there_and_back(self):
        ours, theirs = self.start(Mayfly), self.start(Redis)
        client = self.fill(ours)
        # Redis 7.0 does not know when a consumer was active, if not when it asked last.
        self.assertEqual(theirs.client().ask("RESTORE", "stream", 0, client.ok("DUMP", "stream")),
                         "ERR Bad data format")
        client.ok("XGROUP", "DELCONSUMER", "stream", "readers", "never")
        self.copy(ours, theirs)
        self.assert_same(contents(ours.client()), theirs)
        ours.client().ok("FLUSHALL")
        self.copy(theirs, ours)
        self.assert_same(contents(theirs.client(), has_member_deadlines=False), ours)

    def copy(self, source, target):
        left, right = source.client(), target.client()
        for database in range(16):
            left.ok("SELECT", database)
            right.ok("SELECT", database)
            for key in left.ok("KEYS", "*"):
                deadline = max(0, left.ok("PEXPIRETIME", key))
                self.assertEqual(right.ask("RESTORE", key, deadline, left.ok("DUMP", key),
                                           "ABSTTL"), "OK", key)


class GoldenTest(PeerCase):
    """What the files of other servers hold is all there, and is written again as it was."""

    def test_every_file(self):
        files = sorted(glob.glob(os.path.join(GOLDEN, "*.rdb")))
        self.assertGreaterEqual(len(files), 5)
        for path in files:
            with self.subTest(os.path.basename(path)):
                ours = self.start(Mayfly, "--dbfilename", "golden.rdb", file=path,
                                  name="golden.rdb")
                self.check(ours, golden(path.replace(".rdb", ".json")))

    def check(self, ours, said):
        now = now_ms()
        held = {place: entry for place, entry in said.items() if entry.value is not None}
        expected = {place: entry for place, entry in
                    ((place, living(entry, now)) for place, entry in held.items()) if entry}
        client = ours.client()
        self.assertEqual(difference(expected, contents(client)), "")
        self.assertEqual(len(client.ok("FUNCTION", "LIST")), len(said) - len(held), ours.log())
        client.ok("SAVE")
        ours.kill()
        ours.restart()
        self.assertEqual(difference(expected, contents(ours.client())), "")


def living(entry, now):
    """The entry without what is due, or None."""
    if 0 <= entry.deadline <= now:
        return None
    if entry.kind in ("string", "list", "stream"):
        return entry
    due = {name for name, deadline in entry.deadlines.items() if deadline <= now}
    value = {name: value for name, value in entry.value.items() if name not in due}
    deadlines = {name: one for name, one in entry.deadlines.items() if name not in due}
    return entry._replace(value=value, deadlines=deadlines) if value else None


if __name__ == "__main__":
    unittest.main()
