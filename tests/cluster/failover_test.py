#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults, one by one, under load: what was safe stays, one server answers at a time, and only what
is broken stops.

    MAYFLY=build/release/mayfly python3 tests/cluster/failover_test.py
"""

import contextlib
import signal
import unittest

import history
from cluster import Cluster, ClusterCase
from cluster_client import now, slot_of
from load import Load
from resp_client import Failure, await_that, pause

KEYS_EACH = 8  # of each shard
TAKEOVER_S = 30  # far more than the bar, since others use this machine, too
ATTEMPTS = 3  # at what only a calm machine shows
UNNOTICED_S = 1.5  # without a write
KEYS = 200


class Disturbed(AssertionError):
    """Clients have noticed something that they should not. The cluster is to blame, or the machine,
    which has stood still for a second: only another try can tell."""


class FaultCase(ClusterCase):
    """One cluster for all tests; each finds it well."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(shards=3, replicas=1, etcd=3)).create()

    def setUp(self):
        self.addCleanup(self.explain, self.cluster)
        self.cluster.revive()
        self.watch = self.enterContext(self.cluster.watch())
        self.choose_keys(self.id().split(".")[-1].removeprefix("test_"))

    def choose_keys(self, name):
        """That nobody has used before."""
        self.name = name
        self.keys = self.cluster.keys_by_shard(KEYS_EACH, self.name)
        self.all_keys = [key for keys in self.keys.values() for key in keys]
        self.shard = sorted(self.keys)[0]
        self.key = self.keys[self.shard][0]

    @contextlib.contextmanager
    def load(self, **options):
        with Load(self.cluster, self.all_keys, **options) as load:
            pause(0.5)
            yield load
            pause(0.5)
        load.verify(self.watch)
        print(f"{self.name}: {load.counts()}, "
              f"longest without a write {load.longest_gap():.2f} s")

    def calmly(self, scenario):
        """Runs it again when it was disturbed, with a cluster that is well and new keys."""
        name = self.name
        for number in range(1, ATTEMPTS + 1):
            try:
                return scenario()
            except Disturbed as error:
                if number == ATTEMPTS:
                    raise
                print(f"{name} is tried again: {error}")
            self.cluster.revive()
            self.choose_keys(f"{name}-{number}")

    def check_unnoticed(self, counts, words=("unknown", "CLUSTERDOWN")):
        """Everybody was answered in time."""
        noticed = {word: counts[word] for word in words if counts.get(word)}
        if noticed:
            raise Disturbed(f"{noticed} of {counts}")

    def await_takeover(self, epoch, patience=TAKEOVER_S):
        def look():
            return self.cluster.records()[self.shard].epoch > epoch

        await_that(look, self.cluster.told, patience)

    def record(self):
        return self.cluster.records()[self.shard]

    def await_write(self):
        """Until the shard takes a write. Returns how long that took."""
        begin = now()
        client = self.cluster.client()
        await_that(lambda: client.one(self.key + "!", "SET", "{" + self.key + "}w", 1) == "OK",
                   self.cluster.told)
        client.close()
        return now() - begin


class FaultTest(FaultCase):
    def test_a_primary_that_is_killed(self):
        with self.load() as load:
            before = self.cluster.kill_primary(self.shard)
            self.await_takeover(before.epoch)
            self.await_write()
        self.assertEqual(self.record().primary, before.insync[0])
        self.assertGreater(load.counts()["safe"], 0)

    def test_a_primary_that_is_killed_and_started_at_once(self):
        """The new process proves that the old memory is dead: nobody waits for the grace."""
        with self.load():
            before = self.cluster.kill_primary(self.shard)
            begin = now()
            self.cluster.node_at(before.primary).restart()
            self.await_takeover(before.epoch)
            print(f"taken over after {now() - begin:.2f} s with a restart")
        self.assertEqual(self.record().primary, before.insync[0])

    def test_a_replica_that_is_killed(self):
        """It is taken out of the set before the lease of the primary ends: nobody notices."""
        self.calmly(self.replica_is_killed)

    def replica_is_killed(self):
        epoch = self.record().epoch
        with self.load() as load:
            self.cluster.replica_of(self.key).kill()
            await_that(lambda: not self.record().insync, self.cluster.told)
            pause(1.5)
        self.check_unnoticed(load.counts())
        if self.record().epoch != epoch:
            raise Disturbed("the primary was replaced")

    def test_etcd_that_is_down(self):
        self.calmly(self.etcd_is_down)

    def etcd_is_down(self):
        with self.load() as load:
            self.cluster.etcd.kill_all()
            pause(8)
            during = load.counts()
            self.cluster.etcd.start_all()
        self.check_unnoticed(during, ("unknown", "CLUSTERDOWN", "TRYAGAIN"))
        if load.longest_gap() >= UNNOTICED_S:
            raise Disturbed(f"no write for {load.longest_gap():.2f} s")

    def test_the_leader_of_etcd_together_with_a_primary(self):
        with self.load():
            leader = self.cluster.etcd.leader()
            before = self.cluster.kill_primary(self.shard)
            leader.kill()
            self.await_takeover(before.epoch)
            self.await_write()

    def test_a_primary_that_is_asked_to_end_hands_over(self):
        """Nothing is lost at all, waited for or not: and it takes no grace."""
        self.calmly(self.primary_is_asked_to_end)

    def primary_is_asked_to_end(self):
        before, node = self.record(), self.cluster.primary_of(self.key)
        with self.load() as load:
            self.cluster.replica_of(self.key)
            begin = now()
            node.process.send_signal(signal.SIGTERM)
            self.await_takeover(before.epoch)
            node.process.wait(30)
            node.ended = True
            end = now()
            pause(0.5)
        self.assertEqual(node.process.returncode, 0, node.all_logs())
        mine = [op for op in load.ops() if op.key in self.keys[self.shard]
                and op.kind == history.SET and op.outcome == history.OK]
        gap = longest_gap(mine, begin - 0.5, end + 0.5)
        print(f"handover: the shard took no write for {gap * 1000:.0f} ms")
        steady = [op for op in load.ops() if "brief:" not in op.key]
        self.assertEqual(history.linearizable(steady)[:3], [])
        if gap >= UNNOTICED_S:
            raise Disturbed(f"no write for {gap:.2f} s")

    def test_a_planned_handover_by_command(self):
        replica = self.cluster.replica_of(self.key)
        with self.load() as load:
            self.cluster.hand_over(self.shard, replica)
            pause(0.3)
        steady = [op for op in load.ops() if "brief:" not in op.key]
        self.assertEqual(history.linearizable(steady)[:3], [])
        self.assertEqual(self.record().primary, replica.place())

    def test_a_takeover_by_force(self):
        """The primary is frozen: nobody waits for its promises to end."""
        before = self.cluster.freeze_primary(self.shard)
        replica = self.cluster.node_at(before.insync[0])
        self.assertEqual(replica.told("CLUSTER", "FAILOVER", "TAKEOVER"), "OK")
        self.await_takeover(before.epoch)
        self.assertEqual(self.record().primary, replica.place())

    def test_a_forced_failover(self):
        """The primary is frozen: the replica that is told takes over when its promise ends."""
        before = self.cluster.freeze_primary(self.shard)
        replica = self.cluster.node_at(before.insync[0])
        self.assertEqual(replica.told("CLUSTER", "FAILOVER", "FORCE"), "OK")
        self.await_takeover(before.epoch)
        self.assertEqual(self.record().primary, replica.place())

    def test_a_takeover_without_etcd_is_refused(self):
        replica = self.cluster.replica_of(self.key)
        self.cluster.etcd.kill_all()
        try:
            said = replica.told("CLUSTER", "FAILOVER", "TAKEOVER")
            self.assertIsInstance(said, Failure)
            self.assertIn("etcd cannot be reached, and nothing was changed", str(said))
        finally:
            self.cluster.etcd.start_all()
        self.assertEqual(self.cluster.primary_of(self.key).told("SET", self.key, 1), "OK")


def longest_gap(ops, begin, end):
    ends = sorted(op.end for op in ops if begin <= op.end <= end)
    return max((later - sooner for sooner, later in zip(ends, ends[1:])), default=0.0)


class AllDownTest(ClusterCase):
    """5.7: all memories of a shard are gone, the files are not."""

    OPTIONS = ("--appendonly", "yes", "--appendfsync", "always")

    def setUp(self):
        self.cluster = self.start(shards=1, replicas=1, etcd=1, options=self.OPTIONS)
        client = self.cluster.primary_of("key").client()
        client.pipeline(("SET", f"key:{number}", number) for number in range(KEYS))
        self.assertEqual(client.ask("WAIT", 1, 20_000), 1)

    def check_contents(self):
        asking = self.cluster.client()
        self.assertEqual(asking.one("key", "SET", "key", 1), "OK")  # waits until somebody serves
        asking.close()
        client = self.cluster.primary_of("key").client()
        values = client.pipeline(("GET", f"key:{number}") for number in range(KEYS))
        self.assertEqual(values, [str(number).encode() for number in range(KEYS)])

    def test_all_start_again(self):
        for node in self.cluster.nodes:
            node.kill()
        for node in self.cluster.nodes:
            node.restart()
        self.cluster.await_ok()
        self.check_contents()
        self.cluster.await_in_sync()

    def test_one_is_missing(self):
        """It may have more than the others: the shard waits for it."""
        other = self.cluster.replica_of("key")
        before = next(iter(self.cluster.records().values()))
        missing = self.cluster.node_at(before.primary)
        for node in self.cluster.nodes:
            node.kill()
        other.restart()
        pause(4)
        self.assertRegex(str(other.told("SET", "key", 1)), "^(CLUSTERDOWN|MOVED) ")
        self.assertEqual(next(iter(self.cluster.records().values())).epoch, before.epoch)
        missing.restart()
        self.cluster.await_ok()
        self.check_contents()


class BadStateTest(ClusterCase):
    def test_etcd_that_cannot_be_reached_at_the_start(self):
        cluster = self.start(shards=1, replicas=0, etcd=1)
        client = cluster.client()
        self.assertEqual(client.one("key", "SET", "key", 1), "OK")
        client.close()
        node = cluster.nodes[0]
        node.kill()
        cluster.etcd.kill_all()
        node.restart()
        self.assertRegex(str(node.told("GET", "key")), "^CLUSTERDOWN ")
        await_that(lambda: node.state().get("cluster_state") == "fail", node.log)
        cluster.etcd.start_all()

    def test_two_processes_in_one_folder(self):
        cluster = self.start(shards=1, replicas=0, etcd=1)
        node, other = cluster.nodes[0], cluster.add_node()
        other.kill()
        other.options += ("--dir", node.folder)
        other.spawn()
        said = other.end_refused()
        self.assertIn("in use by another server", said)

    def test_a_node_of_another_cluster(self):
        one = self.start(shards=1, replicas=0, etcd=1)
        other = self.start(shards=1, replicas=0, etcd=1)
        node = one.nodes[0]
        node.kill()
        node.options = tuple(other.etcd.urls() if word == one.etcd.urls() else word
                             for word in node.options)
        node.spawn()
        await_that(lambda: "cluster" in node.log() and self.is_refused(node), node.log)
        self.assertEqual(len(other.records()), 1)

    def is_refused(self, node):
        """It has ended, or serves nobody."""
        if node.process.poll() is not None:
            node.ended = True
            return True
        return isinstance(node.told("SET", "key", 1), Failure) and "another" in node.log()

    def test_keys_of_other_slots_and_other_databases(self):
        cluster = self.start(shards=3, replicas=0, etcd=1)
        node = cluster.primary_of("key")
        other = next(one for one in cluster.nodes if one is not node)
        slot = slot_of("key")
        self.assertEqual(other.told("SET", "key", 1), f"MOVED {slot} {node.place()}")
        self.assertRegex(str(node.told("MGET", "key", "other")), "^CROSSSLOT ")
        for words in (("SELECT", 1), ("SWAPDB", 0, 1), ("REPLICAOF", "127.0.0.1", 1),
                      ("MOVE", "key", 1), ("CLUSTER", "SETSLOT", 1, "STABLE")):
            self.assertIsInstance(node.told(*words), Failure, words)


if __name__ == "__main__":
    unittest.main()
