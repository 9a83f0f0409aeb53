#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""etcd that was restored from a snapshot, with and without the steps of docs/cluster.md: nodes do
not use it before it was accepted, and never do two servers answer for a slot.

    MAYFLY=build/release/mayfly python3 tests/cluster/restored/restored_etcd_test.py
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cluster import ClusterCase  # noqa: E402
from resp_client import await_that, pause  # noqa: E402
from restored_etcd import (EtcdBackup, end_by_the_book, owners, register_states,  # noqa: E402
                           remember)

KEY = "key"
LOOKS = 40  # at which nodes answer
LOOK_S = 0.1


class RestoredEtcdTest(ClusterCase):
    def setUp(self):
        self.cluster = self.start(shards=1, replicas=2, etcd=1, options=("--appendonly", "yes"))
        self.backup = EtcdBackup(self.cluster.etcd)

    def move_on(self):
        """Another primary, and another value, which the snapshot does not know."""
        replica = self.cluster.replica_of(KEY)
        self.cluster.hand_over("a", replica)
        self.cluster.await_in_sync()
        await_that(lambda: replica.told("SET", KEY, "new") == "OK", self.cluster.told)
        self.assertGreaterEqual(replica.told("WAIT", 2, 20_000), 2)
        return replica

    def await_unusable(self):
        await_that(lambda: register_states(self.cluster) == {"unusable"}, self.cluster.told)

    def assert_only_owner(self, owner):
        for _ in range(LOOKS):
            self.assertEqual(owners(self.cluster, "{" + KEY + "}probe"), [owner] if owner else [],
                             self.cluster.told())
            pause(LOOK_S)

    def tell(self, *words):
        done = subprocess.run([os.environ["MAYFLY"], "cluster", *words, "--etcd",
                               self.cluster.etcd.urls()], capture_output=True, text=True,
                              check=False, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def stop_and_start(self, between):
        """All nodes; at once, so none hands over."""
        for node in self.cluster.nodes:
            node.kill()
        between()
        for node in self.cluster.nodes:
            node.restart()

    def assert_whole(self):
        """All that was safe is there."""
        self.assertEqual(len(owners(self.cluster, KEY + ":2")), 1)
        self.assertEqual(self.cluster.primary_of(KEY).told("GET", KEY), b"new")
        await_that(lambda: self.tell("check")[0] == 0, lambda: self.tell("check")[1])

    def test_restored_while_nodes_run(self):
        for token in (None, "another"):  # with the same cluster id, and with another one
            with self.subTest(token=token):
                self.backup.save()
                owner = self.move_on()
                self.backup.restore(token)
                self.await_unusable()
                self.assert_only_owner(owner)
                code, text = self.tell("check")
                self.assertEqual(code, 3)
                self.assertIn("does not use this etcd: etcd is not usable", text)
                self.assertIn("does not use this etcd", self.tell("status")[1])
                await_that(lambda one=owner: "etcd is not usable" in one.log(), owner.log)
                code, text = self.tell("accept", "--yes")
                self.assertEqual(code, 1)
                self.assertIn("these nodes run", text)
                end_by_the_book(self.cluster)
                self.assert_whole()

    def test_nodes_that_start_wait_until_it_is_accepted(self):
        for _ in range(2):  # an acceptance is used up by the first start
            self.backup.save()
            self.move_on()
            await_that(lambda: remember(self.cluster), self.cluster.told)
            self.stop_and_start(self.backup.restore)
            self.await_unusable()
            self.assert_only_owner(None)
            end_by_the_book(self.cluster)
            self.assert_whole()

    def test_a_node_that_the_snapshot_does_not_name_has_the_latest_data(self):
        """The snapshot names only the primary. Later another node has led, without that one."""
        old = self.cluster.primary_of(KEY)
        others = [node for node in self.cluster.nodes if node is not old]
        for node in others:
            node.freeze()
        await_that(lambda: not self.cluster.records()["a"].insync, self.cluster.told)
        self.backup.save()
        for node in others:
            node.thaw()
        self.cluster.await_in_sync()
        old.kill()
        owner, = await_that(lambda: owners(self.cluster, KEY), self.cluster.told)
        await_that(lambda: self.cluster.records()["a"].insync, self.cluster.told)
        self.assertEqual(owner.told("SET", KEY, "new"), "OK")
        self.assertGreaterEqual(owner.told("WAIT", 1, 20_000), 1)
        for node in others:
            node.kill()
        self.backup.restore()
        self.cluster.mayfly("accept", "--yes")
        old.restart()
        self.assert_only_owner(None)
        for node in others:
            node.restart()
        await_that(self.cluster.is_ok, self.cluster.told)
        self.cluster.await_in_sync()
        self.assert_whole()

    def test_an_empty_etcd_is_not_used(self):
        owner = self.move_on()
        self.backup.empty()
        self.await_unusable()
        self.assert_only_owner(owner)
        self.assertEqual(self.cluster.etcd.client.read("/mayfly/"), {})


if __name__ == "__main__":
    unittest.main()
