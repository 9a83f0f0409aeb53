#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Subscribers to sharded channels, with the clients of npm that know them: when a slot moves, or
its primary dies or hands over, `ioredis` subscribes at the new owner by itself. `redis` 5.12 does
so at no server: its cluster listens to another event than the one by which its connections tell of
a channel that has moved, and it stays with the address of a node that has died. It goes on after a
handover, and when the node runs again.

    MAYFLY=build/release/mayfly python3 tests/cluster/sharded_messages_test.py
"""

import os
import queue
import subprocess
import sys
import threading
import unittest

from cluster import HERE, ClusterCase
from cluster_client import now, slot_of
from resp_client import await_that, pause

NODE = os.path.join(os.path.dirname(HERE), "node")
sys.path.insert(0, NODE)

from node_clients_test import install  # noqa: E402

CLIENTS = ("redis", "ioredis")
FOLLOWS = ("ioredis",)
PATIENCE_S = 60
EVERY_S = 0.05


class Subscriber:
    def __init__(self, name, channels, cluster):
        self.name = name
        seeds = ",".join(node.place() for node in cluster.nodes)
        self.process = subprocess.Popen(
            ["node", "cluster_sharded.js"], cwd=NODE, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "SEEDS": seeds, "CLIENT": name, "CHANNELS": ",".join(channels)})
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.heard = {}  # channel: the last message

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def take(self):
        while not self.lines.empty():
            words = self.lines.get().split()
            self.heard[words[0]] = words[-1]

    def __enter__(self):
        await_that(lambda: self.take() or "ready" in self.heard or self.process.poll() is not None,
                   f"{self.name} has subscribed")
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name}: {self.process.stderr.read()}")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class ShardedMessagesTest(ClusterCase):
    @classmethod
    def setUpClass(cls):
        install()

    def setUp(self):
        self.cluster = self.start(shards=2, replicas=1, etcd=1)
        keys = self.cluster.keys_by_shard(2, "channel")
        self.channels = [channel for mine in keys.values() for channel in mine]
        self.client = self.cluster.client()
        self.addCleanup(self.client.close)
        self.number = 0
        self.subscribers = [self.enterContext(Subscriber(name, self.channels, self.cluster))
                            for name in CLIENTS]
        self.await_all("at the beginning")

    def await_all(self, when, names=CLIENTS):
        """Until each of these has heard something in each channel that was said from now on."""
        first, begin = self.number, now()
        late = {(name, channel) for name in names for channel in self.channels}
        took = {}
        while late and now() < begin + PATIENCE_S:
            self.number += 1
            for channel in self.channels:
                self.client.ask(channel, ("SPUBLISH", channel, f"{self.number}"))
            pause(EVERY_S)
            for one in self.subscribers:
                one.take()
                for channel in self.channels:
                    if int(one.heard.get(channel, 0)) > first and (one.name, channel) in late:
                        late.remove((one.name, channel))
                        took[one.name] = now() - begin
        print(f"{when}: " + ", ".join(f"{name} heard all after {seconds:.1f} s"
                                      for name, seconds in took.items()))
        self.assertEqual(late, set(), when)

    def test_they_follow_takeovers(self):
        channel = self.channels[0]
        name = self.cluster.shard_of(channel).name
        self.cluster.hand_over(name, self.cluster.replica_of(channel))
        self.await_all("after a handover")
        before = self.cluster.kill_primary(name)
        await_that(lambda: self.cluster.records()[name].epoch > before.epoch, self.cluster.told)
        self.await_all("after a kill", FOLLOWS)
        self.cluster.node_at(before.primary).restart()
        self.cluster.await_in_sync()
        self.await_all("after its restart")

    def test_they_follow_moves(self):
        channel = self.channels[0]
        source = self.cluster.shard_of(channel)
        target = next(shard for shard in self.cluster.records().values()
                      if shard.name != source.name)
        owner = self.cluster.node_at(target.primary).told("CLUSTER", "MYID").decode()
        slot = slot_of(channel)
        self.assertEqual(self.cluster.node_at(source.primary).told(
            "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", owner), "OK")
        await_that(lambda: self.cluster.shard_of(channel).name == target.name, self.cluster.told)
        self.await_all("after a move", FOLLOWS)


if __name__ == "__main__":
    unittest.main()
