# SPDX-License-Identifier: Apache-2.0
"""A live cluster of redis-server moves to Mayfly, as docs/cluster.md says: a server follows each
old primary, and becomes a node with the data that it has then."""

import json
import os
import tempfile
import unittest

from cluster import LOOPBACK, RedisCluster, run
from cluster_client import CHECK_REPLY_S, ClusterClient
from etcd_servers import EtcdServers
from mayfly_server import Mayfly
from resp_client import await_that

KEYS = 600
LATE_KEYS = 60


def write(client, numbers):
    for number in numbers:
        key = f"key:{number}"
        reply = client.one(key, "SET", key, number, "EX", 1000)
        assert reply == "OK", reply


def slots_of(node):
    """The first and the last of each range, of a node of Redis."""
    lines = node.told("CLUSTER", "NODES").decode().splitlines()
    ranges = next(line for line in lines if "myself" in line).split()[8:]
    return [word for each in ranges for word in (each.split("-") * 2)[:2]]


class ImportTest(unittest.TestCase):
    def test_a_live_cluster(self):
        with RedisCluster(3, 0) as old, EtcdServers(places=[LOOPBACK]) as etcd:
            old.create()
            client = old.client()
            write(client, range(KEYS))
            self.check_copies(old.nodes)
            servers = [self.enterContext(Mayfly()) for _ in old.nodes]
            pairs = list(zip(old.nodes, servers))
            for node, server in pairs:
                self.assertEqual(server.client().ask("REPLICAOF", node.host, node.port), "OK")
            write(client, range(KEYS, KEYS + LATE_KEYS))  # while they follow
            client.close()
            for node, server in pairs:
                count = node.told("DBSIZE")
                follower = server.client()
                await_that(lambda f=follower, c=count: f.ask("DBSIZE") == c, server.log)
            for node, server in pairs:
                self.become_node(server, slots_of(node), etcd)
            self.check(servers, etcd)

    def check_copies(self, nodes):
        """`mayfly import` copies one node, and names the others with their slots."""
        for node in nodes:
            db = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "copy.db")
            source = f"redis://{node.host}:{node.port}"
            words = [os.environ["MAYFLY"], "import", source, "--db", db, "--json"]
            summary = json.loads(run(words))
            self.assertEqual(summary["keys"], node.told("DBSIZE"))
            self.assertEqual(sorted(summary["not_copied"]), sorted(
                f"slots {'-'.join(slots_of(other))} of another node of the cluster: "
                f"redis://{other.host}:{other.port}" for other in nodes if other is not node))

    def become_node(self, server, slots, etcd):
        client = server.client()
        self.assertEqual(client.ask("REPLICAOF", "NO", "ONE"), "OK")
        self.assertEqual(client.ask("SAVE"), "OK")
        server.stop()
        server.restart("--cluster-enabled", "yes", "--cluster-etcd", etcd.urls())
        client = server.client()
        await_that(lambda: client.ask("CLUSTER", "ADDSLOTSRANGE", *slots) == "OK", server.log)

    def check(self, servers, etcd):
        client = ClusterClient([server.address() for server in servers], reply_s=CHECK_REPLY_S)
        for number in range(KEYS + LATE_KEYS):
            key = f"key:{number}"
            self.assertEqual(client.one(key, "GET", key), str(number).encode())
            self.assertGreater(client.one(key, "TTL", key), 0)
        client.close()
        status = run([servers[0].command[0], "cluster", "status", "--etcd", etcd.urls()])
        self.assertIn("3 nodes, 3 shards, 16384 slots ok", status)


if __name__ == "__main__":
    unittest.main()
