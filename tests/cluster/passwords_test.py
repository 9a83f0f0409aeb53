# SPDX-License-Identifier: Apache-2.0
"""Nodes with a password: they follow each other, move slots and take over, and the command line
says how to give it."""

import os
import subprocess
import unittest

from cluster import Cluster
from cluster_client import slot_of
from resp_client import await_that

PASSWORD = "open sesame"
KEY = "key"


class PasswordsTest(unittest.TestCase):
    def mayfly(self, cluster, *words, password=PASSWORD):
        options = ["--password", password] if password else []
        return subprocess.run([os.environ["MAYFLY"], "cluster", *words, *options, "--etcd",
                               cluster.etcd.urls()], capture_output=True, text=True, check=False,
                              timeout=100, stdin=subprocess.DEVNULL)

    def done(self, *words):
        done = self.mayfly(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def eventually(self, *words):
        """On a busy machine replicas come and go: tries until it succeeds."""
        said = []
        await_that(lambda: said.append(self.mayfly(*words)) or said[-1].returncode == 0,
                   lambda: f"{words} succeeds: {said[-1:]}")

    def client(self, node):
        client = node.client()
        self.assertEqual(client.ask("AUTH", PASSWORD), "OK")
        return client

    def start(self):
        """Nodes get their password when they have registered: the harness has none."""
        cluster = self.enterContext(Cluster(2, 1, etcd=1))
        for node in cluster.nodes:
            self.assertEqual(node.told("CONFIG", "SET", "requirepass", PASSWORD, "primaryauth",
                                       PASSWORD), "OK")
        return cluster

    def test_a_life_with_passwords(self):
        cluster = self.start()
        init = ("init", *(node.place() for node in cluster.nodes), "--replicas", "1", "--yes")
        for password, text in ((None, "wants a password: use --password or MAYFLY_PASSWORD"),
                               ("guess", "has another password than --password")):
            refused = self.mayfly(cluster, *init, password=password)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(text, refused.stderr)
        self.done(cluster, *init)
        await_that(cluster.is_in_sync, "replicas follow with the password")
        source = cluster.shard_of(KEY)
        target = next(name for name in cluster.records() if name != source.name)
        primary = cluster.primary_of(KEY)
        self.assertEqual(self.client(primary).ask("SET", KEY, 1), "OK")
        self.done(cluster, "reshard", "--from", source.name, "--to", target, "--range",
                  f"{slot_of(KEY)}-{slot_of(KEY)}", "--yes")
        self.assertEqual(cluster.shard_of(KEY).name, target)
        self.eventually(cluster, "failover", target, "--yes")
        successor = self.client(cluster.primary_of(KEY))
        await_that(lambda: successor.ask("GET", KEY) == b"1", "the successor serves")


if __name__ == "__main__":
    unittest.main()
