#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that other servers made with deadlines of fields, each on a primary and on its replica;
then how a replica hides, counts and takes over, how writers wait for it, and how it is promoted.

The numbers are those of the regression list in the users' demands (part 4).
"""

import os
import shutil
import time
import unittest

from replicas import (Background, ReplicationCase, ask, await_caught_up, await_same, await_up,
                      follow, info_of)
from contents import now_ms
from mayfly_server import Mayfly
from proxy import Proxy
from resp_client import Closed, Failure, await_that

FAR = 4_102_444_800_123


class PairCase(ReplicationCase):
    def setUp(self):
        self.primary = self.start()
        self.replica = self.start(primary=self.primary)
        self.left, self.right = self.primary.client(), self.replica.client()

    def stop_sweeping(self):
        """What is due stays until somebody touches it."""
        self.left.ok("DEBUG", "SET-ACTIVE-EXPIRE", 0)

    def sweep(self):
        self.left.ok("DEBUG", "SET-ACTIVE-EXPIRE", 1)

    def pass_time(self, moment):
        await_that(lambda: now_ms() > moment, "time passes")

    def both(self, *words):
        """The reply of both, which is the same."""
        await_caught_up(self.primary, self.replica)
        reply, other = self.left.ask(*words), self.right.ask(*words)
        self.assertEqual(reply, other, f"{words}: primary {reply}, replica {other}")
        return reply

    def both_holding(self):
        await_same(self.primary, self.replica)


class ScenarioTest(PairCase):
    def test_1_a_value_with_a_zero_byte_survives_hexpire(self):
        value = b"a\x00b\x00"
        self.left.ok("HSET", "h", "f", value, b"\x00", value)
        self.left.ok("HPEXPIREAT", "h", FAR, "FIELDS", 2, "f", b"\x00")
        self.assertEqual(self.both("HMGET", "h", "f", b"\x00"), [value, value])
        self.assertEqual(self.both("HPEXPIRETIME", "h", "FIELDS", 2, "f", b"\x00"), [FAR, FAR])
        self.both_holding()

    def test_2_numbers_keep_the_deadline(self):
        for encoding in (512, 0):
            self.left.ok("CONFIG", "SET", "hash-max-listpack-entries", encoding)
            self.left.ok("HSETEX", "h", "PXAT", FAR, "FIELDS", 2, "n", 1, "x", "1.5")
            self.assertEqual(self.left.ok("HINCRBY", "h", "n", 4), 5)
            self.assertEqual(self.left.ok("HINCRBYFLOAT", "h", "x", "0.25"), b"1.75")
            self.assertEqual(self.both("HMGET", "h", "n", "x"), [b"5", b"1.75"])
            self.assertEqual(self.both("HPEXPIRETIME", "h", "FIELDS", 2, "n", "x"), [FAR, FAR])
            self.both_holding()

    def test_3_a_second_is_a_second(self):
        self.left.ok("HSET", "h", "f", 1, "g", 1)
        await_that(lambda: 0.85 < time.time() % 1 < 0.95, "a bad moment")
        begin = now_ms()
        self.left.ok("HEXPIRE", "h", 4, "FIELDS", 1, "f")
        self.left.ok("SET", "key", 1, "EX", 4)
        end = now_ms()
        field = self.both("HPEXPIRETIME", "h", "FIELDS", 1, "f")[0]
        key = self.both("PEXPIRETIME", "key")
        for deadline in (field, key):
            self.assertTrue(begin + 4000 <= deadline <= end + 4000, (begin, deadline, end))
        while True:
            seen = [client.ask("HEXISTS", "h", "f") for client in (self.left, self.right)]
            if now_ms() < field:
                self.assertEqual(seen, [1, 1])
            if seen == [0, 0]:
                break
        self.assertGreaterEqual(now_ms(), field)

    def test_4_what_is_due_is_not_revived_by_its_name(self):
        self.stop_sweeping()
        soon = now_ms() + 100
        keys = ("persist", "expire", "delete", "get", "set")
        for key in keys:
            self.left.ok("HSETEX", key, "PXAT", soon, "FIELDS", 1, "due", 1)
            self.left.ok("HSETEX", key, "PXAT", FAR, "FIELDS", 1, "far", 1)
        self.pass_time(soon)
        names = ("FIELDS", 2, "due", "far")
        self.assertEqual(self.left.ask("HPERSIST", "persist", *names), [-2, 1])
        self.assertEqual(self.left.ask("HPEXPIREAT", "expire", FAR + 1, *names), [-2, 1])
        self.assertEqual(self.left.ask("HDEL", "delete", "due"), 0)
        self.assertEqual(self.left.ask("HGETEX", "get", "PXAT", FAR + 2, *names), [None, b"1"])
        self.assertEqual(self.left.ask("HSETEX", "set", "FXX", "PXAT", FAR, *names[:2], "due", 2,
                                       "far", 2), 0)
        for key in keys:
            self.assertEqual(self.both("HKEYS", key), [b"far"])
            self.assertEqual(self.both("HLEN", key), 1)
            self.assertEqual(self.both("HPTTL", key, "FIELDS", 1, "due"), [-2])
        self.sweep()
        self.both_holding()

    def test_5_a_change_of_encoding_drops_nothing_silently(self):
        self.stop_sweeping()
        soon = now_ms() + 100
        self.left.ok("HSETEX", "h", "PXAT", soon, "FIELDS", 2, "due", 1, "due too", 1)
        self.left.ok("HSET", "h", "stays", 1)
        self.pass_time(soon)
        self.left.ok("HSET", "h", "long", "x" * 1_000)
        self.assertEqual(self.left.ok("OBJECT", "ENCODING", "h"), b"hashtable")
        self.assertEqual(self.both("HLEN", "h"), 2)
        self.assertEqual(sorted(self.both("HKEYS", "h")), [b"long", b"stays"])
        self.sweep()
        self.both_holding()
        self.assertEqual(self.both("HLEN", "h"), 2)
        self.left.ok("DEBUG", "RELOAD")
        self.both_holding()

    def test_6_many_fields_with_one_deadline_and_the_last_is_deleted(self):
        for count in (128, 129, 1_000):
            soon = now_ms() + 150
            names = [f"f{number}" for number in range(count)]
            self.left.ok("HSETEX", "h", "PXAT", soon, "FIELDS", count,
                         *(word for name in names for word in (name, 1)))
            self.left.ok("HSET", "h", "stays", 1)
            self.left.ok("HDEL", "h", *names[:-1])
            self.assertIn(self.both("HLEN", "h"), (1, 2))
            self.left.ok("HDEL", "h", names[-1])
            self.assertEqual(self.both("HKEYS", "h"), [b"stays"])
            self.pass_time(soon)
            self.both_holding()
        self.primary.check_health()

    def test_7_a_key_is_due_when_it_is_loaded_and_its_fields_follow(self):
        self.stop_sweeping()
        soon = now_ms() + 200
        self.left.ok("HSETEX", "due", "PXAT", soon + 1, "FIELDS", 2, "a", 1, "b", 2)
        self.left.ok("PEXPIREAT", "due", soon)
        self.left.ok("HSETEX", "fields due", "PXAT", soon, "FIELDS", 2, "a", 1, "b", 2)
        self.left.ok("HSETEX", "stays", "PXAT", FAR, "FIELDS", 2, "a", 1, "b", 2)
        self.left.ok("SAVE")
        self.pass_time(soon + 1)
        late = self.start(primary=self.primary)
        self.assertEqual(late.client().ask("KEYS", "*"), [b"stays"])
        self.assertEqual(late.client().ask("DBSIZE"), 1)
        self.sweep()
        await_same(self.primary, self.replica, late)
        self.primary.kill()
        self.primary.restart()
        self.left = self.primary.client()
        self.assertEqual(self.left.ask("KEYS", "*"), [b"stays"])
        await_same(self.primary, self.replica, late)

    def test_10_what_is_due_has_no_time_to_live(self):
        soon = now_ms() + 200
        self.left.ok("SET", "key", 1, "PXAT", soon)
        self.left.ok("HSETEX", "h", "PXAT", soon, "FIELDS", 1, "f", 1)
        self.left.ok("HSETEX", "h", "PXAT", FAR, "FIELDS", 1, "far", 1)
        await_caught_up(self.primary, self.replica)
        self.left.ok("CLIENT", "PAUSE", 2_000, "WRITE")
        self.pass_time(soon)
        for client in (self.left, self.right):
            for words in (("TTL", "key"), ("PTTL", "key"), ("PEXPIRETIME", "key")):
                self.assertEqual(client.ask(*words), -2, words)
            for word in ("HTTL", "HPTTL", "HPEXPIRETIME"):
                self.assertEqual(client.ask(word, "h", "FIELDS", 1, "f"), [-2], word)
            self.assertEqual(client.ask("EXISTS", "key"), 0)
            self.assertEqual(client.ask("HLEN", "h"), 1)
            self.assertEqual(client.ask("DBSIZE"), 1)
        self.left.ok("CLIENT", "UNPAUSE")
        self.both_holding()


class ExpiryTest(PairCase):
    def test_a_replica_hides_and_counts_what_is_due(self):
        self.stop_sweeping()
        soon = now_ms() + 150
        self.left.pipeline([("SET", f"k{number}", 1, "PXAT", soon) for number in range(10)])
        self.left.ok("SET", "stays", 1)
        for count in (5, 600):
            self.left.ok("HSETEX", f"h{count}", "PXAT", soon, "FIELDS", count,
                         *(word for number in range(count) for word in (f"f{number}", 1)))
            self.left.ok("HSET", f"h{count}", "stays", 1)
        await_caught_up(self.primary, self.replica)
        self.pass_time(soon)
        for count in (5, 600):
            self.assertEqual(self.both("HLEN", f"h{count}"), 1)
            self.assertEqual(self.both("HGETALL", f"h{count}"), [b"stays", b"1"])
            self.assertEqual(self.both("HRANDFIELD", f"h{count}"), b"stays")
        self.assertEqual(self.both("DBSIZE"), 3)
        self.assertEqual(len(self.both("KEYS", "*")), 3)
        self.assertEqual(self.both("EXISTS", "k0", "stays"), 1)
        self.assertEqual(self.right.info("expired_keys"), 0, "only the primary decides")
        self.assertEqual(self.right.info("expired_fields"), 0)
        self.sweep()
        self.both_holding()

    def test_a_promoted_replica_takes_over_at_once(self):
        self.stop_sweeping()  # a primary that lives for too long leaves it to the replica
        soon = now_ms() + 1000
        self.left.ok("SET", "key", 1, "PXAT", soon)
        self.left.ok("HSETEX", "h", "PXAT", soon, "FIELDS", 1, "f", 1)
        self.left.ok("HSET", "h", "stays", 1)
        await_caught_up(self.primary, self.replica)
        self.primary.kill()
        self.pass_time(soon)
        self.right.ok("REPLICAOF", "NO", "ONE")
        await_that(lambda: (self.right.info("expired_keys"), self.right.info("expired_fields"))
                   == (1, 1), lambda: f"{self.right.infos('stats')}")
        self.assertEqual(self.right.ok("KEYS", "*"), [b"h"])
        self.assertEqual(self.right.ok("HKEYS", "h"), [b"stays"])

    def test_a_writable_replica_removes_what_it_was_given(self):
        self.right.ok("CONFIG", "SET", "replica-read-only", "no")
        self.left.ok("SET", "theirs", 1)
        await_caught_up(self.primary, self.replica)
        soon = now_ms() + 150
        before = self.right.info("used_memory")
        self.right.ok("SET", "mine", "x" * 1_000_000, "PXAT", soon)
        self.right.ok("HSETEX", "my hash", "PXAT", soon, "FIELDS", 1, "f", "x" * 1_000_000)
        self.pass_time(soon)
        self.assertEqual(self.right.ok("KEYS", "*"), [b"theirs"])
        await_that(lambda: self.right.info("used_memory") < before + 500_000,
                   lambda: f"the memory comes back: {self.right.infos('memory')}")
        self.assertEqual(self.left.ok("DBSIZE"), 1)


class WaitTest(PairCase):
    def setUp(self):
        super().setUp()
        self.wire = self.enterContext(Proxy(self.primary.port))
        self.far = self.start(Mayfly, "--appendonly", "yes")
        follow(self.far, self.wire.port)
        await_up(self.far)

    def test_wait(self):
        self.left.ok("SET", "a", 1)
        self.assertEqual(self.left.ok("WAIT", 2, 20_000), 2)
        self.assertEqual(self.left.ok("WAIT", 0, 20_000), 2)
        for server in (self.replica, self.far):
            self.assertEqual(server.client().ask("GET", "a"), b"1")
        self.wire.stall()
        self.left.ok("SET", "a", 2)
        self.assertEqual(self.left.ok("WAIT", 1, 20_000), 1)
        begin = now_ms()
        self.assertEqual(self.left.ok("WAIT", 2, 300), 1)
        self.assertGreaterEqual(now_ms() - begin, 299)
        self.wire.go_on()
        self.assertEqual(self.left.ok("WAIT", 2, 20_000), 2)
        self.assertRegex(self.right.ask("WAIT", 1, 1), "^ERR WAIT cannot be used with replica")

    def test_waitaof(self):
        self.left.ok("SET", "a", 1)
        self.assertRegex(self.left.ask("WAITAOF", 1, 0, 1), "^ERR WAITAOF cannot be used")
        self.assertEqual(self.left.ok("WAITAOF", 0, 1, 20_000), [0, 1])
        self.left.ok("CONFIG", "SET", "appendonly", "yes")
        self.left.ok("SET", "a", 2)
        self.assertEqual(self.left.ok("WAITAOF", 1, 1, 20_000), [1, 1])
        self.assertEqual(self.left.ok("WAITAOF", 1, 2, 200), [1, 1], "one replica has no log")

    def test_min_replicas_to_write(self):
        self.left.ok("CONFIG", "SET", "min-replicas-to-write", 2, "min-replicas-max-lag", 2)
        await_that(lambda: self.left.ask("SET", "a", 1) == "OK", "both are good")
        self.wire.cut()
        await_that(lambda: self.refuses_for_replicas(2), "one is gone")
        self.assertIn(self.left.ask("GET", "a"), (b"1", b"2"))
        self.wire.mend()
        await_that(lambda: self.left.ask("SET", "a", 3) == "OK", "both are good again")
        self.wire.stall()
        await_that(lambda: self.refuses_for_replicas(4), "it lags")
        self.wire.go_on()

    def refuses_for_replicas(self, value):
        return str(self.left.ask("SET", "a", value)).startswith("NOREPLICAS ")


class WaitingWriter(Background):
    """Writes numbers to whoever is the primary, and remembers those that a replica had, too."""

    def __init__(self, *servers):
        super().__init__()
        self.servers = servers
        self.at = 0
        self.client = servers[0].client()
        self.count = 0
        self.safe = []

    def work(self):
        self.count += 1
        try:
            written = self.client.ask("HSETEX", f"key:{self.count}", "PXAT", FAR + self.count,
                                      "FIELDS", 1, "f", self.count)
            if written != 1:
                return self.turn(written)
            waited = self.client.ask("WAIT", 1, 1_000)
            if isinstance(waited, int) and waited >= 1:
                self.safe.append(self.count)
        except Closed as error:
            self.turn(Failure(str(error)))

    def turn(self, why):
        if not isinstance(why, Failure):
            raise AssertionError(f"a write was answered {why!r}")
        self.at = 1 - self.at
        self.client = self.servers[self.at].client()


class FailoverTest(PairCase):
    def hand_over(self, old, new):
        self.assertEqual(ask(old, "FAILOVER", "TO", "127.0.0.1", new.port, "TIMEOUT", 20_000), "OK")
        await_that(lambda: ask(new, "ROLE")[0] == b"master", new.log)
        await_up(old)
        self.assertEqual(info_of(old)["master_failover_state"], "no-failover")

    def test_failover_under_load_loses_no_write_that_was_waited_for(self):
        with WaitingWriter(self.primary, self.replica) as writer:
            for turn in range(3):
                goal = len(writer.safe) + 100
                await_that(lambda: writer.error or len(writer.safe) > goal, "writes are safe")
                servers = [self.primary, self.replica]
                self.hand_over(servers[turn % 2], servers[1 - turn % 2])
        new, old = self.replica, self.primary
        await_same(new, old)
        print(f"{len(writer.safe)} of {writer.count} writes were waited for")
        replies = new.client().pipeline(("HPEXPIRETIME", f"key:{number}", "FIELDS", 1, "f")
                                        for number in writer.safe)
        lost = [number for number, reply in zip(writer.safe, replies) if reply != [FAR + number]]
        self.assertEqual(lost, [])
        self.assertEqual(self.syncs(new)[0], 0, "it is one history: nothing was transferred anew")

    def test_failover_to_nobody_in_particular_and_abort(self):
        self.assertEqual(self.left.ask("FAILOVER"), "OK")
        await_that(lambda: self.right.ok("ROLE")[0] == b"master", self.replica.log)
        await_up(self.primary)
        self.assertRegex(self.left.ask("FAILOVER"), "^ERR ")
        self.assertRegex(self.right.ask("FAILOVER", "ABORT"), "^ERR No failover in progress")
        self.right.ok("SET", "a", 1)
        await_same(self.replica, self.primary)

    def test_both_started_again_with_their_first_roles(self):
        """The new primary must follow the old one, which lacks a write: it keeps its data."""
        old, new = self.primary, self.replica
        for server in (old, new):
            ask(server, "CONFIG", "SET", "appendonly", "yes")
        self.hand_over(old, new)
        old.stop()
        with new.client() as client:
            client.ok("SET", "after", 1)
            await_that(lambda: client.ask("WAITAOF", 1, 0, 1_000)[0] == 1, new.log)
        new.kill()

        old.restart("--appendonly", "yes")
        self.assertIn("was a replica when it stopped", old.log())
        first, new.options = new.options, (*new.options, "--appendonly", "yes")
        new.restart("--replicaof", "127.0.0.1", str(old.port))
        await_up(new)
        self.assertIsNone(ask(new, "GET", "after"))
        self.assertIn("was a primary when it stopped", new.log())
        self.assertIn("are kept in", new.log())

        new.stop()
        shutil.rmtree(new.path("appendonlydir"))
        os.rename(new.path("appendonlydir.replaced-1"), new.path("appendonlydir"))
        new.options = (*first, "--appendonly", "yes")
        new.restart()
        self.assertEqual(ask(new, "GET", "after"), b"1")

    def test_a_replica_that_hides_stale_data_can_take_over(self):
        """Without a link it answers MASTERDOWN to all, the greeting of its old primary included."""
        for client in (self.left, self.right):
            client.ok("CONFIG", "SET", "replica-serve-stale-data", "no")
        self.hand_over(self.primary, self.replica)
        self.right.ok("SET", "a", 1)
        await_same(self.replica, self.primary)

    def test_a_replica_that_lags_cannot_take_over_in_time(self):
        wire = self.enterContext(Proxy(self.primary.port))
        far = self.start()
        follow(far, wire.port)
        await_up(far)
        self.left.ok("SET", "a", 0)
        self.assertEqual(self.left.ok("WAIT", 2, 20_000), 2)
        wire.stall()
        self.left.ok("SET", "a", 1)
        self.assertEqual(self.left.ask("FAILOVER", "TO", "127.0.0.1", far.port, "TIMEOUT", 200),
                         "OK")
        await_that(lambda: self.left.infos("replication")["master_failover_state"]
                   == "no-failover", self.primary.log)
        self.assertEqual(self.left.ok("ROLE")[0], b"master")
        self.assertEqual(self.left.ask("SET", "a", 2), "OK")
        wire.go_on()
        await_same(self.primary, self.replica, far)


class ShutdownTest(PairCase):
    def setUp(self):
        super().setUp()
        self.wire = self.enterContext(Proxy(self.primary.port))
        self.far = self.start()
        follow(self.far, self.wire.port)
        await_up(self.far)
        self.left.ok("SET", "a", 0)
        self.assertEqual(self.left.ok("WAIT", 2, 20_000), 2)
        self.wire.stall()
        self.left.ok("SET", "a", 1)
        self.asker = self.primary.client()
        self.asker.send("SHUTDOWN")

    def test_a_replica_that_lags_is_waited_for(self):
        await_that(lambda: "waiting" in self.primary.log().lower(), self.primary.log)
        self.primary.check_health()
        self.assertEqual(self.left.ask("GET", "a"), b"1", "reads go on")
        self.wire.go_on()
        self.primary.wait_for_end()
        self.assertEqual(ask(self.far, "GET", "a"), b"1")

    def test_it_can_be_called_off(self):
        await_that(lambda: self.left.ask("SHUTDOWN", "ABORT") == "OK", self.primary.log)
        self.assertRegex(self.asker.receive(), "^ERR ")
        self.assertEqual(self.left.ask("SET", "a", 2), "OK")
        self.wire.go_on()
        await_same(self.primary, self.replica, self.far)

    def test_now_means_now(self):
        self.left.send("SHUTDOWN", "NOW")
        self.primary.wait_for_end()


if __name__ == "__main__":
    unittest.main()
