#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random commands of every kind, sense and nonsense: what a primary tells its replica and its log
makes the same data of it, deadlines included. Redis understands it, too, and we understand Redis.

    MAYFLY=build/release/mayfly python3 tests/replication/propagation_test.py [--seed N]
"""

import os
import random
import sys
import time
import unittest

from replicas import HERE, ReplicationCase, ask, await_same, held_by
from contents import difference, now_ms
from mayfly_server import Mayfly, Redis
from resp_client import await_that, request

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))

from differential_test import LISTS, TEMPLATES, words_for  # noqa: E402

ROUNDS, LENGTH, CLIENTS = 10, 150, 3
NEAR_MS = 150
# In the words of differential_test.py. H is a hash; M is a moment near or far.
FIELD_COMMANDS = """
HSETEX H PXAT M FIELDS 1 F V|HSETEX H PXAT M FIELDS 2 F V F V|HSETEX H FNX PXAT M FIELDS 1 F V
HSETEX H FXX KEEPTTL FIELDS 1 F V|HSETEX H PX 100 FIELDS 1 F V|HSETEX H NX EX 1000 FIELDS 1 F V
HPEXPIREAT H M FIELDS 1 F|HPEXPIREAT H M FIELDS 2 F F|HPEXPIREAT H M P FIELDS 1 F
HEXPIRE H 1000 FIELDS 1 F|HEXPIRE H 0 FIELDS 1 F|HPEXPIRE H 100 P FIELDS 2 F F
HPERSIST H FIELDS 1 F|HPERSIST H FIELDS 2 F F|HGETEX H PXAT M FIELDS 2 F F
HGETEX H PERSIST FIELDS 1 F|HGETEX H EX 1000 FIELDS 1 F|HGETDEL H FIELDS 1 F
HGETDEL H FIELDS 2 F F|HINCRBY H F 3|HINCRBYFLOAT H F 1.5|HSET H F 1|HSET H F 1 F 2|HDEL H F F
SET K V PXAT M|PEXPIREAT K M|PEXPIREAT K M P|GETEX K PXAT M|SET K V PX 100|EXPIRE K 1000|PERSIST K
COPY H H REPLACE|RENAME H H|MOVE H D|COPY H H DB D REPLACE|DEL H|PEXPIREAT H M|PERSIST H
HSETNX H F V|HGETALL H
"""
FIELD_TEMPLATES = [line.split() for line in FIELD_COMMANDS.replace("\n", "|").split("|")
                   if line.strip()]

seed = None


class PropagationTest(ReplicationCase):
    def round(self, chance, primary, templates):
        """Sends random commands of several clients, and waits until near deadlines have passed."""
        near = now_ms() + NEAR_MS
        LISTS["M"] = [str(near - chance.randrange(NEAR_MS)) for _ in range(3)]
        LISTS["M"] += ["33177117420123", "33177117420124", "33177117420125", "1"]
        LISTS["H"] = ["h", "i", "j", "l", "m"]
        clients = [primary.client() for _ in range(CLIENTS)]
        lines = [[words_for(chance, chance.choice(templates)) for _ in range(LENGTH)] +
                 [["DISCARD"], ["UNWATCH"]] for _ in clients]
        for first in range(0, LENGTH + 2, 10):
            for client, mine in zip(clients, lines):
                client.write(b"".join(request(*words) for words in mine[first:first + 10]))
        for client, mine in zip(clients, lines):
            for _ in mine:
                client.receive()
            client.close()
        primary.clients.clear()
        await_that(lambda: now_ms() > near + 10, "time passes")

    def test_a_replica_and_a_log_of_ours(self):
        primary = self.start(Mayfly, "--appendonly", "yes", "--hash-max-listpack-entries", "3")
        replica = self.start(Mayfly, primary=primary)
        for number in range(ROUNDS):
            chance = random.Random(f"{seed} {number}")
            ask(primary, "DEBUG", "SET-ACTIVE-EXPIRE", chance.randrange(2))
            self.round(chance, primary, FIELD_TEMPLATES * 2 + TEMPLATES)
            ask(primary, "DEBUG", "SET-ACTIVE-EXPIRE", 1)
            with self.subTest(seed=seed, round=number):
                await_same(primary, replica)
                expected = held_by(primary)
                for words in (("DEBUG", "LOADAOF"), ("DEBUG", "RELOAD")):
                    ask(primary, *words)
                    self.assertEqual(difference(expected, held_by(primary)), "", words)
                await_same(primary, replica)

    def test_redis_understands_us_and_we_understand_redis(self):
        for kinds in ((Mayfly, Redis), (Redis, Mayfly)):
            primary = self.start(kinds[0])
            replica = self.start(kinds[1], primary=primary)
            for number in range(ROUNDS // 2):
                self.round(random.Random(f"{seed} {kinds} {number}"), primary, TEMPLATES)
                with self.subTest(kinds, seed=seed, round=number):
                    self.assert_same_contents(primary, replica)


if __name__ == "__main__":
    words = sys.argv[1:]
    seed = time.time_ns() % 1_000_000
    if "--seed" in words:
        seed = int(words[words.index("--seed") + 1])
        del words[words.index("--seed"):words.index("--seed") + 2]
    print(f"seed {seed}")
    unittest.main(argv=[sys.argv[0], *words])
