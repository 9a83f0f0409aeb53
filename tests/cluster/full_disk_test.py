#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A primary whose disk is full refuses writes, as a server without a cluster does. Its replica has
lost nothing, and takes over when it is asked to: then writes are possible again.

    MAYFLY=build/release/mayfly python3 tests/cluster/full_disk_test.py

It needs root, to mount a small file system in memory.
"""

import unittest

import cluster as clusters
import frozen_disk
from resp_client import Closed, await_that

DISK = "8m"
VALUE = "x" * 5_000
PATIENCE_WRITES = 10_000


class DiskCluster(clusters.Cluster):
    """Its first node has a folder of its own."""

    def __init__(self, folder, **options):
        super().__init__(shards=1, replicas=1, etcd=1, **options)
        self.folder = folder

    def node_options(self, etcd=None):
        own = () if self.nodes else ("--dir", self.folder)
        return (*super().node_options(etcd), *own)


@unittest.skipUnless(frozen_disk.is_possible(frozen_disk.SmallMemory, DISK), "needs root")
class FullDiskTest(clusters.ClusterCase):
    def setUp(self):
        self.disk = self.enterContext(frozen_disk.SmallMemory(DISK))
        options = ("--appendonly", "yes", "--appendfsync", "always")
        self.cluster = self.enterContext(DiskCluster(self.disk.folder, options=options))
        self.addCleanup(self.explain, self.cluster)
        self.cluster.create("commands")
        self.primary, self.replica = self.cluster.nodes
        self.acknowledged = {}

    def record(self):
        return next(iter(self.cluster.records().values()))

    def write_until_full(self):
        client = self.primary.client()
        for number in range(PATIENCE_WRITES):
            key, value = f"key:{number}", f"{number} {VALUE}"
            try:
                reply = client.ask("SET", key, value)
            except Closed:  # it was written to memory, and not to the disk
                client = self.primary.client()
                continue
            if reply != "OK":
                return reply
            self.acknowledged[key] = value
        return self.fail("the disk never was full")

    def check_contents(self, node):
        client = node.client()
        replies = client.pipeline(("GET", key) for key in self.acknowledged)
        lost = [key for (key, value), reply in zip(self.acknowledged.items(), replies)
                if reply != value.encode()]
        self.assertEqual(lost, [])

    def test_writes_are_refused_until_another_one_leads(self):
        self.assertRegex(str(self.write_until_full()), "^MISCONF ")
        self.disk.fill()
        for words in (("SET", "key:0", "other"), ("DEL", "key:0"), ("INCR", "counter")):
            self.assertRegex(str(self.primary.told(*words)), "^MISCONF ", words)
        self.check_contents(self.primary)
        self.cluster.await_in_sync()

        self.cluster.hand_over(self.record().name, self.replica)
        self.assertEqual(self.record().primary, self.replica.place())
        await_that(lambda: self.replica.told("SET", "after", 1) == "OK", self.cluster.told)
        self.check_contents(self.replica)

        self.disk.make_room()
        await_that(lambda: self.primary.told("PING") == "PONG", self.primary.log)
        self.cluster.await_in_sync()
        client = self.replica.client()
        client.ask("INCR", "after")
        self.assertEqual(client.ask("WAIT", 1, 20_000), 1)
        before = self.cluster.kill_primary(self.record().name)
        self.assertEqual(before.insync, (self.primary.place(),))  # whose disk was full
        await_that(lambda: self.record().epoch > before.epoch, self.cluster.told)
        await_that(lambda: self.primary.told("GET", "after") == b"2", self.cluster.told)
        self.check_contents(self.primary)
        print(f"{len(self.acknowledged)} writes were accepted before the disk was full")


if __name__ == "__main__":
    unittest.main()
