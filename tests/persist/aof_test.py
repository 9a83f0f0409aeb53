#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The append-only file of the real program: its files, what is in them, what is made of them."""

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
from resp_client import await_that, request  # noqa: E402
from workload import Writer  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(HERE), "data", "golden")
FAR = 4_102_444_800_123
ON = ("--appendonly", "yes")
PLAIN = [("SET", "plain", "value"), ("SET", b"\x00\xff\r\n", bytes(range(256))),
         ("SET", "until", "v", "PXAT", FAR), ("HSET", "h", "f", "v", "g", 2), ("INCRBY", "n", 7),
         ("INCRBYFLOAT", "n", "0.5"), ("SETRANGE", "r", 3, "xyz"), ("PEXPIREAT", "h", FAR + 9),
         ("HSET", "large", *(f"x{number}" for number in range(2_000))),
         ("RPUSH", "list", "a", 7, "", "x" * 9_000), ("LPUSH", "large list", *range(3_000)),
         ("LTRIM", "large list", 10, -10), ("PEXPIREAT", "list", FAR + 8),
         *(("XADD", "stream", f"{number}-1", "f", number) for number in range(1, 121)),
         ("XDEL", "stream", "5-1", "120-1"), ("XGROUP", "CREATE", "stream", "group", 0),
         ("XCLAIM", "stream", "group", "ann", 0, "1-1", "2-1", "3-1", "TIME", FAR // 3, "FORCE"),
         ("XACK", "stream", "group", "1-1"), ("XGROUP", "CREATE", "new", "group", "$", "MKSTREAM"),
         ("SELECT", 5),
         ("SET", "plain", "other"), ("MULTI",), ("SET", "m", 1), ("SELECT", 7), ("SET", "m", 2),
         ("EXEC",), ("SELECT", 0)]
FIELDS = [("HSETEX", "fields", "PXAT", FAR + 1, "FIELDS", 3, "a", 1, "b", 2, "c", 3),
          ("HPERSIST", "fields", "FIELDS", 1, "b"), ("HINCRBY", "fields", "a", 5),
          ("HPEXPIREAT", "large", FAR + 2, "FIELDS", 2, "x0", "x10")]


class AofCase(unittest.TestCase):
    def start(self, *options, kind=Mayfly):
        self.server = self.enterContext(kind(*options))
        self.client = self.server.client()

    def again(self, *options):
        if not self.server.ended:
            self.server.kill()
        self.server.restart(*options)
        self.client = self.server.client()

    def fill(self, requests):
        for words in requests:
            self.client.ok(*words)
        return contents(self.client)

    def assert_holds(self, expected, client=None, **how):
        self.assertEqual(difference(expected, contents(client or self.client, **how)), "")

    def rewrite(self):
        self.assertRegex(self.client.ask("BGREWRITEAOF"), "^Background append only file rewriting")
        self.await_rewritten()

    def await_rewritten(self):
        def is_idle():
            info = self.client.infos("persistence")
            return not (info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])

        await_that(is_idle, self.server.log)
        self.assertEqual(self.client.info("aof_last_bgrewrite_status"), "ok", self.server.log())

    def folder(self, *parts):
        return self.server.path("appendonlydir", *parts)

    def manifest(self):
        """[(name, sequence, type)]"""
        with open(self.folder("appendonly.aof.manifest"), encoding="utf-8") as file:
            lines = [line.split() for line in file]
        self.assertTrue(all((line[0], line[2], line[4]) == ("file", "seq", "type")
                            for line in lines), lines)
        return [(line[1], int(line[3]), line[5]) for line in lines]

    def increment(self):
        name, _, kind = self.manifest()[-1]
        self.assertEqual(kind, "i")
        return self.folder(name)

    def logged(self):
        """The commands of the last increment."""
        with open(self.increment(), "rb") as file:
            return commands(file.read())


def commands(data):
    found, at = [], 0
    while at < len(data):
        words, end = [], data.index(b"\r\n", at)
        count, at = int(data[at + 1:end]), end + 2
        for _ in range(count):
            end = data.index(b"\r\n", at)
            size, at = int(data[at + 1:end]), end + 2
            words.append(data[at:at + size].decode("latin-1"))
            at += size + 2
        found.append(words)
    return found


def spelt(words):
    return [words[0].upper(), *words[1:]]


class FilesTest(AofCase):
    def test_they_are_laid_out_as_by_redis_7(self):
        self.start(*ON)
        self.fill(PLAIN)
        first = self.manifest()
        self.assertEqual(first[-1], ("appendonly.aof.1.incr.aof", 1, "i"))
        self.assertEqual([part[2] for part in first[:-1]], ["b"] * (len(first) - 1))
        self.rewrite()
        base, increment = self.manifest()
        self.assertEqual(increment, ("appendonly.aof.2.incr.aof", 2, "i"))
        self.assertEqual(base[0], f"appendonly.aof.{base[1]}.base.rdb")
        self.assertEqual(base[2], "b")
        await_that(lambda: len(os.listdir(self.folder())) == 4,
                   lambda: f"older files are gone: {os.listdir(self.folder())}")
        self.assertEqual(sorted(os.listdir(self.folder())),
                         sorted([base[0], increment[0], "appendonly.aof.manifest",
                                 "mayfly.lock"]))

    def test_other_names(self):
        self.start(*ON, "--appenddirname", "a folder", "--appendfilename", "log")
        expected = self.fill(PLAIN + FIELDS)
        self.rewrite()
        names = set(os.listdir(self.server.path("a folder"))) - {"mayfly.lock"}
        self.assertIn("log.manifest", names)
        self.assertTrue(all(name.startswith("log.") for name in names), names)
        self.again()
        self.assert_holds(expected)

    def test_without_a_preamble_the_base_is_commands(self):
        self.start(*ON, "--aof-use-rdb-preamble", "no")
        expected = self.fill(PLAIN + FIELDS)
        self.rewrite()
        base = self.manifest()[0][0]
        self.assertRegex(base, r"^appendonly\.aof\.\d+\.base\.aof$")
        with open(self.folder(base), "rb") as file:
            found = [spelt(words) for words in commands(file.read())]
        volatile = [words for words in found if words[0] == "HSETEX" and words[1] == "fields"]
        self.assertEqual(len(volatile), 1, "fields with one deadline are one command")
        self.assertEqual(volatile[0][2:4], ["PXAT", str(FAR + 1)])
        self.assertEqual({*volatile[0][6::2]}, {"a", "c"})
        self.again()
        self.assert_holds(expected)

    def test_a_snapshot_is_taken_over_when_there_is_no_log_yet(self):
        self.start()
        expected = self.fill(PLAIN + FIELDS)
        self.client.ok("SAVE")
        self.again(*ON)
        self.assert_holds(expected)
        self.client.ok("SET", "after", 1)
        expected = contents(self.client)
        os.remove(self.server.path("dump.rdb"))
        self.again()
        self.assert_holds(expected)

    def test_an_old_log_of_one_file_is_taken_over(self):
        for preamble in (False, True):
            with self.subTest(preamble=preamble):
                self.start()
                expected = self.fill(PLAIN)
                data = b"".join(request(*words) for words in PLAIN)
                if preamble:
                    self.client.ok("SAVE")
                    with open(self.server.path("dump.rdb"), "rb") as file:
                        data = file.read() + request("SET", "after", 1)
                    os.remove(self.server.path("dump.rdb"))
                    expected = self.fill([("SET", "after", 1)])
                with open(self.server.path("appendonly.aof"), "wb") as file:
                    file.write(data)
                self.again(*ON)
                self.assert_holds(expected)
                expected = self.fill([("SET", "later", 1)])
                self.assertFalse(os.path.exists(self.server.path("appendonly.aof")))
                self.again()
                self.assert_holds(expected)


class LoggedTest(AofCase):
    """What is in the log, word for word."""

    def setUp(self):
        self.start(*ON)

    def assert_logged(self, *expected):
        found = [spelt(words) for words in self.logged()]
        if found and found[0][0] == "SELECT":
            found = found[1:]
        self.assertEqual([" ".join(words) for words in found], [*expected])

    def deadline(self, *words):
        reply = self.client.ok(*words)
        return reply[0] if isinstance(reply, list) else reply

    def test_deadlines_are_absolute(self):
        self.client.pipeline([("SET", "a", 1, "EX", 1000), ("SET", "b", 1), ("EXPIRE", "b", 1000),
                              ("SETEX", "c", 1000, 1), ("GETEX", "b", "PX", 7_000_000),
                              ("HSETEX", "h", "EX", 1000, "FIELDS", 1, "f", "v"),
                              ("HEXPIRE", "h", 2000, "FIELDS", 1, "f"),
                              ("HGETEX", "h", "EX", 3000, "FIELDS", 1, "f")])
        text = "\n".join(" ".join(spelt(words)) for words in self.logged())
        self.assertNotRegex(text, r"\b(EX|PX|EXPIRE|PEXPIRE|HEXPIRE|HPEXPIRE|SETEX|GETEX|HGETEX)\b")
        self.assertIn(f"SET a 1 PXAT {self.deadline('PEXPIRETIME', 'a')}", text)
        self.assertIn(f"PEXPIREAT b {self.deadline('PEXPIRETIME', 'b')}", text)
        field = self.deadline("HPEXPIRETIME", "h", "FIELDS", 1, "f")
        self.assertIn(f"HPEXPIREAT h {field} FIELDS 1 f", text)

    def test_numbers_by_their_result(self):
        self.client.pipeline([("INCRBYFLOAT", "n", "0.5"), ("HINCRBYFLOAT", "h", "f", "1.5"),
                              ("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f"),
                              ("HINCRBYFLOAT", "h", "f", "1")])
        text = "\n".join(" ".join(spelt(words)) for words in self.logged())
        self.assertRegex(text, r"(?m)^SET n 0\.5 KEEPTTL$")
        self.assertRegex(text, r"(?m)^HSET h f 1\.5$")
        self.assertRegex(text, rf"(?m)^HSETEX h PXAT {FAR} FIELDS 1 f 2\.5$")
        self.assertNotIn("FLOAT", text)

    def test_reads_and_writes_that_do_nothing_are_not_logged(self):
        self.client.pipeline([("GET", "a"), ("DEL", "a"), ("SET", "a", 1, "XX"), ("PERSIST", "a"),
                              ("HDEL", "h", "f"), ("EXPIRE", "a", 10), ("HLEN", "h"), ("INCR",),
                              ("HPERSIST", "h", "FIELDS", 1, "f"), ("SAVE",), ("DBSIZE",)])
        self.assert_logged()

    def test_a_transaction_is_one(self):
        self.client.pipeline([("MULTI",), ("SET", "a", 1), ("GET", "a"), ("INCR", "b"), ("EXEC",),
                              ("MULTI",), ("GET", "a"), ("EXEC",), ("MULTI",), ("SET", "c", 1),
                              ("DISCARD",), ("SET", "d", 1)])
        self.assert_logged("MULTI", "SELECT 0", "SET a 1", "INCR b", "EXEC", "SET d 1")

    def test_fields_that_expire_together_are_one_hdel(self):
        self.client.ok("HSET", "h", "stays", 1)
        soon = now_ms() + 100
        names = [f"f{number}" for number in range(10)]
        self.client.ok("HSETEX", "h", "PXAT", soon, "FIELDS", 10,
                       *(word for name in names for word in (name, 1)))
        self.client.ok("HSETEX", "all", "PXAT", soon, "FIELDS", 1, "f", 1)
        self.client.ok("SET", "key", 1, "PXAT", soon)
        await_that(lambda: {"key", "h", "all"} == {words[1] for words in self.logged() if
                                                   words[0].upper() in ("UNLINK", "DEL", "HDEL")},
                   lambda: self.logged())
        found = [spelt(words) for words in self.logged()]
        removed = [words for words in found if words[:2] == ["HDEL", "h"]]
        self.assertEqual(len(removed), 1, found)
        self.assertEqual(sorted(removed[0][2:]), sorted(names))
        self.assertTrue([words for words in found if words[0] in ("DEL", "UNLINK")
                         and words[1] == "key"], found)

    def test_what_has_expired_is_not_revived(self):
        """HPERSIST, HEXPIRE and HDEL name a field that is due, but not yet removed."""
        self.client.ok("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        soon = now_ms() + 50
        for key in ("persist", "expire", "delete", "increment", "get"):
            self.client.ok("HSETEX", key, "PXAT", soon, "FIELDS", 1, "due", 1)
            self.client.ok("HSETEX", key, "PXAT", FAR, "FIELDS", 1, "far", 1)
        await_that(lambda: now_ms() > soon, "time passes")
        self.client.pipeline([("HPERSIST", "persist", "FIELDS", 2, "due", "far"),
                              ("HPEXPIREAT", "expire", FAR + 1, "FIELDS", 2, "due", "far"),
                              ("HDEL", "delete", "due", "far"),
                              ("HINCRBY", "increment", "due", 5),
                              ("HGETEX", "get", "PXAT", FAR + 3, "FIELDS", 2, "due", "far")])
        expected = contents(self.client)
        self.assertNotIn(b"due", expected[0, b"persist"].value)
        self.again()
        self.assert_holds(expected)
        self.assertEqual(self.client.ask("DEBUG", "LOADAOF"), "OK")
        self.assert_holds(expected)


class RewriteTest(AofCase):
    def test_it_loses_nothing_under_load(self):
        self.start(*ON)
        self.client.ok("DEBUG", "POPULATE", 20_000)
        seed = random.randrange(1_000_000)
        print(f"seed {seed}")
        writer = Writer(random.Random(seed), "w")
        end = now_ms() + 1_500
        while now_ms() < end or self.client.info("aof_rewrites") < 3:
            writer.send(self.client, 50, writer.note("BGREWRITEAOF"))
            writer.receive(self.client)
        rewrites = self.client.info("aof_rewrites")
        self.again()
        begin = now_ms()
        seen = {place: entry for place, entry in contents(self.client, 8).items()
                if place[1].startswith(b"w:")}
        done = now_ms()
        if writer.match(seen, writer.acked, begin, done) is None:
            self.fail(f"seed {seed}, {rewrites} rewrites:\n"
                      + writer.explain(seen, writer.acked, begin, done))
        self.assertEqual(self.client.ok("EXISTS", "key:0", "key:19999"), 2)
        print(f"{len(writer.units)} commands during {rewrites} rewrites")

    def test_automatically_when_it_has_grown(self):
        self.start(*ON, "--auto-aof-rewrite-min-size", "64kb", "--auto-aof-rewrite-percentage",
                   "100")
        written = 0

        def write():
            nonlocal written
            requests = [("SET", f"key:{one}", str(written) * 50) for one in range(100)]
            self.client.pipeline(requests)
            written += sum(len(request(*words)) for words in requests)
            return self.client.info("aof_rewrites") >= 2

        await_that(write, self.server.log)
        self.await_rewritten()
        self.assertLess(self.client.info("aof_current_size"), written)
        expected = contents(self.client)
        self.again()
        self.assert_holds(expected)

    def test_switched_on_off_and_on_again_at_run_time(self):
        self.start()
        self.fill(PLAIN + FIELDS)
        for number in range(2):
            self.client.ok("CONFIG", "SET", "appendonly", "yes")
            self.client.ok("SET", "meanwhile", number)
            self.await_rewritten()
            self.assertEqual(self.client.info("aof_enabled"), 1)
            self.client.ok("SET", "after", number)
            expected = contents(self.client)
            self.again(*ON)
            self.assert_holds(expected)
            self.client.ok("CONFIG", "SET", "appendonly", "no")
            self.assertEqual(self.client.info("aof_enabled"), 0)
            self.client.ok("SET", "not logged", number)

    def test_a_stop_while_the_first_base_is_written_loses_nothing(self):
        self.start("--save", "", "--rdb-key-save-delay", "1000")
        self.client.ok("DEBUG", "POPULATE", 10_000, "key", 100)
        self.client.ok("CONFIG", "SET", "appendonly", "yes")
        await_that(lambda: self.client.info("aof_rewrite_in_progress") == 1, self.server.log)
        self.server.stop()
        self.again(*ON)
        self.assertEqual(self.client.ask("DBSIZE"), 10_000)


class DamageTest(AofCase):
    def setUp(self):
        self.start(*ON)
        self.fill(PLAIN + FIELDS)
        self.server.kill()
        self.path = self.increment()
        with open(self.path, "rb") as file:
            self.whole = file.read()

    def write(self, data):
        with open(self.path, "wb") as file:
            file.write(data)

    def refused(self, data, *options):
        self.write(data)
        self.server.options += options
        self.server.spawn()
        said = self.server.end_refused()
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), data, "it must not be changed")
        self.assertIn(os.path.basename(self.path), said)
        return said, [int(found) for found in re.findall(r"offset (\d+)", said)]

    def test_a_truncated_end_is_cut_off(self):
        tail = request("SET", "the last", "word")
        transaction = request("MULTI") + request("SET", "the last", "word")
        for more in (tail[:-1], tail[:5], b"*", transaction, transaction + request("EXEC")[:-2]):
            with self.subTest(more):
                self.write(self.whole + more)
                self.server.restart()
                self.client = self.server.client()
                self.assertRegex(self.server.log(), rf"(?i){len(self.whole)}")
                self.assertEqual(self.client.ask("EXISTS", "the last"), 0)
                self.assertEqual(self.client.ask("GET", "plain"), b"value")
                self.client.ok("SET", "new", "v")
                self.again()
                self.assertEqual(self.client.ask("GET", "new"), b"v")
                self.server.kill()
                self.path = self.increment()

    def test_or_refused(self):
        said, offsets = self.refused(self.whole + request("SET", "the last", "word")[:-3],
                                     "--aof-load-truncated", "no")
        self.assertIn(len(self.whole), offsets, said)
        said, offsets = self.refused(self.whole + request("MULTI"))
        self.assertIn(len(self.whole), offsets, said)

    def test_damage_elsewhere_is_refused_with_the_offset(self):
        at = self.whole.index(b"*", len(self.whole) // 2)
        at = next(place for place in (at, *range(at, len(self.whole)))
                  if self.whole[place - 2:place] == b"\r\n" and self.whole[place:place + 1] == b"*")
        said, offsets = self.refused(self.whole[:at] + b"!" + self.whole[at + 1:])
        self.assertIn(at, offsets, said)
        nonsense = request("NOSUCHCOMMAND", "x")
        said, offsets = self.refused(self.whole[:at] + nonsense + self.whole[at:])
        self.assertIn(at, offsets, said)
        self.assertIn("NOSUCHCOMMAND", said.upper())

    def test_zeros_of_a_power_cut_are_cut_off(self):
        self.write(self.whole + bytes(4096))
        self.server.restart()
        self.assertRegex(self.server.log(), f"4096 bytes from offset {len(self.whole)} on")
        self.assertEqual(self.server.client().ask("GET", "plain"), b"value")

    def test_the_advice_for_a_damaged_end_works(self):
        said, _ = self.refused(self.whole + b"garbage")
        command, folder = re.search(r"(mayfly aof) '([^']+)'", said).groups()
        self.assertEqual((command, os.path.realpath(folder)),
                         ("mayfly aof", os.path.realpath(self.folder(""))))
        for words, code in (((), 1), (("--check",), 1), (("--fix",), 0), ((), 0)):
            done = subprocess.run([os.environ["MAYFLY"], "aof", folder, *words], check=False,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn("damaged" if code or words else "no damage", done.stdout)
        with open(self.path + ".cut-1", "rb") as file:
            self.assertEqual(file.read(), b"garbage")
        self.server.restart()
        self.assertEqual(self.server.client().ask("GET", "plain"), b"value")
        running = subprocess.run([os.environ["MAYFLY"], "aof", folder, "--fix"], check=False,
                                 capture_output=True, text=True)
        self.assertEqual((running.returncode, running.stderr), (0, ""), "nothing to mend")

    def test_a_file_that_is_missing_is_named(self):
        os.rename(self.path, self.path + ".away")
        self.server.spawn()
        self.assertIn(os.path.basename(self.path), self.server.end_refused())

    def test_a_manifest_that_makes_no_sense(self):
        with open(self.folder("appendonly.aof.manifest"), "a", encoding="utf-8") as file:
            file.write("file nonsense\n")
        self.server.spawn()
        self.assertRegex(self.server.end_refused(), r"manifest.*\(restore it from a backup, or")
        with open(self.folder("appendonly.aof.manifest"), "w", encoding="utf-8"):
            pass  # as a power cut leaves it
        self.server.spawn()
        self.assertRegex(self.server.end_refused(), r"names no file \(restore it from a backup")


class OthersTest(AofCase):
    def test_the_folder_of_a_valkey_9(self):
        server = Mayfly(*ON)
        shutil.copytree(os.path.join(GOLDEN, "valkey9-aof"), server.path("appendonlydir"))
        self.server = self.enterContext(server)
        self.client = server.client()
        expected = golden(os.path.join(GOLDEN, "valkey9-aof.json"))
        self.assert_holds(expected)
        self.rewrite()
        self.again()
        self.assert_holds(expected)

    def copy_to(self, kind):
        """What this server has written, for another one."""
        other = kind(*ON)
        shutil.copytree(self.folder(), other.path("appendonlydir"))
        self.enterContext(other)
        return other.client()

    def test_redis_loads_what_is_written_here(self):
        for preamble in ("yes", "no"):
            with self.subTest(preamble=preamble):
                self.start(*ON, "--aof-use-rdb-preamble", preamble)
                self.fill(PLAIN[:6])
                self.rewrite()
                expected = self.fill(PLAIN[6:])
                self.server.kill()
                done = subprocess.run(["redis-check-aof", self.folder("appendonly.aof.manifest")],
                                      capture_output=True, text=True, check=False, timeout=30)
                self.assertEqual(done.returncode, 0, done)
                self.assert_holds(expected, self.copy_to(Redis), has_member_deadlines=False)

    def test_what_redis_has_written_is_loaded_here(self):
        for preamble in ("yes", "no"):
            with self.subTest(preamble=preamble):
                self.start(*ON, "--aof-use-rdb-preamble", preamble, kind=Redis)
                for words in PLAIN[:6]:
                    self.client.ok(*words)
                self.rewrite()
                for words in PLAIN[6:]:
                    self.client.ok(*words)
                expected = contents(self.client, has_member_deadlines=False)
                self.server.kill()
                self.assert_holds(expected, self.copy_to(Mayfly))


if __name__ == "__main__":
    unittest.main()
