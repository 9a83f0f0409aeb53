#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A folder of a node that was copied: two processes with one node id never both act. The first one
stays; a node that was killed and starts again, at its address or another one, is not held up.

    MAYFLY=build/release/mayfly python3 tests/cluster/copied_folder_test.py
"""

import shutil
import unittest

from cluster import LOOPBACK, ClusterCase, MayflyNode
from mayfly_server import free_port
from resp_client import await_that, pause

COPIED = "another process is this node: the folder was copied"
WAITS = "waits for the former process"


class CopiedFolderTest(ClusterCase):
    def setUp(self):
        self.cluster = self.start(shards=1, replicas=1, etcd=1, options=("--appendonly", "yes"))
        self.before = self.record()
        self.primary = self.cluster.node_at(self.before.primary)
        self.replica = self.cluster.replica_of("key")
        client = self.primary.client()
        client.ask("SET", "key", "value")
        self.assertEqual(client.ask("WAIT", 1, 20_000), 1)

    def record(self):
        return next(iter(self.cluster.records().values()))

    def copy_of(self, node):
        """A process in a copy of its folder, at another port."""
        copy = MayflyNode(LOOPBACK, *self.cluster.node_options())
        self.addCleanup(shutil.rmtree, copy.folder, ignore_errors=True)
        self.addCleanup(copy.end_all)
        shutil.copytree(node.folder, copy.folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("temp-*"))  # they go while one looks
        copy.port = free_port()
        copy.spawn()
        return copy

    def check_contents(self, node):
        self.assertEqual(node.told("GET", "key"), b"value")

    def test_a_copy_of_a_node_that_lives_ends(self):
        for node in (self.primary, self.replica):
            self.assertIn(COPIED, self.copy_of(node).end_refused())
        after = self.record()
        self.assertEqual((after.epoch, after.primary), (self.before.epoch, self.before.primary))
        self.cluster.await_in_sync()
        self.check_contents(self.primary)

    def test_a_copy_of_a_node_that_is_silent_waits(self):
        """It may be frozen, or cut off, and serve by promises that have not ended: to announce the
        copy would have it replaced at once."""
        self.cluster.freeze_primary(self.before.name)
        copy = self.copy_of(self.primary)
        await_that(lambda: WAITS in copy.log(), copy.log)
        await_that(lambda: self.record().epoch > self.before.epoch, self.cluster.told)
        self.assertNotIn("has been replaced", self.replica.log())  # the grace has ended
        pause(1)
        self.assertEqual(self.record().primary, self.replica.place())
        self.assertIsNone(copy.process.poll(), copy.log())
        self.primary.thaw()
        self.assertIn(COPIED, copy.end_refused())
        self.cluster.await_in_sync()
        self.check_contents(self.replica)

    def test_a_node_that_was_killed_starts_at_another_address(self):
        """Nobody listens at the old one any more, though etcd has not forgotten the process."""
        self.replica.kill()
        await_that(lambda: not self.record().insync, self.cluster.told)
        self.replica.port = free_port()
        self.replica.restart()
        await_that(lambda: self.record().insync == (self.replica.place(),), self.cluster.told)
        self.assertNotIn(WAITS, self.replica.log())

    def test_the_original_of_a_copy_that_took_its_place_ends(self):
        """The copy was started when the original was down; then that one comes back."""
        self.replica.kill()
        copy = self.copy_of(self.replica)
        await_that(lambda: self.record().insync == (copy.place(),), copy.log)
        self.replica.spawn()
        self.assertIn(COPIED, self.replica.end_refused())
        await_that(lambda: self.record().insync == (copy.place(),), copy.log)


if __name__ == "__main__":
    unittest.main()
