#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MIGRATE between servers, Debian's redis-server among them: all that is moved arrives, and what is
not moved stays, however the other server fails."""

import os
import signal
import socket
import unittest

from replicas import ReplicationCase, await_up, follow
from contents import contents
from mayfly_server import Mayfly, Redis
from resp_client import Failure, await_that

FAR = 4_102_444_800_123
REQUESTS = [("SET", b"\x00\xff\r\n", bytes(range(256))), ("SET", "long", "abc" * 100_000),
            ("SET", "number", 12345), ("PEXPIREAT", "number", FAR),
            ("HSET", "hash", "a", "1", "b", "2"),
            ("HSET", "large hash", *(f"x{number}" for number in range(2_000))),
            ("SADD", "ints", *range(-50, 400)), ("SADD", "set", "a", "b", ""),
            ("ZADD", "zset", 1, "b", 1, "a", "-inf", "c", 0.1, ""),
            ("RPUSH", "list", "a", "", 12345), ("RPUSH", "large list", *range(2_000)),
            ("PFADD", "hll", *range(1_000)), ("GEOADD", "places", 13.36, 38.11, "Palermo"),
            *(("XADD", "stream", f"{number}-1", "f", number) for number in range(1, 300)),
            ("XGROUP", "CREATE", "stream", "g", 0),
            ("XREADGROUP", "GROUP", "g", "ann", "COUNT", 10, "STREAMS", "stream", ">"),
            ("ZADD", "large zset", *(word for number in range(2_000)
                                     for word in (number / 7, f"m{number}")))]


def fill(client):
    for reply in client.pipeline(REQUESTS):
        assert not isinstance(reply, Failure), reply


def migrate(client, server, *options, database=0, timeout=10_000):
    return client.ask("MIGRATE", "127.0.0.1", server.port, "", database, timeout, *options)


def without_deadline_jitter(found):
    """A TTL travels as milliseconds that are left: the deadline moves by the time on the way."""
    return {key: entry._replace(deadline=entry.deadline // 60_000) for key, entry in found.items()}


class MigrateTest(ReplicationCase):
    def move_all(self, source, target):
        """All keys, to another database, and nothing is left."""
        here, there = source.client(), target.client()
        before = contents(here, has_member_deadlines=False)
        keys = here.ok("KEYS", "*")
        self.assertEqual(migrate(here, target, "KEYS", *keys, database=3), "OK")
        self.assertEqual(here.ok("DBSIZE"), 0)
        after = contents(there, has_member_deadlines=False)
        self.assertEqual(without_deadline_jitter({(0, key): entry
                                                  for (_, key), entry in after.items()}),
                         without_deadline_jitter(before))
        there.ok("SELECT", 3)
        return there

    def test_from_us_to_redis_and_back(self):
        with Mayfly() as here, Redis() as redis, Mayfly() as last:
            fill(here.client())
            there = self.move_all(here, redis)
            there.ok("SWAPDB", 0, 3)
            self.move_all(redis, last)

    def test_deadlines_of_fields(self):
        """They arrive at a server that has them. Another refuses the key, which stays."""
        with Mayfly() as here, Mayfly() as there, Redis() as redis:
            client = here.client()
            client.ok("HSET", "h", "f", "v", "g", "w")
            client.ok("HPEXPIREAT", "h", FAR, "FIELDS", 1, "f")
            client.ok("SADDEX", "s", "PXAT", FAR, "MEMBERS", 1, "m")
            for key in ("h", "s"):
                reply = migrate(client, redis, "KEYS", key)
                self.assertTrue(reply.startswith("ERR Target instance replied with error"), reply)
            self.assertEqual(client.ok("EXISTS", "h", "s"), 2)
            self.assertEqual(migrate(client, there, "KEYS", "h", "s"), "OK")
            moved = there.client()
            self.assertEqual(moved.ok("HPEXPIRETIME", "h", "FIELDS", 2, "f", "g"), [FAR, -1])
            self.assertEqual(moved.ok("SPEXPIRETIME", "s", "MEMBERS", 1, "m"), [FAR])

    def test_replicas_and_log_lose_what_was_moved(self):
        with Mayfly("--appendonly", "yes") as here, Mayfly() as replica, Mayfly() as there:
            follow(replica, here.port)
            await_up(replica)
            client = here.client()
            fill(client)
            self.assertEqual(migrate(client, there, "KEYS", "hash", "none", "long"), "OK")
            self.assertEqual(migrate(client, there, "COPY", "KEYS", "set"), "OK")
            self.assert_same_contents(here, replica)
            here.stop()
            here.restart()
            self.assertEqual(here.client().ok("EXISTS", "hash", "long", "set"), 1)

    def test_a_server_that_does_not_answer(self):
        with Mayfly() as here, Mayfly() as there:
            client = here.client()
            client.ok("SET", "small", "v")
            client.ok("SET", "large", "x" * 50_000_000)
            client.ok("CONFIG", "SET", "rdbcompression", "no")
            os.kill(there.process.pid, signal.SIGSTOP)
            try:
                self.assertEqual(migrate(client, there, "KEYS", "small", timeout=100),
                                 "IOERR error or timeout reading to target instance")
                self.assertEqual(migrate(client, there, "KEYS", "large", timeout=100),
                                 "IOERR error or timeout writing to target instance")
            finally:
                os.kill(there.process.pid, signal.SIGCONT)
            self.assertEqual(client.ok("EXISTS", "small", "large"), 2)
            await_that(lambda: there.client().ok("EXISTS", "small") == 1, "it goes on")
            self.assertEqual(migrate(client, there, "REPLACE", "KEYS", "small", "large"), "OK")
            self.assertEqual(there.client().ok("STRLEN", "large"), 50_000_000)

    def test_a_server_that_is_gone(self):
        with Mayfly() as here, Mayfly() as there:
            client = here.client()
            client.ok("MSET", "a", "1", "b", "2", "c", "3")
            self.assertEqual(migrate(client, there, "KEYS", "a"), "OK")
            there.stop()  # it closes the connection that was kept
            there.restart()
            self.assertEqual(migrate(client, there, "KEYS", "b"), "OK")
            there.stop()
            self.assertEqual(migrate(client, there, "KEYS", "c"),
                             "IOERR error or timeout writing to target instance")
            self.assertEqual(client.ok("EXISTS", "c"), 1)
            there.restart()

    def test_something_that_is_no_server(self):
        with Mayfly() as here, socket.create_server(("127.0.0.1", 0)) as listener:
            client = here.client()
            client.ok("SET", "k", "v")
            port = listener.getsockname()[1]
            client.send("MIGRATE", "127.0.0.1", port, "k", 0, 10_000)
            with listener.accept()[0] as other:
                other.sendall(b"+OK\r\n")
            self.assertEqual(client.receive(), "IOERR error or timeout reading to target instance")
            self.assertEqual(client.ok("EXISTS", "k"), 1)


if __name__ == "__main__":
    unittest.main()
