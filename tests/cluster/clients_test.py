#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clients that users have, unchanged, on a cluster: redis-cli, redis-benchmark, python3-redis,
and those of npm; the last ones while a primary is killed, another hands over, and slots move.

    MAYFLY=build/release/mayfly python3 tests/cluster/clients_test.py
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

from cluster import HERE, Cluster, ClusterCase, run
from resp_client import await_that, pause

NODE = os.path.join(os.path.dirname(HERE), "node")
sys.path.insert(0, NODE)

from node_clients_test import install  # noqa: E402

PYTHON = "/usr/bin/python3"
# Of requests that were on their way to a process that was killed: `redis` of npm passes it on, as
# it does not know whether the request was done.
ON_THE_WAY = r"Socket closed unexpectedly|ECONNRESET|EPIPE|[Cc]onnection (is closed|close)"


class ToolsTest(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(shards=3, replicas=1, etcd=1)).create()

    def setUp(self):
        self.addCleanup(self.explain, self.cluster)
        self.first = self.cluster.nodes[0]

    def cli(self, *words):
        return run(["redis-cli", "-h", self.first.host, "-p", str(self.first.port), *words])

    def manage(self, command, *words):
        return run(["redis-cli", "--cluster", command, *words])

    def test_redis_cli_follows(self):
        for number in range(60):
            self.assertEqual(self.cli("-c", "SET", f"key:{number}", str(number)), "OK\n")
        for number in range(60):
            self.assertEqual(self.cli("-c", "GET", f"key:{number}"), f"{number}\n")
        self.assertRegex(self.cli("SET", "key:1", "x") + self.cli("SET", "key:2", "x")
                         + self.cli("SET", "key:4", "x"), "MOVED ")

    def test_redis_cli_looks_at_the_cluster(self):
        self.assertIn("[OK] All 16384 slots covered.", self.manage("check", self.first.place()))
        said = self.manage("info", self.first.place())
        self.assertRegex(said, r"\[OK\] \d+ keys in 3 masters")
        said = self.manage("call", self.first.place(), "PING")
        self.assertEqual(said.count("PONG"), 6, said)
        nodes = self.cli("CLUSTER", "NODES").splitlines()
        self.assertEqual(len(nodes), 6)
        for line in nodes:
            self.assertRegex(line, r"^[0-9a-f]{40} 127\.0\.0\.1:\d+@\d+\S* \S+ (-|[0-9a-f]{40}) "
                                   r"\d+ \d+ \d+ (dis)?connected( \S+)*$")
        slots = json.loads(self.cli("--json", "CLUSTER", "SLOTS"))
        self.assertEqual(sorted(row[:2] for row in slots)[0][0], 0)
        self.assertEqual(sum(row[1] - row[0] + 1 for row in slots), 16_384)
        shards = json.loads(self.cli("--json", "-3", "CLUSTER", "SHARDS"))
        self.assertEqual(sorted(len(shard["nodes"]) for shard in shards), [2, 2, 2])

    def test_redis_cli_adds_a_node(self):
        node = self.cluster.add_node()
        name = node.told("CLUSTER", "MYID").decode()
        primary = self.cluster.primary_of("key")
        shard = primary.told("CLUSTER", "MYID").decode()
        self.manage("add-node", node.place(), self.first.place(), "--cluster-slave",
                    "--cluster-master-id", shard)
        await_that(lambda: node.place() in self.cluster.shard_of("key").insync, self.cluster.told)
        self.cluster.mayfly("remove", name, "--yes")
        await_that(lambda: node.place() not in self.cluster.shard_of("key").insync,
                   self.cluster.told)
        await_that(lambda: name not in self.cli("CLUSTER", "NODES"), self.cluster.told)
        node.kill()
        self.cluster.nodes.remove(node)

    def test_redis_benchmark(self):
        done = subprocess.run(["redis-benchmark", "--cluster", "-h", self.first.host, "-p",
                               str(self.first.port), "-t", "set,get,incr,hset", "-n", "20000", "-P",
                               "8", "-q", "-r", "10000"], capture_output=True, text=True,
                              check=False, timeout=100)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(re.findall("requests per second", done.stdout)), 4, done)
        self.assertNotIn("Error", done.stdout + done.stderr)


class Program:
    """One that works until it is told to end, and then says what it saw."""

    def __init__(self, name, words, folder, cluster):
        self.name = name
        seeds = ",".join(node.place() for node in cluster.nodes)
        self.process = subprocess.Popen(
            words, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "SEEDS": seeds, "CLIENT": name, "PREFIX": name, "SHARDS": "3"})

    def await_ready(self):
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError(f"{self.name}: {self.process.communicate(timeout=10)[1]}")

    def end(self):
        """What it saw."""
        try:
            said, errors = self.process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"{self.name} hangs: {self.process.communicate()}") from None
        if self.process.returncode != 0:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}: {errors}")
        return json.loads(said.splitlines()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait()


class LibrariesTest(ClusterCase):
    @classmethod
    def setUpClass(cls):
        install()

    def begin(self, cluster):
        node = ["node"]
        kinds = (("python3-redis", [PYTHON, "python_cluster.py"], HERE),
                 ("ioredis", [*node, "cluster_ioredis.js"], NODE),
                 ("iovalkey", [*node, "cluster_ioredis.js"], NODE),
                 ("redis", [*node, "cluster_redis.js"], NODE))
        programs = [self.enterContext(Program(*kind, cluster)) for kind in kinds]
        for program in programs:
            program.await_ready()
        return programs

    def end(self, programs):
        for program in programs:
            with self.subTest(program.name):
                seen = program.end()
                print(f"{program.name}: {seen['requests']} requests, errors {seen['errors']}, "
                      f"the longest took {seen['longest_ms']} ms")
                self.assertEqual(seen["lost"], [])
                unhidden = {error: count for error, count in seen["errors"].items()
                            if not re.search(ON_THE_WAY, error)}
                self.assertEqual(unhidden, {})

    def test_failover_and_handover(self):
        cluster = self.start(shards=3, replicas=1, etcd=1)
        programs = self.begin(cluster)
        pause(1)
        before = cluster.kill_primary(cluster.shard_of("redis:0").name)
        node = cluster.node_at(before.primary)
        await_that(lambda: cluster.shard_of("redis:0").epoch > before.epoch, cluster.told)
        pause(0.5)
        node.restart()
        cluster.await_ok()
        cluster.await_in_sync()
        pause(0.5)
        before = cluster.shard_of("ioredis:0")
        node = cluster.primary_of("ioredis:0")
        cluster.replica_of("ioredis:0")  # to whom it can hand over
        node.process.send_signal(signal.SIGTERM)
        node.process.wait(30)
        node.ended = True
        self.assertGreater(cluster.shard_of("ioredis:0").epoch, before.epoch)
        pause(0.5)
        node.restart()
        cluster.await_in_sync()
        self.end(programs)

    def test_slots_that_move(self):
        """Round and round, most slots of a shard, while all work."""
        cluster = self.start(shards=3, replicas=1, etcd=1)
        programs = self.begin(cluster)
        names = sorted(cluster.records())
        for number in range(6):
            pause(0.3)
            self.move(cluster, names[number % 3], names[(number + 1) % 3])
        self.end(programs)

    def move(self, cluster, source, target):
        """By the command that Valkey has for it."""
        first, last = max(cluster.records()[source].slots, key=lambda pair: pair[1] - pair[0])
        last = min(last, first + 4_000)
        owner = cluster.node_at(cluster.records()[target].primary).told("CLUSTER", "MYID")
        node = cluster.node_at(cluster.records()[source].primary)
        self.assertEqual(node.told("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE",
                                   owner.decode()), "OK")
        await_that(lambda: cluster.records()[target].has(first), cluster.told)


if __name__ == "__main__":
    unittest.main()
