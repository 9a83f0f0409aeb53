#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports about bad states of a server and of etcd: `mayfly cluster status` and `check`, /ready,
the log, and the other tools that are needed then.

    MAYFLY=build/release/mayfly python3 tests/cluster/bad_states_test.py

Combinations are in src/cli/cluster/watch/picture_table_test.cc; here are the real states, of few
processes. The full disk needs root, to mount a small file system in memory.
"""

import json
import os
import subprocess
import unittest
import urllib.error
import urllib.request

import cluster as clusters
import frozen_disk
from mayfly_server import free_port
from resp_client import Closed, await_that

DISK = "8m"
VALUE = "x" * 20_000
OK, FAILED, PROBLEMS = 0, 1, 3


def told_by(*words, stdin=None):
    """(exit code, output)."""
    done = subprocess.run([os.environ["MAYFLY"], *words], capture_output=True, text=True,
                          check=False, timeout=60, stdin=stdin or subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def ready(port):
    """The status and the body of /ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


class WatchedCluster(clusters.Cluster):
    """The first node has a console, and another folder if one is given."""

    def __init__(self, folder=None, **options):
        super().__init__(shards=1, **options)
        self.folder = folder
        self.http_port = free_port()

    def node_options(self, etcd=None):
        own = ()
        if not self.nodes:
            own = ("--http-port", str(self.http_port))
            own += ("--dir", self.folder) if self.folder else ()
        return (*super().node_options(etcd), *own)


class StatesCase(clusters.ClusterCase):
    def tell(self, command, *words):
        return told_by("cluster", command, *words, "--etcd", self.cluster.etcd.urls())

    def assert_told(self, *parts, status=(), words=()):
        """By check, which exits with 3, as text and as JSON; and by status."""
        code, text = self.tell("check", *words)
        self.assertEqual(code, PROBLEMS, text)
        for part in parts:
            self.assertIn(part, text)
        shown = self.tell("status", *words)[1]
        for part in status:
            self.assertIn(part, shown)
        self.assertIn("\n  ! ", shown)
        return text

    def json_of(self, command):
        done = subprocess.run([os.environ["MAYFLY"], "cluster", command, "--json", "--etcd",
                               self.cluster.etcd.urls()], capture_output=True, text=True,
                              check=False, timeout=60, stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)

    def assert_fine(self):
        await_that(lambda: self.tell("check")[0] == OK, lambda: self.tell("check")[1])


class BadStatesTest(StatesCase):
    def setUp(self):
        options = ("--appendonly", "yes", "--save", "")
        self.cluster = self.enterContext(WatchedCluster(replicas=1, etcd=3, options=options))
        self.addCleanup(self.explain, self.cluster)
        self.cluster.create("commands")
        self.primary, self.replica = self.cluster.nodes

    def test_each_state_is_told(self):
        self.assert_fine()
        with self.subTest("no memory"):
            self.check_no_memory()
        with self.subTest("too many clients"):
            self.check_many_clients()
        with self.subTest("a long script"):
            self.check_script()
        with self.subTest("etcd"):
            self.check_etcd()
        with self.subTest("frozen and killed"):
            self.check_stopped()

    def check_no_memory(self):
        client = self.primary.client()
        client.ok("SET", "a", 1)
        client.ok("CONFIG", "SET", "maxmemory", 1)
        self.assertRegex(str(client.ask("SET", "a", 2)), "^OOM ")
        self.assert_told("0 of 1 shards take writes", "says OOM", "raise maxmemory",
                         status=("refuses writes", "16384 slots, 16384 refuse writes"))
        self.assertRegex(str(ready(self.cluster.http_port)), "503.*OOM")
        self.assertIn("maxmemory is reached", self.primary.log())
        client.ok("CONFIG", "SET", "maxmemory", 0)
        client.ok("SET", "a", 3)
        self.assertEqual(ready(self.cluster.http_port)[0], 200)
        self.assert_fine()

    def check_many_clients(self):
        client = self.primary.client()
        client.ok("CONFIG", "SET", "maxclients", 1)
        self.assert_told("raise maxclients", "max number of clients reached",
                         status=("takes no more clients", "0 of 16384 slots known to be served"))
        client.ok("CONFIG", "SET", "maxclients", 10_000)
        self.assert_fine()

    def check_script(self):
        client = self.primary.client()
        client.ok("CONFIG", "SET", "busy-reply-threshold", 10)
        client.send("EVAL", "while true do end", 0)
        await_that(lambda: str(self.primary.told("GET", "a")).startswith("BUSY"), self.primary.log)
        self.assert_told("SCRIPT KILL there", "BUSY Mayfly is busy running a script",
                         status=("  busy ", "0 of 16384 slots served"))
        self.assertRegex(str(ready(self.cluster.http_port)), "503.*busy: a script runs")
        self.primary.told("SCRIPT", "KILL")
        self.assert_fine()

    def check_etcd(self):
        members = self.cluster.etcd.members
        members[0].kill()
        self.assert_told("2 of 3 answer", status=("etcd 2/3", "16384 slots ok"))
        code, text = told_by("cluster", "check", "--etcd", members[1].url())
        self.assertEqual(code, PROBLEMS, text)
        self.assertIn(f" at {members[0].url()}: ", text, "one that is not named")
        members[1].kill()
        self.assert_told("etcd has no majority: 1 of 3 members answer", "2 of 2 answer",
                         status=("2 nodes, 1 shard, 16384 slots ok", "etcd 1/3",
                                 "from one member of etcd"))
        members[2].kill()
        code, text = self.tell("status")
        self.assertEqual(code, FAILED)
        self.assertIn("nodes, shards and slots: unknown", text)
        self.assertEqual(self.tell("check")[0], FAILED)
        self.assertFalse(self.json_of("check")["is_fine"])
        self.assertIsNone(self.json_of("status")["served_slots"])
        place = self.replica.place()
        self.assert_told("etcd has no majority: 0 of 3", "2 of 2 answer", words=("--node", place),
                         status=("2 nodes, 1 shard, 16384 slots ok", "in sync: ",
                                 f"from {place} and the nodes that it knows"))
        shown = json.loads(self.tell("status", "--json", "--node", place)[1])
        self.assertEqual((shown["served_slots"], shown["nodes_answering"]), (16384, 2))
        self.cluster.etcd.start_all()
        self.cluster.await_in_sync()

    def check_stopped(self):
        for node in self.cluster.nodes:
            node.freeze()
        self.assert_told("0 of 2 answer", "is it stopped (kill -CONT)", "WRONG  maps",
                         status=("no answer", "0 of 16384 slots known to be served",
                                 "nor does a replica that could take over"))
        for node in self.cluster.nodes:
            node.thaw()
            node.kill()
        text = self.assert_told("0 of 2 answer", "the shard waits for",
                                "Only if that is impossible: mayfly cluster recover",
                                status=("down", "0 of 2 nodes answer", "0 of 16384 slots served",
                                        "does not run (etcd counts it as alive"))
        self.assertNotIn("--accept-loss", text)


@unittest.skipUnless(frozen_disk.is_possible(frozen_disk.SmallMemory, DISK), "needs root")
class FullDiskTest(StatesCase):
    def setUp(self):
        self.disk = self.enterContext(frozen_disk.SmallMemory(DISK))
        options = ("--appendonly", "yes", "--save", "")
        self.cluster = self.enterContext(
            WatchedCluster(self.disk.folder, replicas=1, options=options))
        self.addCleanup(self.explain, self.cluster)
        self.cluster.create("commands")
        self.primary, self.replica = self.cluster.nodes

    def fill_disk(self):
        self.disk.fill()
        client = self.primary.client()
        for number in range(1_000):
            try:
                if str(client.ask("SET", f"key:{number}", VALUE)).startswith("MISCONF"):
                    return
            except Closed:
                client = self.primary.client()
        self.fail("the disk never was full")

    def test_a_full_disk_is_told(self):
        self.primary.client().ok("SET", "a", 3)
        self.fill_disk()
        self.assert_told("says MISCONF Errors writing to the AOF file: ",
                         "free space on its disk", "Or mayfly cluster failover",
                         status=("refuses writes", "16384 refuse writes"))
        self.assertRegex(str(ready(self.cluster.http_port)), "503.*MISCONF")
        self.assertIn("Cannot write the append-only file", self.primary.log())
        address = f"redis://{self.primary.place()}"
        code, text = told_by("top", address, "--once", "--interval", "0.05")
        self.assertEqual(code, OK, text)
        copy = self.replica.path("copy.db")
        code, text = told_by("import", address, "--db", copy)
        self.assertEqual(code, OK, text)
        self.assertEqual(told_by("get", "--db", copy, "a"), (OK, "3\n"))
        self.disk.make_room()
        await_that(lambda: self.primary.told("PING") == "PONG", self.primary.log)
        self.cluster.await_in_sync()
        self.assert_fine()


class EmptyTest(StatesCase):
    def test_a_shard_without_files_is_told_before_and_after(self):
        self.cluster = self.enterContext(
            WatchedCluster(replicas=0, options=("--save", ""))).create("init")
        node, = self.cluster.nodes
        self.assertEqual(node.told("SET", "a", 1), "OK")
        text = self.assert_told("0 of 1 answering nodes keep their data",
                                status=("keeps its data",))
        self.assertIn("appendonly yes", text)
        code, text = self.tell("check", "--cache")
        self.assertEqual(code, OK, text)
        node.kill()
        node.restart()
        self.cluster.await_ok()
        self.assert_told("came back empty", status=("came back empty",))
        self.assertIn("came back without data", node.log())

    def test_a_primary_that_comes_back_empty_waits_for_a_replica_with_the_data(self):
        """The set is empty, because the replica was frozen for a while."""
        self.cluster = self.enterContext(
            WatchedCluster(replicas=1, options=("--save", ""))).create("init")
        self.addCleanup(self.explain, self.cluster)
        (name, shard), = self.cluster.records().items()
        primary = self.cluster.node_at(shard.primary)
        replica = self.cluster.node_at(shard.insync[0])
        client = primary.client()
        client.ok("SET", "a", 1)
        self.assertEqual(client.ask("WAIT", 1, 0), 1)
        replica.freeze()
        await_that(lambda: not self.cluster.records()[name].insync, self.cluster.told)
        primary.kill()
        primary.restart()
        await_that(lambda: "waits: this process has loaded less" in primary.log(), primary.log)
        replica.thaw()
        waits = f"but {replica.place()} lives with data of it"
        self.assert_told(waits, f"mayfly cluster recover {name}", status=(waits,))
        self.assertEqual(self.cluster.records()[name].epoch, shard.epoch)
        self.cluster.mayfly("recover", name, "--accept-loss", "--yes")
        await_that(lambda: replica.told("GET", "a") == b"1", self.cluster.told)
        self.cluster.await_in_sync()
        self.assertEqual(self.cluster.records()[name].primary, replica.place())

        for node in self.cluster.nodes:  # the data is lost
            node.kill()
        for node in self.cluster.nodes:
            node.restart()
        self.cluster.await_ok()
        self.cluster.await_in_sync()

    def test_a_primary_that_comes_back_with_an_old_snapshot_waits_for_a_replica_with_more(self):
        """The snapshot is of the same epoch, so only the offset shows that it is old."""
        self.cluster = self.enterContext(
            WatchedCluster(replicas=1, options=("--save", ""))).create("init")
        self.addCleanup(self.explain, self.cluster)
        (name, shard), = self.cluster.records().items()
        primary = self.cluster.node_at(shard.primary)
        replica = self.cluster.node_at(shard.insync[0])
        client = primary.client()
        client.ok("SET", "a", "old")
        client.ok("SAVE")
        client.ok("SET", "a", "new")
        self.assertEqual(client.ask("WAIT", 1, 0), 1)
        replica.freeze()
        await_that(lambda: not self.cluster.records()[name].insync, self.cluster.told)
        primary.kill()
        primary.restart()
        await_that(lambda: "has not announced how much" in primary.log(), primary.log)
        replica.thaw()
        await_that(lambda: "waits: this process has loaded less" in primary.log(), primary.log)
        waits = f"but {replica.place()} lives with data of it"
        self.assert_told(waits, f"mayfly cluster recover {name}", status=(waits,))
        self.assertEqual(self.cluster.records()[name].epoch, shard.epoch)
        self.cluster.mayfly("recover", name, "--accept-loss", "--yes")
        await_that(lambda: replica.told("GET", "a") == b"new", self.cluster.told)
        self.cluster.await_in_sync()
        self.assertEqual(self.cluster.records()[name].primary, replica.place())
        self.assertEqual(replica.told("GET", "a"), b"new")

    def test_a_primary_that_comes_back_with_all_of_its_data_leads_again(self):
        """Its replica is not in the set, but lives: it announces that it has no more."""
        self.cluster = self.enterContext(
            WatchedCluster(replicas=1, options=("--appendonly", "yes"))).create("init")
        self.addCleanup(self.explain, self.cluster)
        (name, shard), = self.cluster.records().items()
        primary = self.cluster.node_at(shard.primary)
        replica = self.cluster.node_at(shard.insync[0])
        replica.freeze()
        await_that(lambda: not self.cluster.records()[name].insync, self.cluster.told)
        primary.client().ok("SET", "a", 1)
        primary.stop()
        primary.restart()
        replica.thaw()
        await_that(lambda: primary.told("GET", "a") == b"1", self.cluster.told)
        self.assertEqual(self.cluster.records()[name].primary, primary.place())
        self.cluster.await_in_sync()

    def test_a_shard_that_was_empty_before_has_lost_nothing(self):
        self.cluster = self.enterContext(
            WatchedCluster(replicas=0, options=("--appendonly", "yes"))).create("init")
        node, = self.cluster.nodes
        self.assertEqual((node.told("SET", "a", 1), node.told("DEL", "a")), ("OK", 1))
        node.stop()
        node.restart()
        self.cluster.await_ok()
        self.assertEqual(int(node.state()["cluster_epoch"]), 2)
        self.assert_fine()
        self.assertNotIn("came back without data", node.log())


if __name__ == "__main__":
    unittest.main()
