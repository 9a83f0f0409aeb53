#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The disk of the etcd leader stands still: it goes on answering some requests, renews leases that
the others have ended, and writes nothing. The cluster goes on by way of the other two members.

    MAYFLY=build/release/mayfly python3 tests/cluster/etcd_disk_test.py

It needs root and loop devices.
"""

import contextlib
import unittest

import cluster as clusters
import frozen_disk
from cluster_client import now
from failover_test import FaultCase
from resp_client import pause

FROZEN_S = 1.5  # before the primary is killed
BAR_S = 6.0
SLACK_S = 20.0  # others use this machine, too; the disk is frozen for longer


@unittest.skipUnless(frozen_disk.is_possible(), "needs root and loop devices")
class EtcdDiskTest(FaultCase):
    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.cluster = clusters.Cluster(shards=2, replicas=1, etcd=3)
        for member in cls.cluster.etcd.members:
            member.disk = stack.enter_context(frozen_disk.Disk())
        stack.enter_context(cls.cluster)
        cls.cluster.create()

    def test_a_primary_is_killed_while_the_disk_of_the_leader_is_frozen(self):
        self.calmly(self.primary_is_killed)

    def primary_is_killed(self):
        leader = self.cluster.etcd.leader()
        try:
            with self.load() as load:
                leader.disk.freeze()
                pause(FROZEN_S)
                during = load.counts()
                begin = now()
                before = self.cluster.kill_primary(self.shard)
                self.await_takeover(before.epoch, BAR_S + SLACK_S)
                self.await_write()
                taken = now() - begin
                leader.disk.thaw()
                pause(1)  # what it had sent before arrives now
        finally:
            leader.disk.thaw()
        print(f"a write {taken:.2f} s after the kill, with the disk of the etcd leader frozen")
        self.assertLess(taken, BAR_S + SLACK_S)
        self.assertEqual(self.record().primary, before.insync[0])
        self.check_unnoticed(during)


if __name__ == "__main__":
    unittest.main()
