#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends the server by SIGKILL at random moments of random writes, again and again in one folder:
what was promised is there, nothing expired is back, and no deadline has moved by a millisecond.

    MAYFLY=build/release/mayfly python3 tests/persist/kill_test.py [--seed N] [--long]
"""

import os
import random
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from contents import contents, now_ms  # noqa: E402
from mayfly_server import Mayfly  # noqa: E402
from random_options import take_options  # noqa: E402
from resp_client import Closed  # noqa: E402
from workload import DATABASES, Writer, modelled  # noqa: E402

KILLS, KILLS_LONG = 5, 50  # for each test
BALLAST = 20_000  # so that a snapshot takes a while
BALLAST_DATABASE = 9
LAST_DATABASE = 8

seed = None
kills = KILLS


class Round:
    """Random writes until the server is killed, which happens after `seconds`."""

    def __init__(self, server, writers, chance, noise):
        self.server = server
        self.writers = writers
        self.chance = chance
        self.noise = noise  # commands that are thrown in
        self.promised = None  # of the only writer: all until here was saved
        self.started = None  # the number of the BGSAVE that is under way

    def run(self, seconds):
        clients = [self.server.client() for _ in self.writers]
        pid = self.server.process.pid
        killer = threading.Timer(seconds, self.kill)
        killer.start()
        try:
            while True:
                for client, writer in zip(clients, self.writers):
                    writer.send(client, self.chance.choice([1, 1, 5, 20]), *self.extra(writer))
                for client, writer in zip(clients, self.writers):
                    self.receive(client, writer)
        except Closed:
            pass
        finally:
            killer.cancel()
            killer.join()
        if self.server.process.pid != pid or self.server.process.wait() != -9:
            raise AssertionError(f"it ended before it was killed:\n{self.server.log()}")

    def kill(self):
        self.server.process.kill()

    def extra(self, writer):
        if not self.noise or self.chance.random() > 0.05:
            return []
        return [writer.note(*self.chance.choice(self.noise))]

    def receive(self, client, writer):
        first = writer.acked
        writer.receive(client)
        for number in range(first, writer.acked):
            self.look(number, writer.units[number])

    def look(self, number, unit):
        """Learns from the replies what has been saved."""
        if unit.requests[0][0] == "BGSAVE" and unit.reply == "Background saving started":
            self.started = number
        if unit.requests[0][0] == "INFO" and self.started is not None:
            if b"rdb_bgsave_in_progress:0" in unit.reply:
                if b"rdb_last_bgsave_status:ok" not in unit.reply:
                    raise AssertionError(f"a save failed:\n{self.server.log()}")
                self.promised, self.started = self.started, None


class KillTest(unittest.TestCase):
    def run_kills(self, number, writers, noise, has_log, *options):
        chance = random.Random(f"{seed} {number}")
        writers = [Writer(chance, f"w{one}") for one in range(writers)]
        commands = kept = 0
        with Mayfly(*options) as server:
            self.fill(server)
            for kill in range(kills):
                now = Round(server, writers, chance, noise)
                now.run(chance.uniform(0.05, 0.9))
                server.kill()
                server.restart()
                lows = [writer.acked if has_log else now.promised or 0 for writer in writers]
                try:
                    self.verify(server, writers, lows)
                except AssertionError as error:
                    told = f"seed {seed}, kill {kill}, {options}: {error}"
                    raise AssertionError(told) from error
                commands += sum(len(writer.units) for writer in writers)
                kept += sum(lows)
                self.begin_again(server, writers)
        print(f"seed {seed}: {options}: {kills} kills, {commands} commands sent, {kept} promised")

    def fill(self, server):
        client = server.client()
        client.ok("SELECT", BALLAST_DATABASE)
        client.pipeline((("SET", f"ballast:{number}", f"value {number}", "PXAT",
                          now_ms() + 10**9 + number) for number in range(BALLAST)), 2_000)
        client.ask("SAVE")

    def read(self, server):
        client = server.client()
        begin = now_ms()
        seen = contents(client, LAST_DATABASE)
        return seen, begin, now_ms()

    def verify(self, server, writers, lows):
        seen, begin, end = self.read(server)
        for writer, low in zip(writers, lows):
            mine = {place: entry for place, entry in seen.items()
                    if place[1].startswith(writer.name.encode() + b":")}
            if writer.match(mine, low, begin, end) is None:
                self.fail(writer.explain(mine, low, begin, end) + "\n" + server.log())
        client = server.client()
        client.ok("SELECT", BALLAST_DATABASE)
        self.assertEqual(client.ok("DBSIZE"), BALLAST)
        self.check_counts(client)

    def check_counts(self, client):
        for database in DATABASES:
            size, keys = client.pipeline([("SELECT", database), ("MULTI",), ("DBSIZE",),
                                          ("KEYS", "*"), ("EXEC",)])[-1]
            self.assertEqual(size, len(keys), f"database {database}")

    def begin_again(self, server, writers):
        """What is there now is what the next round builds upon."""
        seen, _, _ = self.read(server)
        for writer in writers:
            writer.begin({place: modelled(entry) for place, entry in seen.items()
                          if place[1].startswith(writer.name.encode() + b":")})

    def test_log_synced_at_every_write(self):
        self.run_kills(1, 2, [("BGREWRITEAOF",)], True, "--appendonly", "yes",
                       "--appendfsync", "always")

    def test_log_synced_every_second(self):
        self.run_kills(2, 2, [("BGREWRITEAOF",), ("BGSAVE",)], True, "--appendonly", "yes",
                       "--appendfsync", "everysec")

    def test_log_synced_by_the_system(self):
        self.run_kills(3, 3, [("BGREWRITEAOF",)], True, "--appendonly", "yes", "--appendfsync",
                       "no", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-min-size", "64kb",
                       "--auto-aof-rewrite-percentage", "20")

    def test_snapshots_only(self):
        self.run_kills(4, 1, [("BGSAVE",), ("INFO", "persistence")], False, "--save", "1 50")


if __name__ == "__main__":
    seed, is_long = take_options()
    kills = KILLS_LONG if is_long else KILLS
    unittest.main()
