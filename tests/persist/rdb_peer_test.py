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
OTHER_KINDS = [("RPUSH", "list", "a", "b", 3), ("XADD", "stream", "1-1", "f", "v"),
               ("XGROUP", "CREATE", "stream", "group", 0), ("PFADD", "hll", "a", "b")]


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
    for database in (0, 1, 9, 15):
        yield "SELECT", database
        yield "SET", "until", database, "PXAT", FAR + database
        yield "HSET", "hash until", "f", database
        yield "PEXPIREAT", "hash until", FAR - database
    yield "SELECT", 0


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
        self.assertNotIn("keys of unsupported types", ours.log())
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


class OtherKindsTest(PeerCase):
    def setUp(self):
        self.theirs = theirs = self.start(Redis, "--repl-diskless-sync-delay", "0")
        client = theirs.client()
        for words in OTHER_KINDS:
            client.ok(*words)
        client.ok("RPUSH", "another list", *range(1_000))
        client.ok("SET", "between", "v")
        client.ok("HSET", "z last", "f", "v")
        client.ok("SAVE")
        self.file = theirs.path("dump.rdb")

    def test_they_are_left_out_and_counted_if_asked_for(self):
        ours = self.start(Mayfly, "--drop-unsupported", file=self.file)
        client = ours.client()
        self.assertEqual(sorted(client.ok("KEYS", "*")), [b"between", b"hll", b"z last"])
        warned = [line for line in ours.log().splitlines() if "keys of unsupported types" in line]
        self.assertEqual(len(warned), 1, ours.log())
        for count, kind in ((2, "list"), (1, "stream")):
            self.assertRegex(warned[0], rf"\b{count} of type ({kind})\b")
        client.ok("SAVE")
        with open(self.file, "rb") as theirs, open(ours.path("dump.rdb.unsupported-1"),
                                                   "rb") as kept:
            self.assertEqual(theirs.read(), kept.read())

    def test_else_they_are_refused_and_counted(self):
        ours = self.start(Mayfly)
        ours.stop()
        shutil.copy(self.file, ours.path("dump.rdb"))
        ours.spawn()
        said = ours.end_refused()
        self.assertRegex(said, r"2 of type list, 1 of type stream")
        self.assertIn("dump.rdb", said)
        self.assertIn("--drop-unsupported", said)
        self.assertNotIn("Ready to accept", said)
        with open(self.file, "rb") as theirs, open(ours.path("dump.rdb"), "rb") as kept:
            self.assertEqual(theirs.read(), kept.read())


    def test_a_primary_with_them_is_refused_until_they_may_be_left_out(self):
        ours = self.start(Mayfly, "--replicaof", "127.0.0.1", str(self.theirs.port))
        client = ours.client()
        await_that(lambda: "the data of the primary has keys of unsupported types: 2 of type "
                           "list" in ours.log(), ours.log)
        self.assertIn(b"master_link_status:down", client.ask("INFO", "replication"))
        client.ok("CONFIG", "SET", "drop-unsupported", "yes")
        await_that(lambda: b"master_link_status:up" in client.ask("INFO", "replication"), ours.log)
        self.assertEqual(sorted(client.ok("KEYS", "*")), [b"between", b"hll", b"z last"])


class DumpTest(PeerCase):
    def test_a_dump_made_here_is_restored_there_and_back(self):
        ours, theirs = self.start(Mayfly), self.start(Redis)
        self.fill(ours)
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
        self.assertGreaterEqual(len(files), 4)
        for path in files:
            with self.subTest(os.path.basename(path)):
                ours = self.start(Mayfly, "--dbfilename", "golden.rdb", "--drop-unsupported",
                                  file=path, name="golden.rdb")
                self.check(ours, golden(path.replace(".rdb", ".json")))

    def check(self, ours, said):
        now = now_ms()
        held = {place: entry for place, entry in said.items() if entry.value is not None}
        expected = {place: entry for place, entry in
                    ((place, living(entry, now)) for place, entry in held.items()) if entry}
        client = ours.client()
        self.assertEqual(difference(expected, contents(client)), "")
        others = len(said) - len(held)
        counts = sum(map(int, re.findall(r"(\d+) of type", ours.log())))
        self.assertEqual(counts, others, ours.log())
        client.ok("SAVE")
        ours.kill()
        ours.restart()
        self.assertEqual(difference(expected, contents(ours.client())), "")


def living(entry, now):
    """The entry without what is due, or None."""
    if 0 <= entry.deadline <= now:
        return None
    if entry.kind == "string":
        return entry
    due = {name for name, deadline in entry.deadlines.items() if deadline <= now}
    value = {name: value for name, value in entry.value.items() if name not in due}
    deadlines = {name: one for name, one in entry.deadlines.items() if name not in due}
    return entry._replace(value=value, deadlines=deadlines) if value else None


if __name__ == "__main__":
    unittest.main()
