#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever clients do, the server answers cleanly or closes, lives on, and gives memory back."""

import random
import resource
import socket
import unittest

from mayfly_server import Mayfly
from resp_client import Client, Closed, Failure, pause, request

MALFORMED = [
    b"*1\r\n$x\r\n", b"*x\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$-2\r\n", b"*1\r\n:1\r\n",
    b"*1\r\n*1\r\n$4\r\nPING\r\n", b"*2147483648\r\n", b"*99999999999999999999\r\n",
    b"*1\r\n$99999999999999999999\r\n", b"*1\r\n$536870913\r\n", b"*1\r\n$ 4\r\nPING\r\n",
    b"*1\r\n$+4\r\nPING\r\n", b"*1\r\n$4x\r\nPING\r\n", b"* 1\r\n$4\r\nPING\r\n",
    b'SET "a\r\n', b"SET 'a\r\n", b'SET "a"b\r\n', b"x" * 70_000, b"*" + b"1" * 70_000,
    b"*1\r\n$" + b"1" * 70_000, b"*1\r\n\x00\r\n",
]
HARMLESS = [b"\r\n", b"\n", b"*0\r\n", b"*-1\r\n", b"  \r\n", b"\x00\r\n", b"\xff\xfe\r\n",
            b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n", b"*1\r\n$0\r\n\r\n",
            b"*1\r\n$4\nPING\n"]
CONNECTIONS = 10_000
MEGABYTE = 1 << 20
SLACK_BYTES = 8 * MEGABYTE


def settled(client, field, wanted):
    """Whether a field of INFO comes to satisfy `wanted`, in ten seconds."""
    for _ in range(500):
        if wanted(client.info(field)):
            return True
        pause(0.02)
    return False


def last_reply(client):
    """What the server says before it closes the connection, or None."""
    said = None
    try:
        while True:
            said = client.receive()
    except Closed:
        return said


class OnOneServer(unittest.TestCase):
    options = []

    def setUp(self):
        self.server = self.enterContext(Mayfly(*self.options))
        self.client = self.server.client()
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))

    def assert_alive(self):
        self.server.check_health()
        self.assertEqual(self.server.client().ask("PING"), "PONG")


class MalformedTest(OnOneServer):
    def test_malformed_requests_get_an_error_and_the_door(self):
        for data in MALFORMED:
            with self.subTest(data[:40]), self.server.client() as client:
                client.write(data)
                client.socket.shutdown(socket.SHUT_WR)
                said = last_reply(client)
                self.assertIsInstance(said, Failure)
                self.assertRegex(said, "^ERR Protocol error: |^ERR unknown command|^ERR wrong")
        self.assert_alive()

    def test_strange_requests_do_no_harm(self):
        for data in HARMLESS:
            with self.subTest(data), self.server.client() as client:
                client.write(data)
                client.socket.shutdown(socket.SHUT_WR)
                last_reply(client)
        self.assert_alive()

    def test_commands_of_browsers_are_refused(self):
        """POST and Host: come from a browser that was tricked into talking to us."""
        for line in (b"POST / HTTP/1.1\r\n", b"Host: example\r\n"):
            with self.subTest(line), self.server.client() as client:
                client.write(line + b"SET hacked 1\r\n")
                client.socket.shutdown(socket.SHUT_WR)
                last_reply(client)
                self.assertEqual(self.client.ask("EXISTS", "hacked"), 0)

    def test_random_bytes_do_no_harm(self):
        chance = random.Random(4)
        pieces = [b"*", b"$", b"\r\n", b"1", b"3", b"-1", b"GET", b"SET", b"MULTI", b"HELLO", b"3",
                  b"\x00", b"\"", b"'", b" ", b"HSETEX", b"FIELDS", b"EX", b"0", b"99999999999"]
        for _ in range(300):
            with Client(self.server.port) as client:
                if chance.random() < 0.5:
                    data = chance.randbytes(chance.randrange(1, 2000))
                else:
                    data = b"".join(chance.choices(pieces, k=chance.randrange(1, 200)))
                try:
                    client.write(data)
                except Closed:
                    pass
        self.assert_alive()

    def test_random_words_do_no_harm(self):
        """Every command with random arguments, but for those that end or stop the server."""
        chance = random.Random(5)
        left_out = {"shutdown", "debug", "monitor", "quit", "reset", "client", "subscribe", "hello",
                    "psubscribe", "ssubscribe", "auth", "config", "select", "wait", "sync", "psync"}
        # A client that waits for a key sends no more.
        names = [row[0].decode() for row in self.client.ok("COMMAND")
                 if "blocking" not in [str(name) for name in row[2]]]
        names = sorted(set(names) - left_out)
        words = ["key", "h", "1", "0", "-1", "FIELDS", "2", "a", "b", "EX", "NX", "XX", "GT", "",
                 "9223372036854775807", "-9223372036854775808", "WITHVALUES", "MATCH", "*", "COUNT",
                 "\x00", "GET", "PERSIST", "1e308", "nan", "x" * 100]
        with self.server.client() as client:
            for _ in range(10_000):
                line = [chance.choice(names)] + chance.choices(words, k=chance.randrange(0, 7))
                count = [word for word in line if word.startswith("-922")]
                if line[0] == "hrandfield" and count or line[0] == "exec":
                    continue
                client.ask(*line)
        self.assert_alive()


class ConnectionsTest(OnOneServer):
    def test_half_written_requests_and_dropped_connections_leave_nothing(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        batch = min(1_000, soft // 2)
        before = self.client.info("used_memory")
        for first in range(0, CONNECTIONS, batch):
            sockets = []
            for number in range(first, first + batch):
                one = socket.create_connection(("127.0.0.1", self.server.port), 20)
                one.sendall([b"", b"*3\r\n$3\r\nSET\r\n$3\r\nke", b"*2\r\n$100000\r\nx",
                             b"PI", request("PING")][number % 5])
                sockets.append(one)
            for one in sockets:
                one.close()
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))
        self.assertGreaterEqual(self.client.info("total_connections_received"), CONNECTIONS)
        after = self.client.info("used_memory")
        print(f"{CONNECTIONS} connections (of {hard} allowed): {after - before} bytes more")
        self.assertLess(after - before, SLACK_BYTES)
        self.assertEqual(self.client.ask("DBSIZE"), 0)

    def test_a_request_in_single_bytes_is_understood(self):
        for byte in request("SET", "key", "value"):
            self.client.write(bytes([byte]))
        self.assertEqual(self.client.receive(), "OK")

    def test_clients_that_vanish_in_the_middle_of_replies_leave_nothing(self):
        self.client.ok("SET", "big", "x" * MEGABYTE)
        before = self.client.info("used_memory")
        for _ in range(30):
            with Client(self.server.port) as client:
                client.write(request("GET", "big") * 10)
                client.socket.recv(1000)
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))
        self.assertTrue(settled(self.client, "used_memory",
                                lambda now: now < before + SLACK_BYTES))

    def test_what_dropped_clients_had_begun_is_dropped(self):
        names = [f"channel:{number}" for number in range(500)]
        before = self.client.info("used_memory")
        for number in range(60):
            with Client(self.server.port) as client:
                if number % 3 == 0:
                    client.send("SUBSCRIBE", *names)
                    client.send("PSUBSCRIBE", *names)
                    client.send("SSUBSCRIBE", *names)
                elif number % 3 == 1:
                    client.ok("WATCH", *names)
                else:
                    client.ok("MULTI")
                    client.ok("SET", "key", "x" * MEGABYTE)
                    client.ok("HSET", "h", *names)
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))
        self.assertEqual(self.client.ask("PUBSUB", "NUMPAT"), 0)
        self.assertEqual(self.client.ask("PUBSUB", "CHANNELS"), [])
        self.assertEqual(self.client.ask("PUBSUB", "SHARDCHANNELS"), [])
        self.assertEqual(self.client.ask("DBSIZE"), 0)
        self.assertLess(self.client.info("used_memory"), before + SLACK_BYTES)

    def test_a_client_that_asks_and_never_reads_is_dropped(self):
        self.client.ok("SET", "big", "x" * MEGABYTE)
        self.client.ok("CONFIG", "SET", "client-output-buffer-limit", "normal 16mb 0 0")
        before = self.client.info("used_memory")
        greedy = self.server.client()
        try:
            for _ in range(100):
                greedy.send("GET", "big")
        except Closed:
            pass
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))
        self.assertTrue(settled(self.client, "used_memory",
                                lambda now: now < before + SLACK_BYTES))


class SlowReaderTest(OnOneServer):
    def test_a_subscriber_that_does_not_read_cannot_exhaust_memory(self):
        limit = self.client.ok("CONFIG", "GET", "client-output-buffer-limit")[1].decode()
        self.assertRegex(limit, r"pubsub 33554432 8388608 60")
        slow = self.server.client()
        slow.ok("SUBSCRIBE", "news")
        before, peak, reached = self.client.info("used_memory"), 0, 0
        message = request("PUBLISH", "news", "x" * MEGABYTE)
        for _ in range(100):
            self.client.write(message)
            reached += self.client.receive()
            peak = max(peak, self.client.info("used_memory"))
        self.assertLess(reached, 100, "it has never been dropped")
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))
        self.assertTrue(settled(self.client, "used_memory",
                                lambda now: now < before + SLACK_BYTES),
                        self.client.info("used_memory"))
        print(f"slow subscriber: dropped after {reached} MB, peak {(peak - before) >> 20} MB")
        self.assertLess(peak - before, 128 * MEGABYTE)


class LimitsTest(OnOneServer):
    options = ["--maxclients", "5"]

    def test_maxclients(self):
        others = [self.server.client() for _ in range(4)]
        for other in others:
            self.assertEqual(other.ask("PING"), "PONG")
        with Client(self.server.port) as refused:
            self.assertEqual(last_reply(refused), "ERR max number of clients reached")
        self.assertGreaterEqual(self.client.info("rejected_connections"), 1)
        others[0].close()
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 4))
        self.assertEqual(self.server.client().ask("PING"), "PONG")

    def test_idle_clients_are_closed_and_subscribers_are_not(self):
        idle, listening = self.server.client(), self.server.client()
        idle.ok("PING")
        listening.ok("SUBSCRIBE", "news")
        self.client.ok("CONFIG", "SET", "timeout", "1")
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 2))
        self.assertIsNone(last_reply(idle))
        self.client.ok("CONFIG", "SET", "timeout", "0")
        self.assertEqual(self.client.ask("PUBLISH", "news", "x"), 1)

    def test_the_query_buffer_is_limited(self):
        self.client.ok("CONFIG", "SET", "client-query-buffer-limit", str(MEGABYTE))
        greedy = self.server.client()
        try:
            greedy.write(b"*1000\r\n" + b"$10000\r\n%s\r\n" % (b"x" * 10_000) * 999)
            last_reply(greedy)
        except Closed:
            pass
        self.assertTrue(settled(self.client, "connected_clients", lambda count: count == 1))


class HugeTest(OnOneServer):
    def test_a_value_of_100_mb(self):
        value = random.Random(1).randbytes(MEGABYTE) * 100
        before = self.client.info("used_memory")
        self.assertEqual(self.client.ask("SET", "big", value), "OK")
        self.assertEqual(self.client.ask("STRLEN", "big"), len(value))
        self.assertTrue(self.client.ask("GET", "big") == value)
        self.assertEqual(self.client.ask("HSET", "h", "f", value), 1)
        self.assertEqual(self.client.ask("HSTRLEN", "h", "f"), len(value))
        self.assertEqual(self.client.ask("DEL", "big", "h"), 2)
        del value
        self.assertTrue(settled(self.client, "used_memory",
                                lambda now: now < before + SLACK_BYTES),
                        f"{before} -> {self.client.info('used_memory')}")

    def test_a_pipeline_of_100000_requests(self):
        count = 100_000
        self.client.socket.settimeout(60)
        data = b"".join(request("INCR", f"n{number % 10}") for number in range(count))
        # One thread: the server must take requests though nobody reads its replies for a while.
        self.client.write(data)
        replies = [self.client.receive() for _ in range(count)]
        self.assertEqual(replies[-1], count // 10)
        self.assertEqual(replies, [number // 10 + 1 for number in range(count)])

    def test_a_request_of_100000_words(self):
        pairs = [word for number in range(50_000) for word in (f"f{number}", number)]
        self.assertEqual(self.client.ask("HSET", "h", *pairs), 50_000)
        self.assertEqual(self.client.ask("HLEN", "h"), 50_000)
        self.assertEqual(len(self.client.ask("HGETALL", "h")), 100_000)


if __name__ == "__main__":
    unittest.main()
