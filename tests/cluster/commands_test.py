#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly cluster, with real servers and a real etcd: from init to an empty house."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from cluster import Cluster, ClusterCase, run
from mayfly_server import Mayfly
from resp_client import await_that

PROBLEMS = 3


class CommandsTest(ClusterCase):
    def start_nodes(self, count):
        """Nodes that belong to no cluster yet."""
        cluster = self.enterContext(Cluster(shards=count, replicas=0))
        self.addCleanup(self.explain, cluster)
        return cluster

    def outcome(self, cluster, *words):
        """The exit code and what was printed, whatever it is."""
        done = subprocess.run([os.environ["MAYFLY"], "cluster", *words, "--etcd",
                               cluster.etcd.urls()], capture_output=True, text=True, check=False,
                              timeout=100, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def eventually(self, cluster, *words):
        """On a busy machine replicas come and go: tries until it succeeds."""
        said = []
        await_that(lambda: said.append(self.outcome(cluster, *words)) or said[-1][0] == 0,
                   lambda: f"{words} succeeds: {said[-1:]}\n{cluster.told()}")
        return said[-1][1]

    def shards(self, cluster):
        return {shard["shard"]: shard for shard in cluster.status_json()["shards"]}

    def shard_in_sync(self, cluster, name):
        """A shard when a replica may take over."""
        def look():
            shard = self.shards(cluster)[name]
            return shard if shard["in_sync"] else None

        return await_that(look, cluster.told)

    def test_init_makes_a_cluster_that_passes_its_check(self):
        cluster = self.start(shards=2, replicas=1, how="init")
        self.eventually(cluster, "check", "--cache")  # they keep no files
        picture = cluster.mayfly("status")
        self.assertIn("main   4 nodes, 2 shards, 16384 slots ok", picture)
        self.assertRegex(picture, r"a  127\.0\.0\.1:\d+  serving  epoch \d+ +8192 slots")
        client = cluster.client()
        self.addCleanup(client.close)
        for number in range(100):
            client.one(f"key:{number}", "SET", f"key:{number}", number)
        keys = sum(node.get("keys", 0) for shard in self.shards(cluster).values()
                   for node in shard["nodes"] if node["role"] == "primary")
        self.assertEqual(keys, 100)
        code, text = self.outcome(cluster, "init", cluster.nodes[0].place(), "--yes")
        self.assertEqual(code, 1)
        self.assertIn("there is a cluster 'main' with 4 nodes already", text)

    def test_nothing_changes_without_a_yes(self):
        cluster = self.start_nodes(1)
        code, text = self.outcome(cluster, "init", cluster.nodes[0].place(), "--replicas", "0")
        self.assertEqual(code, 1)
        self.assertIn("nothing was changed", text)
        self.assertNotIn("config", cluster.etcd.client.read_soon("/mayfly/main/"))

    def test_init_refuses_a_node_that_is_not_there(self):
        cluster = self.start_nodes(1)
        code, text = self.outcome(cluster, "init", "127.0.0.1:1", "--yes")
        self.assertEqual(code, 1)
        self.assertIn("127.0.0.1:1", text)

    def test_init_refuses_a_plain_server(self):
        cluster = self.start_nodes(1)
        plain = self.enterContext(Mayfly())
        place = f"127.0.0.1:{plain.port}"
        code, text = self.outcome(cluster, "init", place, "--replicas", "0", "--yes")
        self.assertEqual(code, 1)
        self.assertIn(place, text)
        self.assertIn("cluster-enabled", text)

    def test_init_refuses_a_node_with_data(self):
        cluster = self.start_nodes(1)
        node = cluster.nodes[0]
        plain = self.enterContext(Mayfly())
        client = plain.client()
        self.assertEqual(client.ask("SET", "key", 1), "OK")
        self.assertEqual(client.ask("SAVE"), "OK")
        node.kill()
        shutil.copy(f"{plain.folder}/dump.rdb", f"{node.folder}/dump.rdb")
        node.restart()
        code, text = self.outcome(cluster, "init", node.place(), "--replicas", "0", "--yes")
        self.assertEqual(code, 1)
        self.assertIn(f"{node.place()} has 1 key: a node comes in empty", text)
        self.assertNotIn("config", cluster.etcd.client.read_soon("/mayfly/main/"))

    def test_failover_hands_over_to_the_replica(self):
        cluster = self.start(shards=2, replicas=1, how="init")
        before = self.shards(cluster)["a"]
        self.eventually(cluster, "failover", "a", "--yes")
        after = self.shards(cluster)["a"]
        self.assertNotEqual(after["primary"], before["primary"])
        self.assertGreater(after["epoch"], before["epoch"])
        cluster.await_in_sync()
        code, text = self.outcome(cluster, "failover", "a", "--to", after["primary"], "--yes")
        self.assertEqual(code, 1)
        self.assertIn("already", text)

    def test_a_dead_primary_is_a_problem_until_a_replica_has_taken_over(self):
        cluster = self.start(shards=2, replicas=1, how="init")
        primary = self.shards(cluster)["a"]["primary"]
        cluster.kill_primary("a")
        await_that(lambda: self.shards(cluster)["a"]["primary"] != primary, cluster.told)
        await_that(lambda: self.shards(cluster)["a"]["state"] == "serving", cluster.told)
        code, text = self.outcome(cluster, "check")
        self.assertEqual(code, PROBLEMS, text)
        self.assertIn("shard a would not survive the loss of", text)
        self.assertIn("! shard a would not survive", cluster.mayfly("status"))

    def test_nodes_come_and_leave(self):
        cluster = self.start(shards=2, replicas=0, how="init")
        node = cluster.add_node()
        await_that(lambda: node.state().get("cluster_my_id", "?") in
                   json.dumps(cluster.status_json()["nodes"]), cluster.told)
        cluster.mayfly("add", node.place(), "--replica-of", "b", "--yes")
        await_that(lambda: len(self.shards(cluster)["b"]["in_sync"]) == 1, cluster.told)
        self.eventually(cluster, "remove", node.place(), "--yes")
        self.assertEqual(self.shards(cluster)["b"]["in_sync"], [])
        self.assertEqual(len(self.shards(cluster)["b"]["nodes"]), 1)

    def test_redis_cli_adds_a_node_and_deletes_it_and_adds_it_again(self):
        cluster = self.start(shards=2, replicas=0, how="init")
        first = cluster.nodes[0]
        library = "#!lua name=lib\nredis.register_function('one', function() return 1 end)"
        self.assertEqual(first.told("FUNCTION", "LOAD", library), b"lib")
        node = cluster.add_node()
        name = node.told("CLUSTER", "MYID").decode()
        for _ in range(2):
            said = run(["redis-cli", "--cluster", "add-node", node.place(), first.place()])
            self.assertIn("New node added correctly", said)
            await_that(lambda: name in first.told("CLUSTER", "NODES").decode(), cluster.told)
            self.assertIn(b"lib", node.told("FUNCTION", "LIST")[0])
            run(["redis-cli", "--cluster", "del-node", first.place(), name])
            self.assertNotIn(name, first.told("CLUSTER", "NODES").decode())
            self.assertEqual(node.told("FUNCTION", "FLUSH"), "OK")
            self.assertEqual(node.told("FLUSHALL"), "OK")

    def test_slots_move_with_their_keys_until_a_shard_is_empty_and_gone(self):
        cluster = self.start(shards=2, replicas=0, how="init")
        client = cluster.client()
        self.addCleanup(client.close)
        for number in range(300):
            client.one(f"key:{number}", "SET", f"key:{number}", number)
        self.assertIn("1000 slots moved",
                      self.eventually(cluster, "reshard", "--from", "a", "--to", "b", "--slots",
                                      "1000", "--yes"))
        self.assertEqual(self.shards(cluster)["b"]["slot_count"], 9192)
        self.eventually(cluster, "rebalance", "--yes")
        self.assertEqual(self.shards(cluster)["a"]["slot_count"], 8192)
        leaves = next(node for node in self.shards(cluster)["b"]["nodes"])
        self.eventually(cluster, "remove", leaves["id"], "--yes")
        self.assertEqual(list(self.shards(cluster)), ["a"])
        for number in range(300):
            self.assertEqual(client.one(f"key:{number}", "GET", f"key:{number}"),
                             str(number).encode())

    def test_a_move_to_a_shard_without_memory_fails_and_leaves_the_keys(self):
        cluster = self.start(shards=2, replicas=0, how="init")
        client = cluster.client()
        self.addCleanup(client.close)
        for number in range(100):
            client.one(f"key:{number}", "SET", f"key:{number}", number)
        target = cluster.node_at(cluster.records()["b"].primary)
        self.assertEqual(target.told("CONFIG", "SET", "maxmemory", 1), "OK")
        code, text = self.outcome(cluster, "reshard", "--from", "a", "--to", "b", "--slots",
                                  "4000", "--yes")
        self.assertEqual(code, 1, text)
        self.assertIn("maxmemory", text)
        self.assertEqual(self.shards(cluster)["a"]["slot_count"], 8192)
        for number in range(100):
            self.assertEqual(client.one(f"key:{number}", "GET", f"key:{number}"),
                             str(number).encode())

    def test_recover_goes_on_without_a_dead_node(self):
        cluster = self.start(shards=2, replicas=1, how="init")
        shard = self.shard_in_sync(cluster, "a")
        dead = {node.told("CLUSTER", "MYID").decode(): node for node in cluster.nodes}
        dead[shard["primary"]].kill()
        dead[shard["in_sync"][0]].kill()
        dead[shard["in_sync"][0]].restart()
        await_that(lambda: not next(node for node in self.shards(cluster)["a"]["nodes"]
                                    if node["id"] == shard["primary"])["is_alive"], cluster.told)
        code, text = self.outcome(cluster, "recover", "a", "--yes")
        self.assertEqual(code, 1, text)
        self.assertIn("--accept-loss", text)
        cluster.mayfly("recover", "a", "--accept-loss", "--yes")
        await_that(lambda: self.shards(cluster)["a"]["state"] == "serving", cluster.told)
        self.assertGreater(self.shards(cluster)["a"]["epoch"], shard["epoch"])


def answers(port):
    done = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True,
                          check=False)
    return done.stdout == "PONG\n"


def is_running(pid):
    """A zombie does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


class DevTest(unittest.TestCase):
    def test_dev_runs_a_cluster_until_it_is_interrupted(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(suffix=" of it's own"))
        dev = subprocess.Popen([os.environ["MAYFLY"], "cluster", "dev", "--nodes", "2",
                                "--dir", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, stdin=subprocess.DEVNULL)
        self.addCleanup(dev.stdout.close)
        self.addCleanup(dev.stderr.close)
        self.addCleanup(dev.kill)
        said = ""
        while "Ctrl-C stops everything." not in said:
            line = dev.stdout.readline()
            self.assertTrue(line, f"it has ended: {said} {dev.stderr.read() if not line else ''}")
            said += line
        self.assertIn("2 nodes, 1 shard, 16384 slots ok", said)
        port = re.search(r"redis-cli -c -p (\d+)", said)[1]
        self.assertEqual(run(["redis-cli", "-c", "-p", port, "set", "hello", "world"]), "OK\n")
        pids = [int(pid) for pid in re.findall(r"pid (\d+)", said)]
        self.assertEqual(len(pids), 5)
        self.assertIn("no node of shard a keeps its data", said)
        ports = dict(re.findall(r"^  (\S+) +port (\d+) ", said, re.MULTILINE))
        self.assertEqual(sorted(ports), ["etcd-a", "etcd-b", "etcd-c", "node-1", "node-2"])
        self.assertEqual(ports["node-1"], port)
        pids.append(self.restart_as_told(dev, pids[-1], ports["node-2"]))
        dev.send_signal(signal.SIGINT)
        self.assertEqual(dev.wait(timeout=60), 0)
        for pid in pids:
            await_that(lambda pid=pid: not is_running(pid), lambda pid=pid: f"{pid} runs")

    def restart_as_told(self, dev, pid, port):
        """Kills a node, and starts it again with the printed command. Returns its process."""
        os.kill(pid, signal.SIGKILL)
        line = ""
        while "has ended; to start it again:" not in line:
            line = dev.stderr.readline()
            self.assertTrue(line, "it has ended")
        self.assertIn(f"node-2 (pid {pid}) has ended", line)
        command = dev.stderr.readline().strip()
        shell = subprocess.Popen(["sh", "-c", command + "\necho $!"], stdout=subprocess.PIPE,
                                 text=True)
        with shell:
            again = int(shell.stdout.readline())
        await_that(lambda: answers(port), lambda: command)
        return again


if __name__ == "__main__":
    unittest.main()
