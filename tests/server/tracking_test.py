#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Client-side caching over real connections: on Mayfly and on Debian's redis-server what both
promise, and on Mayfly alone that what expires is told on time. tests/conformance/tracking.txt has
the modes.

    MAYFLY=build/release/mayfly python3 tests/server/tracking_test.py
"""

import socket
import time
import unittest

from mayfly_server import Mayfly, Redis
from resp_client import Client, Push, await_that, request

CHANNEL = b"__redis__:invalidate"
TTL_MS = 3000


class TrackingCase(unittest.TestCase):
    def start(self, kind, *options):
        self.server = self.enterContext(kind(*options))
        self.writer = self.server.client()

    def on_both(self, check):
        for kind in (Mayfly, Redis):
            with self.subTest(kind.name):
                self.start(kind)
                check()

    def tracker(self, *options):
        client = self.server.client(resp3=True)
        client.ok("CLIENT", "TRACKING", "ON", *options)
        return client

    def target(self):
        """A connection that gets messages of others by RESP2, and its id."""
        client = self.server.client()
        number = client.ok("CLIENT", "ID")
        client.ok("SUBSCRIBE", CHANNEL)
        return client, number

    def assert_told(self, client, keys):
        message = client.receive()
        self.assertIsInstance(message, Push)
        self.assertEqual(message, [b"invalidate", keys])

    def assert_nothing(self, client):
        self.assertEqual(client.ok("PING"), "PONG")


class RedirectTest(TrackingCase):
    def test_a_subscriber_by_resp2_gets_the_messages(self):
        def check():
            target, number = self.target()
            client = self.server.client()
            client.ok("CLIENT", "TRACKING", "ON", "REDIRECT", number)
            self.assertEqual(client.ok("CLIENT", "GETREDIR"), number)
            self.assertIn(b" redir=%d " % number, client.ok("CLIENT", "INFO"))
            client.ok("GET", "key")
            self.writer.ok("SET", "key", 1)
            self.assertEqual(target.receive(), [b"message", CHANNEL, [b"key"]])
            self.writer.ok("FLUSHALL")
            self.assertEqual(target.receive(), [b"message", CHANNEL, None])
            self.assert_nothing(client)
            client.ok("CLIENT", "TRACKING", "OFF")
            client.ok("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "a", "REDIRECT", number)
            self.writer.ok("MSET", "a2", 1, "b", 1, "a1", 1)
            self.assertEqual(target.receive(), [b"message", CHANNEL, [b"a1", b"a2"]])
        self.on_both(check)

    def test_a_client_by_resp3_gets_pushes_and_one_without_subscription_nothing(self):
        def check():
            for resp3 in (True, False):
                target = self.server.client(resp3=resp3)
                client = self.server.client()
                client.ok("CLIENT", "TRACKING", "ON", "REDIRECT", target.ok("CLIENT", "ID"))
                client.ok("GET", "key")
                self.writer.ok("SET", "key", 1)
                if resp3:
                    self.assert_told(target, [b"key"])
                self.assert_nothing(target)
        self.on_both(check)

    def test_a_target_that_is_gone_is_reported(self):
        def check():
            target, number = self.target()
            client = self.tracker("REDIRECT", number)
            client.ok("MGET", "a", "b")
            target.close()
            def is_gone():
                return b"id=%d " % number not in self.writer.ok("CLIENT", "LIST")
            await_that(is_gone, "the server has noticed it")
            self.writer.ok("SET", "a", 1)
            self.assertEqual(client.receive(), [b"tracking-redir-broken", number])
            self.assertIn(b"broken_redirect", client.ok("CLIENT", "TRACKINGINFO").get(b"flags"))
            self.assertIn(" flags=tR ", client.ok("CLIENT", "INFO"))
            other, again = self.target()
            client.ok("CLIENT", "TRACKING", "ON", "REDIRECT", again)
            self.writer.ok("SET", "b", 1)
            self.assertEqual(other.receive(), [b"message", CHANNEL, [b"b"]])
            self.assertIn(" flags=t ", client.ok("CLIENT", "INFO"))
        self.on_both(check)


class ExpiryTest(TrackingCase):
    """Nobody reads anything between the deadline and the message."""

    MAKERS = {
        "key": [("SET", "{}", "v", "PX", TTL_MS)],
        "field": [("HSET", "{}", "stays", 1), ("HSETEX", "{}", "PX", TTL_MS, "FIELDS", 1, "f", 1)],
        "member": [("SADD", "{}", "stays"), ("SADDEX", "{}", "PX", TTL_MS, "MEMBERS", 1, "m")],
        "score": [("ZADD", "{}", 1, "stays"), ("ZADDEX", "{}", "PX", TTL_MS, "MEMBERS", 1, 2, "m")],
    }
    READERS = {"key": ("GET",), "field": ("HGETALL",), "member": ("SMEMBERS",),
               "score": ("ZRANGE", 0, -1)}

    def make(self):
        for name, requests in self.MAKERS.items():
            for words in requests:
                self.writer.ok(*(name if word == "{}" else word for word in words))

    def read(self, client):
        for name, (command, *rest) in self.READERS.items():
            client.ok(command, name, *rest)

    def told(self, client):
        """All names that it is told of, in any number of messages."""
        names = set()
        while len(names) < len(self.MAKERS):
            _, keys = client.receive()
            names.update(key.decode() for key in keys)
        return names

    def check_both_modes(self, server):
        self.make()
        looking = server.client()
        await_that(lambda: looking.ok("EXISTS", *self.MAKERS) == 4, "the server has the keys")
        reader, everything = server.client(resp3=True), server.client(resp3=True)
        reader.ok("CLIENT", "TRACKING", "ON")
        everything.ok("CLIENT", "TRACKING", "ON", "BCAST", "NOLOOP")
        self.read(reader)
        begin = time.monotonic()
        for client in (reader, everything):
            self.assertEqual(self.told(client), set(self.MAKERS))
        print(f"told {1000 * (time.monotonic() - begin):.0f} ms after the reads; a TTL is {TTL_MS}")

    def test_readers_and_broadcasts_are_told(self):
        self.start(Mayfly)
        self.check_both_modes(self.server)

    def test_so_are_those_of_a_replica(self):
        self.start(Mayfly)
        replica = self.enterContext(Mayfly("--replicaof", f"127.0.0.1 {self.server.port}"))
        await_that(lambda: replica.client().info("master_link_status") == "up", replica.log)
        self.check_both_modes(replica)


class LimitsTest(TrackingCase):
    def test_a_client_that_does_not_read_holds_up_nobody(self):
        self.start(Mayfly, "--client-output-buffer-limit", "normal 100kb 0 0")
        slow = Client(self.server.port)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.ok("HELLO", 3)
        slow.ok("CLIENT", "TRACKING", "ON", "BCAST")
        quick = self.tracker("BCAST", "PREFIX", "mark")
        value = "k" * 1000
        for i in range(100_000):
            self.writer.ok("SET", f"{value}{i}", 1)
            if i % 100 == 0 and self.writer.info("client_output_buffer_limit_disconnections") > 0:
                break
        else:
            self.fail("the client that does not read is still there")
        self.writer.ok("SET", "mark", 1)
        self.assert_told(quick, [b"mark"])
        self.assertEqual(self.writer.info("tracking_clients"), 1)
        slow.close()

    def test_the_table_stays_below_its_limit_and_no_change_is_missed(self):
        self.start(Mayfly, "--tracking-table-max-keys", "1000")
        client = self.tracker()
        keys = [b"key%d" % i for i in range(5000)]
        client.write(b"".join(request("GET", key) for key in keys))
        cached = set()
        replies = 0
        while replies < len(keys) or len(cached) > 1000:
            reply = client.receive()
            if isinstance(reply, Push):
                cached.remove(reply[1][0])
            else:
                cached.add(keys[replies])
                replies += 1
        self.assertEqual(len(cached), 1000)
        self.assertEqual(self.writer.info("tracking_total_keys"), 1000)
        self.assertEqual(self.writer.info("tracking_total_items"), 1000)
        self.writer.pipeline(("SET", key, 1) for key in keys)
        while cached:
            cached.remove(client.receive()[1][0])
        self.assert_nothing(client)
        self.assertEqual(self.writer.info("tracking_total_keys"), 0)


if __name__ == "__main__":
    unittest.main()
