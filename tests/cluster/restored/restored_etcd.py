# SPDX-License-Identifier: Apache-2.0
"""etcd of a cluster, saved and restored by etcdctl, and the nodes that answer meanwhile.

    backup = EtcdBackup(cluster.etcd)
    backup.save()
    ...
    backup.restore("another token")     # another cluster id; without it, the same
    end_by_the_book(cluster)            # stop all nodes, accept, start
"""

import os
import shutil
import subprocess

from cluster_client import slot_of
from resp_client import await_that

SOME_KEYS = 400  # enough to have one of each shard


class EtcdBackup:
    def __init__(self, etcd):
        self.etcd = etcd
        self.path = os.path.join(etcd.folder, "snapshot.db")

    def etcdctl(self, *words):
        done = subprocess.run(["etcdctl", *words], capture_output=True, text=True, check=False,
                              timeout=30, env=os.environ | {"ETCDCTL_API": "3"})
        if done.returncode != 0:
            raise AssertionError(f"etcdctl {words}: {done.stdout}{done.stderr}")

    def save(self):
        """Of the leader, which has every change that was confirmed."""
        if os.path.exists(self.path):
            os.remove(self.path)
        self.etcdctl("--endpoints", self.etcd.leader().url(), "snapshot", "save", self.path)

    def restore(self, token=None):
        """The same members, and with the same token the same cluster id."""
        self.wipe()
        for member in self.etcd.members:
            self.etcdctl("snapshot", "restore", self.path, "--name", member.name, "--data-dir",
                         os.path.join(member.data_folder(), member.name), "--initial-cluster",
                         member.peers, "--initial-advertise-peer-urls", member.peer_url(),
                         *(("--initial-cluster-token", token) if token else ()))
        self.etcd.start_all()

    def wipe(self):
        self.etcd.kill_all()
        for member in self.etcd.members:
            shutil.rmtree(os.path.join(member.data_folder(), member.name), ignore_errors=True)

    def empty(self):
        self.wipe()
        self.etcd.start_all()


def probes(cluster):
    """{shard: a key of it}"""
    found = {}
    for shard in cluster.records().values():
        keys = (f"probe:{number}" for number in range(SOME_KEYS))
        found[shard.name] = next((key for key in keys if shard.has(slot_of(key))), None)
    return {name: key for name, key in found.items() if key}


def owners(cluster, key):
    """Nodes that take a write of this key."""
    return [node for node in cluster.nodes
            if node.is_up() and not node.is_frozen and node.told("SET", key, "1") == "OK"]


def register_states(cluster):
    return {node.state().get("cluster_register_state") for node in cluster.nodes
            if node.is_up() and not node.is_frozen}


def remember(cluster):
    """Whether the files of all nodes know a state after the last change of their shards."""
    version = max(shard.version for shard in cluster.records().values())
    for node in cluster.nodes:
        with open(os.path.join(node.folder, "cluster-node"), encoding="utf-8") as file:
            words = [line.split() for line in file]
        if not any(line[0] == "register" and int(line[2]) >= version for line in words):
            return False
    return True


def end_by_the_book(cluster):
    """Stop all nodes, accept, start: docs/cluster.md. They are killed, so none hands over."""
    for node in cluster.nodes:
        if node.is_up():
            node.kill()
        node.is_frozen = False
    cluster.mayfly("accept", "--yes")
    for node in cluster.nodes:
        node.restart()
    await_that(cluster.is_ok, cluster.told)
    cluster.await_in_sync()
