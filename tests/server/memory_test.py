#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""maxmemory and its policies, on the real allocator: used_memory stays below, and the right go."""

import time
import unittest

from mayfly_server import Mayfly
from resp_client import Failure, pause, request

VALUE = "x" * 1000
KEYS = 10_000
ROOM_BYTES = 6 << 20
SLACK_BYTES = 1 << 20
OOM = "OOM command not allowed when used memory > 'maxmemory'."


class MemoryTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Mayfly())
        self.client = self.server.client()

    def pipelined(self, requests):
        replies = []
        for first in range(0, len(requests), 500):
            part = requests[first:first + 500]
            self.client.write(b"".join(request(*words) for words in part))
            replies += [self.client.receive() for _ in part]
        return replies

    def limit(self, policy, room=ROOM_BYTES):
        used = self.client.info("used_memory")
        self.client.ok("CONFIG", "SET", "maxmemory", used + room, "maxmemory-policy", policy)
        return used + room

    def numbers_left(self, prefix):
        return sorted(int(key.split(b":")[1]) for key in self.client.ok("KEYS", prefix + ":*"))

    def test_allkeys_policies_stay_below_the_limit(self):
        for policy in ("allkeys-lru", "allkeys-lfu", "allkeys-random"):
            with self.subTest(policy):
                self.client.ok("FLUSHALL")
                self.client.ok("CONFIG", "RESETSTAT")
                limit = self.limit(policy)
                replies = self.pipelined([("SET", f"k:{n}", VALUE) for n in range(KEYS)])
                self.assertEqual(set(replies), {"OK"})
                self.assertLess(self.client.info("used_memory"), limit + SLACK_BYTES)
                # Each command may evict; EXEC evicts once, before the first command.
                *_, (left, stats) = self.pipelined([("MULTI",), ("DBSIZE",), ("INFO", "stats"),
                                                    ("EXEC",)])
                self.assertGreater(left, 1_000)
                self.assertIn(f"evicted_keys:{KEYS - left}\r\n".encode(), stats)
                self.client.ok("CONFIG", "SET", "maxmemory", 0)

    def test_what_was_used_of_late_stays(self):
        self.client.ok("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        self.pipelined([("SET", f"k:{n}", VALUE) for n in range(2_000)])
        pause(1.1)  # idle times are in seconds
        self.pipelined([("GET", f"k:{n}") for n in range(0, 2_000, 20)])
        self.limit("allkeys-lru", room=-(1 << 20))
        self.pipelined([("SET", "trigger", "v")])
        left = self.numbers_left("k")
        self.assertLess(len(left), 1_500)
        kept = len([n for n in left if n % 20 == 0])
        self.assertGreaterEqual(kept, 90, "of 100 that were used again")

    def test_volatile_policies_leave_other_keys_alone(self):
        for policy in ("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"):
            with self.subTest(policy):
                self.client.ok("FLUSHALL")
                self.pipelined([("SET", f"stays:{n}", VALUE) for n in range(1_000)])
                limit = self.limit(policy)
                self.pipelined([("SET", f"k:{n}", VALUE, "EX", 10_000) for n in range(KEYS)])
                self.assertLess(self.client.info("used_memory"), limit + SLACK_BYTES)
                self.assertEqual(len(self.numbers_left("stays")), 1_000)
                self.assertGreater(len(self.numbers_left("k")), 500)
                self.client.ok("CONFIG", "SET", "maxmemory", 0)

    def test_volatile_ttl_is_exact(self):
        """The nearest deadline goes first, so those left are the farthest, without a gap."""
        order = [n * 7_919 % 3_000 for n in range(3_000)]
        self.pipelined([("SET", f"k:{n}", VALUE, "EX", 10_000 + n) for n in order])
        self.limit("volatile-ttl", room=-(1 << 20))
        self.pipelined([("SET", "trigger", "v")])
        left = self.numbers_left("k")
        self.assertTrue(500 < len(left) < 2_500, len(left))
        self.assertEqual(left, list(range(3_000 - len(left), 3_000)))

    def test_without_volatile_keys_writes_are_refused(self):
        self.limit("volatile-lru", room=1 << 20)
        replies = self.pipelined([("SET", f"k:{n}", VALUE) for n in range(3_000)])
        refused = [reply for reply in replies if isinstance(reply, Failure)]
        self.assertGreater(len(refused), 500)
        self.assertEqual(set(refused), {OOM})
        self.assertEqual(self.client.ask("HSETEX", "h", "EX", 1, "FIELDS", 1, "f", VALUE), OOM)
        self.assertEqual(self.client.ask("DEL", "k:0"), 1)

    def test_what_is_due_goes_before_anything_alive(self):
        self.client.ok("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        self.pipelined([("SET", f"alive:{n}", VALUE) for n in range(1_000)])
        soon = int(time.time() * 1000) + 3000
        self.pipelined([("SET", f"due:{n}", VALUE, "PXAT", soon) for n in range(1_500)])
        self.pipelined([("HSETEX", f"hash:{n}", "PXAT", soon, "FIELDS", 1, "f", VALUE)
                        for n in range(1_500)])
        while time.time() * 1000 <= soon:
            pause(0.02)
        self.limit("allkeys-random", room=0)
        self.pipelined([("SET", f"new:{n}", VALUE) for n in range(2_000)])
        self.assertEqual(self.client.info("evicted_keys"), 0)
        self.assertEqual(len(self.numbers_left("alive")), 1_000)
        self.assertEqual(len(self.numbers_left("new")), 2_000)

    def test_memory_comes_back(self):
        before = self.client.info("used_memory")
        pairs = [word for n in range(1_000) for word in (f"f{n}", VALUE)]
        self.pipelined([("SET", f"k:{n}", VALUE) for n in range(KEYS)])
        self.pipelined([("HSETEX", f"h:{n}", "EX", 100, "FIELDS", 1_000, *pairs)
                        for n in range(10)])
        self.assertGreater(self.client.info("used_memory"), before + 15_000_000)
        self.client.ok("FLUSHALL")
        for _ in range(200):
            if self.client.info("used_memory") < before + SLACK_BYTES:
                break
            pause(0.02)
        self.assertLess(self.client.info("used_memory"), before + SLACK_BYTES)


if __name__ == "__main__":
    unittest.main()
