#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends a server with an expiry log by SIGKILL, again and again, while keys and members expire and a
consumer group reads the log: each expiry is read and acknowledged exactly once. A replica has the
same stream.

    MAYFLY=build/release/mayfly python3 tests/persist/expiry_log_test.py [--seed N] [--long]
"""

import os
import random
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import Mayfly  # noqa: E402
from random_options import take_options  # noqa: E402
from resp_client import Closed, Failure, await_that  # noqa: E402

KILLS, KILLS_LONG = 4, 50
LOG = "__expired__"
OPTIONS = ("--appendonly", "yes", "--appendfsync", "always", "--expiry-log", "yes", "--save", "")

seed = None
kills = KILLS


def fields_of(entry):
    words = entry[1]
    return dict(zip(words[::2], words[1::2]))


def name_of(entry):
    fields = fields_of(entry)
    return (fields[b"key"], fields.get(b"member"))


class Worker:
    """A consumer that acknowledges what it has read. What it does for an entry it remembers by the
    entry's id, as one must who may be killed between the work and the acknowledgement."""

    def __init__(self):
        self.done = {}  # id -> name

    def read(self, client, last):
        """Returns whether there was something to read."""
        reply = client.ask("XREADGROUP", "GROUP", "workers", "one", "COUNT", "50", "STREAMS", LOG,
                           last)
        if isinstance(reply, Failure):
            raise AssertionError(reply)
        entries = reply[0][1] if reply else []
        for entry in entries:
            name = name_of(entry)
            if self.done.setdefault(entry[0], name) != name:
                raise AssertionError(f"another entry with the id {entry[0]}: {name}")
        if entries:
            client.ok("XACK", LOG, "workers", *[entry[0] for entry in entries])
        return bool(entries)

    def catch_up(self, client):
        """First what was read before the kill, and not acknowledged."""
        for last in ("0", ">"):
            while self.read(client, last):
                pass


class ExpiryLogTest(unittest.TestCase):
    def write_some(self, client, chance, written, count):
        """Writes, in one pipeline; what was acknowledged is in `written`."""
        requests, names = [], []
        for number in range(count):
            stem = f"{len(written) + number}:{chance.randrange(10**9)}"
            ttl = chance.choice([1, 5, 20, 60])
            if chance.random() < 0.5:
                requests.append(("SET", "k" + stem, "v", "PX", ttl))
                names.append((("k" + stem).encode(), None))
            else:
                requests.append(("HSETEX", "h", "PX", ttl, "FIELDS", 1, "f" + stem, "v"))
                names.append((b"h", ("f" + stem).encode()))
        self.sent.update(names)
        for reply in client.pipeline(requests):
            self.assertNotIsInstance(reply, Failure)
        written.update(names)

    def run_until_killed(self, server, worker, chance, written):
        killer = threading.Timer(chance.uniform(0.05, 0.6), server.process.kill)
        writer, reader = server.client(), server.client()
        killer.start()
        try:
            while True:
                self.write_some(writer, chance, written, chance.choice([1, 5, 30]))
                worker.read(reader, ">")
        except Closed:
            pass
        finally:
            killer.cancel()
            killer.join()

    def test_nothing_is_lost_and_nothing_comes_twice(self):
        chance = random.Random(seed)
        worker, written, self.sent = Worker(), set(), set()
        with Mayfly(*OPTIONS) as server:
            server.client().ok("XGROUP", "CREATE", LOG, "workers", "0", "MKSTREAM")
            for _ in range(kills):
                self.run_until_killed(server, worker, chance, written)
                server.kill()
                server.restart()
                worker.catch_up(server.client())
            client = server.client()
            await_that(lambda: client.ask("KEYS", "*") == [LOG.encode()], "all has expired")
            worker.catch_up(client)
            self.check(client, worker, written)
        print(f"seed {seed}: {kills} kills, {len(written)} entries expired")

    def check(self, client, worker, written):
        names = list(worker.done.values())
        self.assertEqual(len(names), len(set(names)), "nothing twice")
        self.assertEqual(written - set(names), set(), "nothing lost")
        self.assertEqual(set(names) - self.sent, set(), "nothing invented")
        stream = client.ok("XRANGE", LOG, "-", "+")
        self.assertEqual({entry[0]: name_of(entry) for entry in stream}, worker.done)
        self.assertEqual(client.ok("XPENDING", LOG, "workers")[0], 0)

    def test_a_replica_has_the_same_stream(self):
        chance = random.Random(seed)
        written, self.sent = set(), set()
        limits = ("--expiry-log-max-entries", "100")
        with Mayfly(*OPTIONS, *limits) as primary, Mayfly(
                "--expiry-log", "yes", "--save", "", "--replicaof",
                f"127.0.0.1 {primary.port}") as replica:
            one, two = primary.client(), replica.client()
            await_that(lambda: b"master_link_status:up" in two.ask("INFO", "replication"), "link")
            for _ in range(20):
                self.write_some(one, chance, written, 20)
            await_that(lambda: one.ask("KEYS", "*") == [LOG.encode()], "all has expired")
            last = one.ok("XREVRANGE", LOG, "+", "-", "COUNT", 1)
            await_that(lambda: two.ask("XREVRANGE", LOG, "+", "-", "COUNT", 1) == last, "replica")
            self.assertEqual(one.ok("XRANGE", LOG, "-", "+"), two.ok("XRANGE", LOG, "-", "+"))
            self.assertEqual(one.ok("XLEN", LOG), 100)


if __name__ == "__main__":
    seed, is_long = take_options()
    kills = KILLS_LONG if is_long else KILLS
    unittest.main()
