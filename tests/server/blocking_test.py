#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that wait for elements of lists, over real connections: on Mayfly and on Debian's
redis-server, and ten thousand of them on Mayfly.

    MAYFLY=build/release/mayfly python3 tests/server/blocking_test.py
"""

import resource
import unittest

from mayfly_server import Mayfly, Redis
from resp_client import Client, Failure, NullArray, await_that, request

CLIENTS = 10_000
AT_ONCE = 100  # clients that arrive together, in any order
FILES = 500  # that each process needs besides its clients


def wait(client, *words):
    """Sends a request that will wait. When the reply to the PING before it is here, it does."""
    client.write(request("PING") + request(*words))
    reply = client.receive()
    if reply != "PONG":
        raise AssertionError(f"{words}: {reply}")


class BlockingCase(unittest.TestCase):
    def start(self, kind, *options):
        self.server = self.enterContext(kind(*options))
        self.writer = self.server.client()
        self.a, self.b, self.c = (self.server.client() for _ in range(3))

    def on_both(self, check):
        for kind in (Mayfly, Redis):
            with self.subTest(kind.name):
                self.start(kind)
                check()
                self.assertEqual(self.blocked(), 0)

    def blocked(self):
        return self.writer.infos("clients")["blocked_clients"]

    def transact(self, *requests):
        return self.writer.pipeline([("MULTI",), *requests, ("EXEC",)])[-1]


class ServingTest(BlockingCase):
    def test_clients_are_served_in_the_order_of_arrival(self):
        def check():
            wait(self.b, "BLPOP", "l", 0)
            wait(self.a, "BRPOP", "other", "l", 0)
            wait(self.c, "BLMPOP", 0, 1, "l", "LEFT", "COUNT", 9)
            self.assertEqual(self.blocked(), 3)
            self.assertEqual(self.writer.ok("RPUSH", "l", 1, 2, 3, 4), 4)
            self.assertEqual(self.b.receive(), [b"l", b"1"])
            self.assertEqual(self.a.receive(), [b"l", b"4"])
            self.assertEqual(self.c.receive(), [b"l", [b"2", b"3"]])
            self.assertEqual(self.writer.ok("EXISTS", "l"), 0)
        self.on_both(check)

    def test_moves_serve_in_chains_and_cycles(self):
        def check():
            wait(self.c, "BLPOP", "three", 0)
            wait(self.a, "BLMOVE", "one", "two", "RIGHT", "LEFT", 0)
            wait(self.b, "BRPOPLPUSH", "two", "three", 0)
            self.writer.ok("RPUSH", "one", "x")
            self.assertEqual(self.c.receive(), [b"three", b"x"])
            self.assertEqual([self.a.receive(), self.b.receive()], [b"x", b"x"])
            self.assertEqual(self.writer.ok("EXISTS", "one", "two", "three"), 0)
            wait(self.a, "BRPOPLPUSH", "one", "two", 0)
            wait(self.b, "BRPOPLPUSH", "two", "one", 0)
            wait(self.c, "BRPOPLPUSH", "three", "three", 0)
            self.transact(("RPUSH", "one", "x"), ("RPUSH", "three", "z"))
            replies = [client.receive() for client in (self.a, self.b, self.c)]
            self.assertEqual(replies, [b"x", b"x", b"z"])
            self.assertEqual(self.writer.ok("LRANGE", "one", 0, -1), [b"x"])
            self.assertEqual(self.writer.ok("LRANGE", "three", 0, -1), [b"z"])
        self.on_both(check)

    def test_only_a_list_that_is_still_there_serves(self):
        def check():
            self.writer.ok("SET", "text", "v")
            wait(self.a, "BRPOPLPUSH", "l", "text", 0)
            wait(self.b, "BLPOP", "l", 0)
            self.transact(("RPUSH", "l", "x"), ("DEL", "l"), ("SET", "l", "v"))
            self.writer.ok("DEL", "l")
            self.writer.ok("ZADD", "l", 1, "x")
            self.writer.ok("FLUSHALL")
            self.writer.ok("SET", "text", "v")
            self.assertEqual(self.blocked(), 2)
            self.transact(("LPUSH", "l", 1), ("LPUSH", "l", 2), ("LLEN", "l"))
            self.assertTrue(str(self.a.receive()).startswith("WRONGTYPE"))
            self.assertEqual(self.b.receive(), [b"l", b"2"])
            self.assertEqual(self.writer.ok("LRANGE", "l", 0, -1), [b"1"])
        self.on_both(check)

    def test_every_command_that_makes_a_list_serves(self):
        def check():
            writer = self.writer
            writer.ok("RPUSH", "from", "x")
            dump = writer.ok("DUMP", "from")
            writer.pipeline([("SELECT", 1), ("RPUSH", "l", "x"), ("SELECT", 0)])
            for words in (("COPY", "from", "l"), ("SORT", "from", "ALPHA", "STORE", "l"),
                          ("RENAME", "from", "l"), ("RESTORE", "l", 0, dump), ("SWAPDB", 0, 1)):
                wait(self.a, "BLPOP", "l", 0)
                writer.ok(*words)
                self.assertEqual(self.a.receive(), [b"l", b"x"], words)
            wait(self.a, "BLPOP", "l", 0)
            writer.pipeline([("SELECT", 2), ("RPUSH", "l", "x"), ("MOVE", "l", 0)])
            self.assertEqual(self.a.receive(), [b"l", b"x"])
        self.on_both(check)

    def test_waits_end_by_time_by_command_and_by_leaving(self):
        def check():
            for words in (("BLPOP", "l", 0.01), ("BLMPOP", 0.01, 1, "l", "LEFT"),
                          ("BLMOVE", "l", "m", "LEFT", "LEFT", 0.01),
                          ("BRPOPLPUSH", "l", "m", 0.01)):
                wait(self.a, *words)
                self.assertIsInstance(self.a.receive(), NullArray, words)
            ids = [client.ok("CLIENT", "ID") for client in (self.a, self.b)]
            gone = Client(self.server.port)
            wait(gone, "BLPOP", "l", 0)
            wait(self.a, "BLPOP", "l", 0)
            wait(self.b, "BLMOVE", "l", "m", "LEFT", "LEFT", 0)
            wait(self.c, "BLPOP", "l", 0)
            self.writer.ok("CLIENT", "UNBLOCK", ids[0])
            self.assertIsInstance(self.a.receive(), NullArray)
            self.writer.ok("CLIENT", "UNBLOCK", ids[1], "ERROR")
            self.assertIsInstance(self.b.receive(), Failure)
            gone.close()
            await_that(lambda: self.blocked() == 1, "the client that left waits no more")
            self.writer.ok("RPUSH", "l", "x")
            self.assertEqual(self.c.receive(), [b"l", b"x"])
        self.on_both(check)


class ManyClientsTest(BlockingCase):
    def setUp(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.count = CLIENTS if most == resource.RLIM_INFINITY else min(CLIENTS, most - FILES)
        self.start(Mayfly, "--maxclients", str(self.count + 100))
        self.clients = [self.enterContext(Client(self.server.port)) for _ in range(self.count)]

    def groups(self):
        """The clients, with the number of the first, in groups that arrive together."""
        for first in range(0, self.count, AT_ONCE):
            yield first, self.clients[first:first + AT_ONCE]

    def wait_all(self, *keys):
        for _, group in self.groups():
            for client in group:
                client.write(request("PING") + request("BLPOP", *keys, 0))
            for client in group:
                self.assertEqual(client.receive(), "PONG")
        self.assertEqual(self.blocked(), self.count)

    def check_replies(self):
        for first, group in self.groups():
            expected = [[b"l", b"%d" % number] for number in range(first, first + len(group))]
            self.assertCountEqual([client.receive() for client in group], expected)
        self.assertEqual(self.blocked(), 0)
        self.assertEqual(self.writer.ok("EXISTS", "l"), 0)

    def test_all_of_them_are_served_in_order(self):
        print(f"{self.count} clients")
        self.wait_all("l")
        replies = self.writer.pipeline(("RPUSH", "l", number) for number in range(self.count))
        self.assertEqual(replies, [1] * self.count)
        self.check_replies()
        self.wait_all("other", "l", "another")
        self.assertEqual(self.writer.ok("RPUSH", "l", *range(self.count)), self.count)
        self.check_replies()


if __name__ == "__main__":
    unittest.main()
