#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replication with Debian's redis-server: it follows us, we follow it, and both in a chain."""

import random
import unittest

from replicas import (Background, ReplicationCase, ask, await_caught_up, await_up, follow, info_of,
                      is_up)
from contents import now_ms
from mayfly_server import Mayfly, Redis
from proxy import Proxy
from resp_client import Failure, await_that
from workload import PLAIN, Writer

FAR = 4_102_444_800_123
DISK = ("--repl-diskless-sync", "no")
DISKLESS = ("--repl-diskless-sync", "yes")


def fill(server, count=2_000):
    client = server.client()
    requests = [("SELECT", 2), ("HSET", "h2", "f", "v"), ("SELECT", 0),
                ("SET", b"\x00\xff\r\n", bytes(range(256))), ("SET", "long", "abc" * 10_000),
                ("HSET", "large", *(f"x{number}" for number in range(2_000))),
                ("SADD", "ints", *range(-50, 400)), ("SADD", "set", "a", "b", ""),
                ("SADD", "large set", *(f"m{number}" for number in range(2_000))),
                ("ZADD", "zset", 1, "b", 1, "a", "-inf", "c", 0.1, ""),
                ("ZADD", "large zset", *(word for number in range(2_000)
                                         for word in (number / 7, f"m{number}"))),
                ("RPUSH", "list", "a", 7, "", "x" * 9_000), ("RPUSH", "large list", *range(5_000)),
                *(("XADD", "stream", f"{number}-1", "f", number) for number in range(1, 301)),
                ("XDEL", "stream", "5-1", "300-1"), ("XGROUP", "CREATE", "stream", "group", 0),
                ("XGROUP", "CREATECONSUMER", "stream", "group", "idle"),
                ("XREADGROUP", "GROUP", "group", "ann", "COUNT", 20, "STREAMS", "stream", ">"),
                ("XACK", "stream", "group", "1-1"), ("PFADD", "hll", *range(1_000))]
    requests += [("SET", f"key:{number}", number, "PXAT", FAR + number) for number in range(count)]
    for reply in client.pipeline(requests):
        if isinstance(reply, Failure):
            raise AssertionError(reply)


class Writing(Background):
    """Random writes of another thread, until the block ends."""

    def __init__(self, server):
        super().__init__()
        self.seed = random.randrange(1_000_000)
        print(f"seed {self.seed}")
        self.client = server.client()
        self.writer = Writer(random.Random(self.seed), "w", PLAIN)

    def work(self):
        self.writer.send(self.client, 20)
        self.writer.receive(self.client)


class PeersTest(ReplicationCase):
    def follow_under_load(self, primary, replica):
        """Everything before, during and after the synchronisation arrives."""
        fill(primary)
        with Writing(primary):
            follow(replica, primary.port)
            await_up(replica)
            offset = info_of(replica)["slave_repl_offset"]
            await_that(lambda: info_of(replica)["slave_repl_offset"] > offset + 10_000,
                       "some of the stream comes through")
        self.assert_same_contents(primary, replica)

    def lose_the_link(self, primary, replica):
        """The link is cut from both sides, and what was missed comes without a new transfer."""
        for victim, kind in ((primary, "replica"), (replica, "master")):
            full, partial = self.syncs(primary)
            ask(victim, "CLIENT", "KILL", "TYPE", kind)
            ask(primary, "SET", "after", kind)
            await_that(lambda: self.syncs(primary)[1] > partial, primary.log)
            self.assert_same_contents(primary, replica)
            self.assertEqual(self.syncs(primary), (full, partial + 1))

    def test_redis_follows_us(self):
        for how in (DISK, DISKLESS):
            with self.subTest(how):
                primary, replica = self.start(Mayfly, *how), self.start(Redis)
                self.follow_under_load(primary, replica)
                self.lose_the_link(primary, replica)
                info = info_of(primary)
                self.assertEqual(info["connected_slaves"], 1)
                self.assertRegex(info["slave0"], f"^ip=127.0.0.1,port={replica.port},state=online,")
                role = ask(primary, "ROLE")
                self.assertEqual(role[2][0][:2], [b"127.0.0.1", str(replica.port).encode()])

    def test_redis_loads_straight_from_the_wire(self):
        primary = self.start(Mayfly, *DISKLESS)
        replica = self.start(Redis, "--repl-diskless-load", "swapdb")
        self.follow_under_load(primary, replica)

    def test_we_follow_redis(self):
        for how in (DISK, DISKLESS):
            with self.subTest(how):
                primary, replica = self.start(Redis, *how), self.start(Mayfly)
                self.follow_under_load(primary, replica)
                self.lose_the_link(primary, replica)
                self.assertRegex(replica.client().ask("SET", "a", 1), "^READONLY ")
                self.assertEqual(ask(replica, "ROLE")[0], b"slave")

    def test_a_chain_of_three(self):
        first, ours, last = self.start(Redis), self.start(Mayfly), self.start(Redis)
        fill(first)
        follow(ours, first.port)
        await_up(ours)
        follow(last, ours.port)
        await_up(last)
        with Writing(first):
            begin = now_ms()
            await_that(lambda: now_ms() > begin + 300, "something is written")
        self.assert_same_contents(first, ours)
        self.assert_same_contents(first, last)
        ask(ours, "CLIENT", "KILL", "TYPE", "replica")
        ask(first, "SET", "after", 1)
        self.assert_same_contents(first, last)
        self.assertEqual(self.syncs(ours)[1], 1, "what was missed came without a new transfer")

    def test_expiry_is_told_by_the_primary(self):
        for kinds in ((Mayfly, Redis), (Redis, Mayfly)):
            with self.subTest(kinds):
                primary = self.start(kinds[0])
                replica = self.start(kinds[1], primary=primary)
                client = replica.client()
                ask(primary, "SET", "a", 1, "PX", 300)
                ask(primary, "SET", "far", 1, "EX", 1000)
                await_that(lambda: client.ok("EXISTS", "far"), "it arrives")
                deadline = ask(primary, "PEXPIRETIME", "far")
                self.assertEqual(client.ok("PEXPIRETIME", "far"), deadline)
                await_that(lambda: client.ok("DBSIZE") == 1, "the other one expires")
                self.assertIsNone(client.ask("GET", "a"))

    def test_redis_is_told_which_key_it_would_not_understand(self):
        primary, replica = self.start(Mayfly), self.start(Redis)
        ask(primary, "SADDEX", "online", "EX", 1000, "MEMBERS", 1, "ann")
        follow(replica, primary.port)
        about = "the set 'online' in database 0 has members with deadlines"
        await_that(lambda: about in primary.log(), primary.log)
        await_that(lambda: about in replica.log(), replica.log)
        self.assertFalse(is_up(replica))
        ask(primary, "SPERSIST", "online", "MEMBERS", 1, "ann")
        await_up(replica)
        self.assert_same_contents(primary, replica)
        ask(primary, "ZADDEX", "scores", "EX", 1000, "MEMBERS", 1, 7, "bob")
        await_that(lambda: "does not know ZADDEX of the key 'scores'" in primary.log(), primary.log)
        ask(primary, "DEL", "scores")
        await_up(replica)
        self.assert_same_contents(primary, replica)

    def test_passwords(self):
        for kinds in ((Mayfly, Redis), (Redis, Mayfly)):
            with self.subTest(kinds):
                primary, replica = self.start(kinds[0]), self.start(kinds[1])
                ask(primary, "SET", "a", 1)
                ask(primary, "CONFIG", "SET", "requirepass", "secret")
                follow(replica, primary.port, ("CONFIG", "SET", "masterauth", "wrong"))
                await_that(lambda: "auth" in replica.log().lower()
                           or "wrongpass" in replica.log().lower(), replica.log)
                self.assertFalse(is_up(replica))
                ask(replica, "CONFIG", "SET", "masterauth", "secret")
                await_up(replica)
                self.assertEqual(ask(replica, "GET", "a"), b"1")
                self.assertNotIn("secret", replica.log())

    def test_promotion_keeps_the_history(self):
        """One of ours is promoted; the other one, Redis, goes on with it without a new transfer."""
        old = self.start(Redis)
        fill(old)
        ours, other = self.start(Mayfly, primary=old), self.start(Redis, primary=old)
        ask(old, "SET", "last", 1)
        await_caught_up(old, ours)
        await_caught_up(old, other)
        ask(ours, "REPLICAOF", "NO", "ONE")
        ask(ours, "SET", "first", 1)
        follow(other, ours.port)
        await_up(other)
        self.assert_same_contents(ours, other)
        self.assertEqual(self.syncs(ours), (0, 1))

    def test_a_large_value_in_pieces(self):
        with Proxy(0) as proxy:
            primary, replica = self.start(Mayfly), self.start(Redis)
            proxy.target = primary.port
            follow(replica, proxy.port)
            await_up(replica)
            ask(primary, "SET", "large", "x" * (8 << 20))
            proxy.cut()
            ask(primary, "SET", "small", 1)
            proxy.mend()
            self.assert_same_contents(primary, replica)


if __name__ == "__main__":
    unittest.main()
