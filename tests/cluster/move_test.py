#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slots move from one shard to another: nothing is lost, shown twice or shown too long."""

import threading
import unittest

from cluster import ClusterCase
from cluster_client import Connection, slot_of
from resp_client import await_that

LAST = 3999  # slots 0 to LAST move
OVER = (b"success", b"failed", b"cancelled")
SLOW = ("--rdb-key-save-delay", "500")  # microseconds a key, so that a snapshot takes a while


def moving_keys(count, prefix="key"):
    keys, number = [], 0
    while len(keys) < count:
        key, number = f"{prefix}:{number}", number + 1
        if slot_of(key) <= LAST:
            keys.append(key)
    return keys


def tag_that_moves():
    return next(tag for tag in (f"tag{i}" for i in range(1000)) if slot_of(tag) <= LAST)


class MoveTest(ClusterCase):
    def start_two(self, replicas=0, options=()):
        """The cluster, and the primaries of shards a (slots 0 to 8191) and b."""
        cluster = self.start(shards=2, replicas=replicas, options=options, how="init")
        records = cluster.records()
        return cluster, *(cluster.node_at(records[name].primary) for name in "ab")

    def id_of(self, node):
        return node.told("CLUSTER", "MYID").decode()

    def fill(self, node, keys, value):
        client = self.connect(node)
        for key in keys:
            client.send("SET", key, value)
        for key in keys:
            self.assertEqual("OK", client.receive(), key)
        return client

    def connect(self, node):
        client = Connection(node.address(), 30)
        self.addCleanup(client.close)
        return client

    def begin(self, source, target, first=0, last=LAST):
        self.assertEqual("OK", source.told("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last,
                                           "NODE", self.id_of(target)))

    def states(self, node):
        moves = node.told("CLUSTER", "GETSLOTMIGRATIONS") or []
        return [dict(zip(move[::2], move[1::2]))[b"state"] for move in moves]

    def await_move(self, node, expected=b"success"):
        await_that(lambda: all(state in OVER for state in self.states(node)),
                   lambda: f"the move is over: {self.states(node)}")
        self.assertIn(expected, self.states(node))

    def check_values(self, cluster, keys, value):
        client = cluster.client()
        for key in keys:
            self.assertEqual([value.encode()], client.ask(key, ("GET", key)).replies, key)
        client.close()

    def test_all_types_with_their_deadlines(self):
        cluster, source, target = self.start_two(replicas=1)
        keys = moving_keys(2000)
        self.fill(source, keys, "x" * 100)
        tag = "{" + tag_that_moves() + "}"
        client = self.connect(source)
        fields = [word for i in range(300) for word in (f"f{i}", f"v{i}")]
        for words in (("HSET", tag + "h", *fields), ("SADD", tag + "s", "a", "b"),
                      ("ZADD", tag + "z", 1, "m"), ("RPUSH", tag + "l", *range(200)),
                      ("XADD", tag + "x", "1-1", "f", "v"), ("XGROUP", "CREATE", tag + "x", "g", 0),
                      ("SET", tag + "p", "v", "PX", 100_000),
                      ("HPEXPIRE", tag + "h", 100_000, "FIELDS", 1, "f1")):
            client.ask(*words)
        asked = (("HGETALL", tag + "h"), ("SMEMBERS", tag + "s"), ("ZRANGE", tag + "z", 0, -1),
                 ("LRANGE", tag + "l", 0, -1), ("XRANGE", tag + "x", "-", "+"),
                 ("XINFO", "GROUPS", tag + "x"), ("PEXPIRETIME", tag + "p"),
                 ("HPEXPIRETIME", tag + "h", "FIELDS", 2, "f0", "f1"))
        before = [self.sorted(client.ask(*words)) for words in asked]

        self.begin(source, target)
        self.await_move(source)
        there = self.connect(target)
        self.assertEqual(before, [self.sorted(there.ask(*words)) for words in asked])
        self.check_values(cluster, keys, "x" * 100)
        self.assertEqual(0, source.told("DBSIZE"))
        self.assertEqual(2006, target.told("DBSIZE"))
        self.assertTrue(source.told("GET", keys[0]).startswith("MOVED"))
        for shard in cluster.records().values():
            nodes = [cluster.node_at(place) for place in (shard.primary, *shard.insync)]
            await_that(lambda both=nodes: len({one.told("DEBUG", "DIGEST") for one in both}) == 1,
                       "replicas have the same keys")

    def sorted(self, reply):
        """Hashes and sets have no order."""
        return sorted(reply, key=str) if isinstance(reply, list) else reply

    def test_no_write_is_lost_and_nobody_sees_an_error(self):
        cluster, source, target = self.start_two()
        is_over, wrong, written, unknown = threading.Event(), [], {}, {}

        def write(name):
            client = cluster.client(seed=name)
            for number in range(1_000_000):
                if is_over.is_set():
                    break
                key = f"{name}:{number % 100}"
                before = written.get(key, 0)
                replies = client.ask(key, ("INCR", key)).replies
                if not replies:  # in time: it was done, or will be, or not
                    unknown[key] = unknown.get(key, 0) + 1
                elif not before < replies[0] <= before + 1 + unknown.get(key, 0):
                    wrong.append((key, before, replies))
                else:
                    written[key] = replies[0]
            client.close()

        threads = [threading.Thread(target=write, args=(f"w{i}",)) for i in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            self.begin(source, target)
            self.await_move(source)
            source, target = target, source
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)
        client = cluster.client()
        for key, value in written.items():
            found = int(client.ask(key, ("GET", key)).replies[0])
            self.assertTrue(value <= found <= value + unknown.get(key, 0), (key, value, found))
        client.close()

    def test_clients_that_rely_on_a_slot_are_told(self):
        cluster, source, target = self.start_two()
        tag = "{" + tag_that_moves() + "}"
        watching, subscribed, blocked = (self.connect(source) for _ in range(3))
        for words in (("SET", tag + "k", 1), ("WATCH", tag + "k"), ("MULTI",),
                      ("SET", tag + "k", 2)):
            watching.ask(*words)
        subscribed.ask("SSUBSCRIBE", tag + "channel")
        blocked.send("BLPOP", tag + "list", 0)
        await_that(lambda: b"blocked_clients:1" in source.told("INFO", "clients"), "it waits")
        self.begin(source, target)
        self.assertEqual([b"sunsubscribe", (tag + "channel").encode(), 0], subscribed.receive())
        self.assertTrue(blocked.receive().startswith("MOVED"))
        self.await_move(source)
        self.assertTrue(watching.ask("EXEC").startswith("MOVED"))

    def test_it_begins_anew_after_flushall(self):
        cluster, source, target = self.start_two(options=SLOW)
        self.fill(source, moving_keys(1000), "old")
        self.begin(source, target)
        await_that(lambda: b"snapshotting" in self.states(source), "it has begun")
        self.assertEqual("OK", source.told("FLUSHALL"))
        keys = moving_keys(10, "new")
        self.fill(source, keys, "new")
        self.await_move(source)
        self.check_values(cluster, keys, "new")
        self.assertEqual(10, target.told("DBSIZE"))

    def test_a_cancelled_move_leaves_nothing_behind(self):
        cluster, source, target = self.start_two(options=SLOW)
        keys = moving_keys(4000)
        self.fill(source, keys, "v")
        self.begin(source, target)
        await_that(lambda: b"snapshotting" in self.states(source), "it has begun")
        self.assertEqual("OK", source.told("CLUSTER", "CANCELSLOTMIGRATIONS"))
        self.await_move(source, b"cancelled")
        self.check_values(cluster, keys, "v")
        await_that(lambda: target.state().get("cluster_staged_keys") == "0", "it is dropped")

    def test_the_successor_of_the_source_goes_on(self):
        cluster, source, target = self.start_two(replicas=1, options=SLOW)
        keys = moving_keys(1000)
        self.assertEqual(1, self.fill(source, keys, "v").ask("WAIT", 1, 20_000))
        self.begin(source, target)
        await_that(lambda: b"snapshotting" in self.states(source), "it has begun")
        cluster.kill_primary("a")
        await_that(lambda: target.told("GET", keys[0]) == b"v", cluster.told)
        self.check_values(cluster, keys, "v")


if __name__ == "__main__":
    unittest.main()
