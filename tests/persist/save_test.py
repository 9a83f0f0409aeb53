#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the real program: when they are written, what is loaded again, and what is not."""

import os
import re
import signal
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from contents import contents, difference, now_ms  # noqa: E402
from mayfly_server import Mayfly  # noqa: E402
from resp_client import Client, Closed, Failure, await_that  # noqa: E402

FAR = 4_102_444_800_123
MANY = 100_000


class SaveCase(unittest.TestCase):
    def start(self, *options):
        self.server = self.enterContext(Mayfly(*options))
        self.client = self.server.client()
        self.file = self.server.path("dump.rdb")

    def again(self, *options):
        self.server.close_clients()
        self.server.restart(*options)
        self.client = self.server.client()

    def fill(self):
        """Some of everything, in three databases."""
        requests = [("SET", "plain", "value"), ("SET", "number", -12345), ("SET", "", "empty name"),
                    ("SET", b"\x00\xff\r\n", bytes(range(256))), ("SET", "long", "abc" * 10_000),
                    ("SET", "until", "v", "PXAT", FAR), ("HSET", "small", "f", "v", "1", 2),
                    ("HSET", "large", *(f"x{number}" for number in range(2_000))),
                    ("HSETEX", "fields", "PXAT", FAR + 1, "FIELDS", 2, "a", 1, "b", 2),
                    ("HSET", "fields", "stays", "v"), ("HPEXPIREAT", "large", FAR + 2, "FIELDS",
                                                      2, "x0", "x10"),
                    ("PEXPIREAT", "fields", FAR + 3), ("SELECT", 3), ("SET", "plain", "other"),
                    ("SELECT", 15), ("HSETEX", "h", "PXAT", FAR, "FIELDS", 1, "f", "v"),
                    ("SELECT", 0), ("RPUSH", "list", "a", 7, "", "x" * 9_000),
                    ("RPUSH", "large list", *range(3_000)), ("PEXPIREAT", "list", FAR),
                    *(("XADD", "stream", f"{number}-1", "f", number) for number in range(1, 121)),
                    ("XDEL", "stream", "5-1"), ("XGROUP", "CREATE", "stream", "group", 0),
                    ("XREADGROUP", "GROUP", "group", "ann", "COUNT", 20, "STREAMS", "stream", ">"),
                    ("XDEL", "stream", "6-1")]
        for reply, words in zip(self.client.pipeline(requests), requests):
            self.assertNotIsInstance(reply, Failure, words)
        return contents(self.client)

    def assert_holds(self, expected):
        self.assertEqual(difference(expected, contents(self.client)), "")

    def populate(self, count=MANY):
        self.client.ok("DEBUG", "POPULATE", count, "key", 100)

    def names(self):
        return sorted(set(os.listdir(self.server.folder)) - {"output", "mayfly.lock"})

    def header(self):
        with open(self.file, "rb") as file:
            return file.read(9)


class SaveTest(SaveCase):
    def test_save_keeps_everything(self):
        self.start()
        expected = self.fill()
        self.assertEqual(self.client.ask("SAVE"), "OK")
        self.assertEqual(self.names(), ["dump.rdb"])
        self.assertEqual(self.client.info("rdb_changes_since_last_save"), 0)
        self.server.kill()
        self.again()
        self.assert_holds(expected)
        self.assertEqual(self.client.info("rdb_changes_since_last_save"), 0)

    def test_the_version_says_whether_there_are_deadlines_of_fields(self):
        self.start()
        self.client.ok("HSET", "h", "f", "v")
        self.client.ok("SAVE")
        self.assertEqual(self.header(), b"REDIS0010")
        self.client.ok("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f")
        self.client.ok("SAVE")
        self.assertEqual(self.header(), b"VALKEY080")
        self.client.ok("HPERSIST", "h", "FIELDS", 1, "f")
        self.client.ok("SAVE")
        self.assertEqual(self.header(), b"REDIS0010")

    def test_another_name_and_no_compression(self):
        self.start("--dbfilename", "other.rdb", "--rdbcompression", "no")
        self.client.ok("SET", "long", "abc" * 10_000)
        self.client.ok("SAVE")
        self.assertEqual(self.names(), ["other.rdb"])
        plain = os.path.getsize(self.server.path("other.rdb"))
        self.client.ok("CONFIG", "SET", "rdbcompression", "yes")
        self.client.ok("SAVE")
        self.assertGreater(plain, 30_000)
        self.assertLess(os.path.getsize(self.server.path("other.rdb")), plain // 5)
        self.server.kill()
        self.again()
        self.assertEqual(self.client.ask("GET", "long"), b"abc" * 10_000)

    def test_what_has_expired_meanwhile_is_gone(self):
        self.start()
        soon = now_ms() + 300
        self.client.pipeline([("SET", "a", "v", "PXAT", soon), ("SET", "b", "v", "PXAT", FAR),
                              ("HSETEX", "h", "PXAT", soon, "FIELDS", 2, "x", 1, "y", 2),
                              ("HSETEX", "i", "PXAT", soon, "FIELDS", 1, "x", 1),
                              ("HSETEX", "i", "PXAT", FAR, "FIELDS", 1, "y", 1), ("SAVE",)])
        self.server.kill()
        await_that(lambda: now_ms() > soon, "time passes")
        self.again()
        self.assertEqual(sorted(self.client.ask("KEYS", "*")), [b"b", b"i"])
        self.assertEqual(self.client.ask("DBSIZE"), 2)
        self.assertEqual(self.client.ask("HGETALL", "i"), [b"y", b"1"])
        self.assertEqual(self.client.ask("HLEN", "i"), 1)

    def test_debug_reload(self):
        self.start()
        expected = self.fill()
        digest = self.client.ok("DEBUG", "DIGEST")
        self.assertEqual(self.client.ask("DEBUG", "RELOAD"), "OK")
        self.assert_holds(expected)
        self.assertEqual(self.client.ok("DEBUG", "DIGEST"), digest)

    def test_dump_and_restore(self):
        self.start()
        for key in ("plain", "number", "long", "small", "large", "fields"):
            self.client.ok("FLUSHALL")
            expected = self.fill()
            data = self.client.ok("DUMP", key)
            self.assertRegex(self.client.ask("RESTORE", key, 0, data), "^BUSYKEY ")
            self.client.ok("DEL", key)
            self.client.ok("RESTORE", key, max(0, expected[0, key.encode()].deadline), data,
                           "ABSTTL")
            self.assert_holds(expected)
            self.client.ok("RESTORE", key, max(0, expected[0, key.encode()].deadline), data,
                           "REPLACE", "ABSTTL", "IDLETIME", 77)
            self.assertIn(self.client.ask("OBJECT", "IDLETIME", key), (77, 78))
            self.assert_holds(expected)
            for wrong in (data[:-1], data[:-9] + b"x" + data[-8:], b"", data + b"x"):
                self.assertEqual(self.client.ask("RESTORE", "other", 0, wrong),
                                 "ERR DUMP payload version or checksum are wrong")
            self.assertEqual(self.client.ask("EXISTS", "other"), 0)


class BackgroundTest(SaveCase):
    def await_saved(self, count=1):
        await_that(lambda: self.client.info("rdb_saves") >= count and
                   not self.client.info("rdb_bgsave_in_progress"), self.server.log)

    def test_bgsave_shows_its_progress_and_lets_clients_work(self):
        self.start()
        self.populate()
        self.assertEqual(self.client.ask("BGSAVE"), "Background saving started")
        seen = [self.client.infos("persistence")]
        self.assertEqual(seen[0]["rdb_bgsave_in_progress"], 1)
        self.assertRegex(self.client.ask("BGSAVE"), "^ERR Background save already in progress")
        self.assertRegex(self.client.ask("SAVE"), "^ERR Background save already in progress")
        while seen[-1]["rdb_bgsave_in_progress"]:
            self.client.ok("SET", "key:0", "changed")
            seen.append(self.client.infos("persistence"))
        done = [int(info["current_save_keys_processed"]) for info in seen[:-1]]
        self.assertEqual(done, sorted(done))
        self.assertGreater(max(done), 0)
        self.assertLessEqual(max(done), MANY)
        self.assertEqual(seen[0]["current_save_keys_total"], MANY)
        self.assertGreater(seen[-1]["rdb_changes_since_last_save"], 0)
        self.assertEqual(seen[-1]["rdb_last_bgsave_status"], "ok")
        self.assertGreaterEqual(int(seen[-1]["rdb_last_bgsave_time_sec"]), 0)
        self.assertGreater(int(seen[-1]["rdb_last_cow_size"]), 0)
        self.assertEqual(self.names(), ["dump.rdb"])
        self.server.kill()
        self.again()
        self.assertEqual(self.client.ask("DBSIZE"), MANY)
        self.assertNotEqual(self.client.ask("GET", "key:0"), b"changed", "a snapshot is a moment")

    def test_lastsave(self):
        self.start()
        before = self.client.ok("LASTSAVE")
        await_that(lambda: now_ms() // 1000 > before, "a second passes")
        self.assertEqual(self.client.ok("LASTSAVE"), before)
        self.client.ok("BGSAVE")
        self.await_saved()
        self.assertGreater(self.client.ok("LASTSAVE"), before)
        self.assertEqual(self.client.info("rdb_last_save_time"), self.client.ok("LASTSAVE"))

    def test_bgsave_in_a_transaction_is_put_off(self):
        self.start()
        replies = self.client.pipeline([("MULTI",), ("SET", "a", 1), ("BGSAVE",), ("SET", "b", 2),
                                        ("EXEC",)])[-1]
        self.assertEqual(replies, ["OK", "Background saving scheduled", "OK"])
        self.await_saved()
        self.server.kill()
        self.again()
        self.assertEqual(sorted(self.client.ok("KEYS", "*")), [b"a", b"b"])

    def test_bgsave_cancel_leaves_the_old_file(self):
        self.start()
        self.client.ok("SET", "old", 1)
        self.client.ok("SAVE")
        self.populate()
        self.client.ok("BGSAVE")
        self.assertEqual(self.client.ask("BGSAVE", "CANCEL"), "Background saving cancelled")
        await_that(lambda: self.client.info("rdb_bgsave_in_progress") == 0, self.server.log)
        self.assertEqual(self.names(), ["dump.rdb"])
        self.assertEqual(self.client.ask("SET", "new", 1), "OK")
        self.server.kill()
        self.again()
        self.assertEqual(self.client.ask("KEYS", "*"), [b"old"])

    def test_rules(self):
        self.start("--save", "1 3")
        self.client.pipeline([("SET", "a", 1), ("SET", "b", 2)])
        self.assertEqual(self.client.info("rdb_changes_since_last_save"), 2)
        started = now_ms()
        await_that(lambda: now_ms() > started + 1_200, "the rule's time passes")
        self.assertEqual(self.client.info("rdb_saves"), 0, "2 changes are not 3")
        self.client.ok("HSET", "c", "f", 1)
        self.await_saved()
        self.assertEqual(self.client.info("rdb_changes_since_last_save"), 0)
        self.client.ok("CONFIG", "SET", "save", "")
        self.server.kill()
        self.again()
        self.assertEqual(sorted(self.client.ok("KEYS", "*")), [b"a", b"b", b"c"])

    def test_connections_come_and_go_while_a_child_saves(self):
        """The child, which is held up here, has a copy of every connection."""
        self.start()
        self.client.ok("SET", "a", 1)
        others = [self.server.client() for _ in range(20)]
        numbers = [other.ok("CLIENT", "ID") for other in others]
        self.populate(4 * MANY)
        self.client.ok("BGSAVE")
        child = int(re.search(r"saving started by pid (\d+)", self.server.log()).group(1))
        os.kill(child, signal.SIGSTOP)
        try:
            self.assertEqual(self.client.info("rdb_bgsave_in_progress"), 1)
            for other in others[:10]:
                other.close()
            for _ in range(50):
                with Client(self.server.port) as other:
                    self.assertEqual(other.ask("GET", "a"), b"1")
            for other, number in zip(others[10:], numbers[10:]):
                self.assertEqual(self.client.ask("CLIENT", "KILL", "ID", number), 1)
                with self.assertRaises(Closed):
                    other.receive()
            self.assertEqual(len(self.client.ok("CLIENT", "LIST").splitlines()), 1)
        finally:
            os.kill(child, signal.SIGCONT)
        self.await_saved()

    def test_what_a_killed_child_leaves_does_no_harm(self):
        """The server is killed while a child saves; the next server saves in the same place."""
        self.start()
        self.populate()
        self.client.ok("BGSAVE")
        self.server.kill()
        self.again()
        self.assertIn(self.client.ask("DBSIZE"), (0, MANY))
        self.client.ok("FLUSHALL")
        expected = self.fill()
        self.client.ok("SAVE")
        await_that(lambda: self.names() == ["dump.rdb"], lambda: f"alone: {self.names()}")
        self.server.kill()
        self.again()
        self.assert_holds(expected)


class EndTest(SaveCase):
    def test_sigterm_and_sigint_save_if_there_are_rules(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                self.start("--save", "3600 1")
                expected = self.fill()
                self.server.stop(number)
                self.assertEqual(self.names(), ["dump.rdb"])
                self.again()
                self.assert_holds(expected)

    def test_sigterm_without_rules_saves_nothing(self):
        self.start()
        self.fill()
        self.server.stop()
        self.assertEqual(self.names(), [])

    def shut_down(self, *words):
        self.client.send("SHUTDOWN", *words)
        with self.assertRaises(Closed):
            self.client.receive()
        self.server.wait_for_end()

    def test_shutdown_saves_as_it_is_told(self):
        for rules, words, saves in (("3600 1", [], True), ("3600 1", ["NOSAVE"], False),
                                    ("", [], False), ("", ["SAVE"], True)):
            with self.subTest(rules=rules, words=words):
                self.start("--save", rules)
                expected = self.fill()
                self.shut_down(*words)
                self.assertEqual(self.names(), ["dump.rdb"] if saves else [])
                self.again()
                self.assert_holds(expected if saves else {})

    def test_shutdown_while_a_child_saves(self):
        self.start("--save", "3600 1")
        self.populate()
        self.client.ok("BGSAVE")
        self.client.ok("SET", "last", "word")
        self.shut_down()
        self.assertEqual(self.names(), ["dump.rdb"])
        self.again()
        self.assertEqual(self.client.ask("DBSIZE"), MANY + 1)
        self.assertEqual(self.client.ask("GET", "last"), b"word")


class DamageTest(SaveCase):
    def setUp(self):
        self.start()
        for number in range(100):
            self.client.ok("HSET", f"key:{number}", "field", f"value of {number}", "other", number)
        self.client.ok("SAVE")
        self.server.stop()
        with open(self.file, "rb") as file:
            self.whole = file.read()

    def refused(self, data, *options):
        with open(self.file, "wb") as file:
            file.write(data)
        self.server.options += options
        self.server.spawn()
        said = self.server.end_refused()
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), data, "a file that cannot be loaded must not be changed")
        self.assertIn("dump.rdb", said)
        return said

    def test_a_length_that_lies_names_the_key_and_the_offset(self):
        at = self.whole.index(b"key:50") + 6
        said = self.refused(self.whole[:at] + b"\xbf" + self.whole[at + 1:])
        self.assertRegex(said, r"key:50")
        offsets = [int(found) for found in re.findall(r"offset (\d+)", said)]
        self.assertTrue([one for one in offsets if at - 20 <= one <= at + 200],
                        f"an offset near {at} in {said}")

    def test_a_truncated_file(self):
        for size in (1, 8, 9, 50, len(self.whole) // 2, len(self.whole) - 1):
            with self.subTest(size):
                self.assertRegex(self.refused(self.whole[:size]), r"offset \d+|too short")

    def test_a_flipped_bit_is_found_by_the_checksum(self):
        at = self.whole.index(b"value of 77")
        said = self.refused(self.whole[:at] + b"V" + self.whole[at + 1:])
        self.assertRegex(said.lower(), "checksum|crc")

    def test_something_else(self):
        self.refused(b"")
        self.refused(b"this is no RDB file, but long enough to be one")
        self.refused(b"REDIS9999" + self.whole[9:])

    def test_the_whole_one_is_loaded(self):
        self.again()
        self.assertEqual(self.client.ask("DBSIZE"), 100)


class LoadingTest(SaveCase):
    def test_clients_hear_that_it_is_loading_and_are_served_then(self):
        self.start()
        self.populate(4 * MANY)
        self.client.ok("SAVE")
        digest = self.client.ok("DEBUG", "DIGEST")
        self.server.kill()
        self.server.spawn()
        self.assertTrue(self.server.accepts(), self.server.log())
        client = self.server.client()
        replies, percents = [], []
        while True:
            replies.append(client.ask("GET", "key:1"))
            if not isinstance(replies[-1], Failure):
                break
            info = client.infos("persistence")
            if info["loading"] == 1:
                percents.append(float(info["loading_loaded_perc"]))
        self.assertGreater(len(replies), 1, "it was loaded before anybody could ask")
        self.assertRegex(replies[0], "^LOADING ")
        self.assertEqual(percents, sorted(percents))
        self.assertTrue(percents and 0 <= percents[0] <= percents[-1] <= 100, percents)
        self.assertEqual(client.info("loading"), 0)
        self.assertEqual(client.ask("DBSIZE"), 4 * MANY)
        self.assertEqual(client.ok("DEBUG", "DIGEST"), digest)

    def test_it_can_be_ended_while_it_loads(self):
        self.start("--save", "3600 1")
        self.populate(4 * MANY)
        self.client.ok("SAVE")
        size = os.path.getsize(self.file)
        self.server.kill()
        self.server.spawn()
        self.assertTrue(self.server.accepts(), self.server.log())
        self.server.stop()
        self.assertEqual(os.path.getsize(self.file), size, "half of the data must not be saved")
        self.again()
        self.assertEqual(self.client.ask("DBSIZE"), 4 * MANY)


if __name__ == "__main__":
    unittest.main()
