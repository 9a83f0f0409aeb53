#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three of our servers, random writes with deadlines of keys and members, and links that are cut at
random: whenever it is quiet, all have the same data, deadlines included.

    MAYFLY=build/release/mayfly python3 tests/replication/cluster_test.py [--seed N] [--long]
"""

import random
import time
import unittest

from replicas import (ReplicationCase, ask, await_caught_up, await_same, await_up, follow,
                      held_by, info_of, is_up)
from contents import now_ms
from mayfly_server import Mayfly
from proxy import Proxy
from random_options import take_options
from resp_client import Client, await_that
from workload import Writer, modelled

ROUNDS, ROUNDS_LONG = 4, 40
ROUND_S = 0.5
FAR = 4_102_444_800_123

seed = None
rounds = ROUNDS


class TortureTest(ReplicationCase):
    """A primary, a replica, and another one that follows either of them."""

    def run_rounds(self, number, chained, *options):
        self.chance = random.Random(f"{seed} {number}")
        backlog = self.chance.choice(["100kb", "1mb", "4mb"])
        options = ("--repl-timeout", "5", "--repl-backlog-size", backlog, *options)
        self.primary = self.start(Mayfly, *options)
        self.first, self.second = self.start(Mayfly, *options), self.start(Mayfly, *options)
        self.wires = [self.enterContext(Proxy(self.primary.port)),
                      self.enterContext(Proxy((self.first if chained else self.primary).port))]
        ask(self.primary, "DEBUG", "POPULATE", 2_000)
        for server, wire in zip((self.first, self.second), self.wires):
            server.options += ("--replicaof", f"127.0.0.1 {wire.port}")
            follow(server, wire.port)
            await_up(server)
        writer, commands = Writer(self.chance, "w"), 0
        for one in range(rounds):
            try:
                commands += self.round(writer)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, round {one}, {options}: {error}") from error
        full, partial = self.syncs(self.primary)
        print(f"seed {seed}: {rounds} rounds, {commands} commands, a backlog of {backlog}, {full} "
              f"full and {partial} partial synchronisations by the primary")

    def round(self, writer):
        """Returns how many commands were sent."""
        end = time.monotonic() + ROUND_S
        with Client(self.primary.port) as client:
            while time.monotonic() < end:
                writer.send(client, 20)
                if self.chance.random() < 0.15:
                    self.disturb()
                writer.receive(client)
        self.mend()
        await_same(self.primary, self.first, self.second)
        begin = now_ms()
        seen = {place: entry for place, entry in held_by(self.primary).items()
                if place[1].startswith(b"w:")}
        done = now_ms()
        if writer.match(seen, writer.acked, begin, done) is None:
            self.fail(writer.explain(seen, writer.acked, begin, done))
        count = len(writer.units)
        writer.begin({place: modelled(entry) for place, entry in seen.items()})
        return count

    def disturb(self):
        wire = self.chance.choice(self.wires)
        kind = self.chance.randrange(9)
        if kind == 0:
            ask(self.primary, "CLIENT", "KILL", "TYPE", "replica")
        elif kind == 1:
            ask(self.first, "CLIENT", "KILL", "TYPE", "master")
        elif kind == 2:
            ask(self.first, "CLIENT", "KILL", "TYPE", "replica")
        elif kind in (3, 4):
            wire.cut()
        elif kind == 5:
            wire.stall()
        elif kind == 6 and self.chance.random() < 0.3:
            with Client(self.second.port) as client:
                client.ask("BGSAVE")  # unless another child is at work
            self.second.kill()
            self.second.restart()
        else:
            wire.mend()
            wire.go_on()

    def mend(self):
        for wire in self.wires:
            wire.mend()
            wire.go_on()

    def test_two_replicas(self):
        self.run_rounds(1, False, "--repl-diskless-sync", "yes")

    def test_two_replicas_by_disk(self):
        self.run_rounds(2, False, "--repl-diskless-sync", "no", "--hash-max-listpack-entries", "4",
                        "--set-max-listpack-entries", "4", "--set-max-intset-entries", "4",
                        "--zset-max-listpack-entries", "4")

    def test_a_chain_with_logs(self):
        self.run_rounds(3, True, "--appendonly", "yes", "--auto-aof-rewrite-min-size", "64kb")


class RestartTest(ReplicationCase):
    """A server that was ended goes on where it was, if it has saved its place."""

    def pair(self, *options):
        self.primary = self.start(Mayfly, *options)
        client = self.primary.client()
        client.pipeline(("SET", f"key:{number}", number) for number in range(1_000))
        self.replica = self.start(Mayfly, "--replicaof", f"127.0.0.1 {self.primary.port}", *options)
        await_up(self.replica)
        client.ok("HSETEX", "h", "PXAT", FAR, "FIELDS", 2, "a", 1, "b", 2)
        client.ok("SELECT", 3)
        client.ok("SET", "until", 1, "PXAT", FAR)
        await_same(self.primary, self.replica)

    def write(self, word):
        client = self.primary.client()
        client.ok("SELECT", 3)
        client.ok("SET", word, 1)
        client.ok("HSETEX", f"hash {word}", "PXAT", FAR + 1, "FIELDS", 1, "a", 1)

    def test_a_replica_that_is_killed(self):
        self.pair()
        ask(self.replica, "SAVE")
        self.write("after the save")
        await_caught_up(self.primary, self.replica)
        before = self.syncs(self.primary)
        self.replica.kill()
        self.write("while it was away")
        self.replica.restart()
        await_same(self.primary, self.replica)
        self.assertEqual(self.syncs(self.primary), (before[0], before[1] + 1), self.replica.log())

    def test_a_replica_that_is_shut_down(self):
        self.pair("--save", "3600 1")
        before = self.syncs(self.primary)
        self.replica.stop()
        self.write("while it was away")
        self.replica.restart()
        await_same(self.primary, self.replica)
        self.assertEqual(self.syncs(self.primary), (before[0], before[1] + 1), self.replica.log())

    def shut_down_primary(self, *options):
        """Replicas continue with it: there is no second transfer."""
        self.pair(*options)
        self.write("before the end")
        self.primary.stop()
        await_that(lambda: not is_up(self.replica), self.replica.log)
        self.primary.restart()
        self.write("after it")
        await_same(self.primary, self.replica)
        self.assertEqual(self.syncs(self.primary), (0, 1), self.primary.log())

    def test_a_primary_that_is_shut_down(self):
        self.shut_down_primary("--save", "3600 1")

    def test_a_primary_that_is_shut_down_with_a_log(self):
        self.shut_down_primary("--appendonly", "yes")

    def test_a_primary_that_is_killed_with_a_log(self):
        self.pair("--appendonly", "yes")
        self.write("before the end")
        self.primary.kill()
        self.primary.restart()
        self.write("after it")
        await_same(self.primary, self.replica)

    def is_rewritten(self):
        """Whether the log has what the full synchronisation brought."""
        info = info_of(self.replica, "persistence")
        return not (info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])

    def test_a_replica_with_a_log_has_what_it_got(self):
        self.pair("--appendonly", "yes")
        self.write("more")
        await_same(self.primary, self.replica)
        await_that(self.is_rewritten, self.replica.log)
        expected = held_by(self.primary)
        self.replica.kill()
        self.primary.stop()
        self.replica.restart()
        self.assertEqual(held_by(self.replica), expected)
        client = self.replica.client()
        client.ok("REPLICAOF", "NO", "ONE")
        self.assertEqual(client.ask("SET", "mine", 1), "OK")

    def test_a_replica_refuses_writes_and_says_what_it_is(self):
        self.pair()
        client = self.replica.client()
        for words in (("SET", "a", 1), ("HSETEX", "h", "EX", 1, "FIELDS", 1, "f", "v"),
                      ("DEL", "h"), ("FLUSHALL",)):
            self.assertRegex(client.ask(*words), "^READONLY ")
        role = client.ok("ROLE")
        self.assertEqual(role[:4], [b"slave", b"127.0.0.1", self.primary.port, b"connected"])
        self.primary.kill()
        await_that(lambda: not is_up(self.replica), self.replica.log)
        self.assertEqual(client.ask("HGET", "h", "a"), b"1", "it serves what it has")
        client.ok("CONFIG", "SET", "replica-serve-stale-data", "no")
        self.assertRegex(client.ask("HGET", "h", "a"), "^MASTERDOWN ")


class MemoryTest(ReplicationCase):
    VALUE_BYTES = 1_000
    KEYS = 100_000
    BACKLOG_MB, LIMIT_MB, SLACK_MB = 2, 8, 6

    def test_a_full_synchronisation_under_load_needs_little(self):
        primary = self.start(Mayfly, "--rdbcompression", "no",
                             "--repl-backlog-size", f"{self.BACKLOG_MB}mb",
                             "--client-output-buffer-limit", f"replica {self.LIMIT_MB}mb 0 0")
        replica = self.start(Mayfly)
        client = primary.client()
        client.ok("DEBUG", "POPULATE", self.KEYS, "key", self.VALUE_BYTES)
        before = peak = client.info("used_memory")
        wire = self.enterContext(Proxy(primary.port, slow=True))
        follow(replica, wire.port)
        chance, written = random.Random(1), 0
        value = b"x" * self.VALUE_BYTES
        end = time.monotonic() + 2
        while time.monotonic() < end:
            client.pipeline(("SET", f"key:{chance.randrange(self.KEYS)}", value)
                            for _ in range(500))
            written += 500 * self.VALUE_BYTES
            peak = max(peak, client.info("used_memory"))
        wire.slow = False
        await_up(replica)
        peak = max(peak, client.info("used_memory"))
        bound = (self.BACKLOG_MB + self.LIMIT_MB + self.SLACK_MB) << 20
        print(f"{before >> 20} MB of data, {written >> 20} MB written meanwhile: "
              f"{(peak - before) / (1 << 20):.1f} MB more at most")
        self.assertLess(peak - before, bound)
        await_same(primary, replica)


if __name__ == "__main__":
    seed, is_long = take_options()
    rounds = ROUNDS_LONG if is_long else ROUNDS
    unittest.main()
