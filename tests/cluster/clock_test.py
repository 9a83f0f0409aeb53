#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes whose wall clocks differ. Within what is allowed, deadlines hold and nothing comes back
through takeovers and moves of slots; beyond it, a replica is kept out and a move refused, and both
say why. A clock that was wrong once, by an hour or a day, becomes the time of nobody else.

    MAYFLY=build/release/mayfly python3 tests/cluster/clock_test.py [--long]
"""

import os
import re
import subprocess
import sys
import time
import unittest

from cluster import Cluster, ClusterCase
from cluster_client import now
from history import NEVER
from load import Load
from register_watch import lines_of
from resp_client import await_that, pause
from wrong_clocks import DAY_MS, HOUR_MS, WrongClocks

APART_MS = 400
ALLOWED_MS = 500  # cluster-max-clock-difference
SLACK_MS = 2000  # of a busy machine; far less than an hour
TOO_FAR_MS = 2000
LEASE_MS = "5000"  # a replica with another clock stays in the set for so long
WRITERS = 2  # of the clients
IS_LONG = "--long" in sys.argv


class Deadlines(Load):
    """Nothing but keys and fields that live for a short time, and are looked at until the end. Some
    clients only read: they go on while writes are held."""

    def step(self, recorder, chance):
        if recorder in self.recorders[:WRITERS] and chance.random() < 0.3:
            self.new_brief(recorder, chance, chance.choice(self.keys), chance.random() < 0.7)
        for name in chance.sample(list(self.brief), min(len(self.brief), 3)):
            is_field, until = self.brief.get(name, (False, NEVER))
            if now() > until - 2:  # a second before its deadline
                (recorder.hget(name, "f") if is_field else recorder.get(name))
            if now() > until:
                self.brief.pop(name, None)


class ClockCase(ClusterCase):
    def start_with(self, offsets_ms, replicas):
        clocks = self.enterContext(WrongClocks(offsets_ms))
        self.cluster = self.enterContext(Cluster(2, replicas, etcd=1, network=clocks))
        self.addCleanup(self.explain, self.cluster)
        return clocks

    def id_of(self, node):
        return node.told("CLUSTER", "MYID").decode()

    def primary(self, shard):
        return self.cluster.node_at(self.cluster.records()[shard].primary)

    def begin(self, source, target, first, last):
        self.assertEqual(source.told("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE",
                                     self.id_of(target)), "OK")


class NearTest(ClockCase):
    """Both nodes of a shard, and the primaries of both shards, are 400 ms apart."""

    def test_deadlines_through_takeovers_and_moves(self):
        self.start_with([APART_MS, 0, 0, APART_MS], replicas=1)
        self.cluster.create("commands")
        shards = sorted(self.cluster.records())
        keys = [key for mine in self.cluster.keys_by_shard(6).values() for key in mine]
        with self.cluster.watch() as watch:
            for turn in range(6 if IS_LONG else 1):
                with Deadlines(self.cluster, keys, clients=6, name=f"t{turn}-") as load:
                    pause(1.5)
                    self.change_hands(shards)
                    if IS_LONG:
                        self.change_hands(shards[::-1])
                load.verify(watch)
                self.check_it_saw_something(load)

    def change_hands(self, shards):
        """Slots move one way, and a shard gets another primary: without a pause, and with one."""
        source, target = shards
        first, last = self.cluster.records()[source].slots[0]
        node = self.primary(source)
        self.hold(node)
        self.begin(node, self.primary(target), first, last - 10)
        await_that(lambda: self.cluster.records()[target].has(first), self.cluster.told)
        node.told("CLIENT", "UNPAUSE")
        pause(0.7)
        self.take_over(source, self.hand_over)
        self.take_over(target, self.kill_and_restart)
        if IS_LONG:
            self.take_over(target, self.cluster.kill_primary)

    def hand_over(self, shard):
        replica = await_that(lambda: self.cluster.records()[shard].insync, self.cluster.told)[0]
        self.cluster.hand_over(shard, self.cluster.node_at(replica))

    def kill_and_restart(self, shard):
        self.cluster.node_at(self.cluster.kill_primary(shard).primary).restart()

    def hold(self, node):
        """What is due is hidden there, and not removed: only the next owner's clock can show that
        it is gone."""
        self.assertEqual(node.told("CLIENT", "PAUSE", 5000, "WRITE"), "OK")
        pause(1.5 * APART_MS / 1000)

    def take_over(self, shard, fault):
        before = self.cluster.records()[shard]
        node = self.cluster.node_at(before.primary)
        self.hold(node)
        fault(shard)
        await_that(lambda: self.cluster.records()[shard].epoch > before.epoch, self.cluster.told)
        if node.is_up():
            node.told("CLIENT", "UNPAUSE")
        pause(0.7)
        self.cluster.revive()

    def check_it_saw_something(self, load):
        ops = [op for op in load.ops() if op.kind == "get" and op.outcome == "ok"]
        gone = sum(op.value is None for op in ops)
        print(f"{load.counts()}; {gone} of {len(ops)} looks found nothing")
        self.assertGreater(gone, 100)
        self.assertGreater(len(ops) - gone, 100)


class FarTest(ClockCase):
    def test_a_replica_is_kept_out_and_a_move_refused(self):
        clocks = self.start_with([0, TOO_FAR_MS], replicas=0)
        self.cluster.create("commands")
        primary, other = self.cluster.nodes
        shard = next(name for name, record in self.cluster.records().items()
                     if record.primary == primary.place())
        replica = self.cluster.add_node(clocks.place(-TOO_FAR_MS))
        self.cluster.check(primary, "CLUSTER", "MEET", replica.host, replica.port)
        await_that(lambda: self.cluster.knows(replica, self.id_of(primary)), self.cluster.told)
        self.cluster.check(replica, "CLUSTER", "REPLICATE", self.id_of(primary))

        member = f"cluster_member_{self.id_of(replica)}"
        await_that(lambda: "refused=clock" in primary.state().get(member, ""), self.cluster.told)
        self.assertEqual(self.cluster.records()[shard].insync, ())
        why = r"its clock is \d{4} ms behind"
        self.assertRegex(primary.log(), rf"does not add \w+ to the set: {why}")
        difference = await_that(lambda: self.difference(replica), self.cluster.told)
        self.assertAlmostEqual(difference, TOO_FAR_MS, delta=300)
        self.assertIn(b"master_link_status:up", replica.told("INFO", "replication"))
        said = self.cluster.mayfly("status")
        self.assertRegex(said, rf"has a wrong clock \(-\d+ ms\)(.|\n)*{why}")
        code, said = self.check_command()
        self.assertEqual(code, 3, said)
        self.assertRegex(said, why)

        self.check_the_move(shard, other)

    def difference(self, node):
        """0 if it does not answer."""
        return int(node.state().get("cluster_peer_clock_difference_ms", 0))

    def check_command(self):
        words = [os.environ["MAYFLY"], "cluster", "check", "--etcd", self.cluster.etcd.urls()]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def check_the_move(self, shard, other):
        target = next(name for name, record in self.cluster.records().items()
                      if record.primary == other.place())
        before = self.cluster.records()[shard].slots
        source = self.primary(shard)
        self.begin(source, self.primary(target), *before[0])
        why = r"move \w+ failed: .*clocks of both primaries differ by -?\d+ ms"
        await_that(lambda: re.search(why, source.log()), self.cluster.told)
        pause(0.5)
        self.assertEqual(self.cluster.records()[shard].slots, before)


class JumpTest(ClockCase):
    """The wall clock of one node is wrong for a moment."""

    def start_one_shard(self, replicas):
        self.clocks = self.enterContext(WrongClocks([0] * (1 + replicas)))
        self.cluster = self.enterContext(
            Cluster(1, replicas, etcd=1, network=self.clocks,
                    options=("--cluster-lease", LEASE_MS)))
        self.addCleanup(self.explain, self.cluster)
        self.cluster.create("commands")
        self.shard, = self.cluster.records()

    def ahead_ms(self, node):
        """Of the right time."""
        begin = time.time()
        seconds, microseconds = node.told("TIME")
        middle = (begin + time.time()) / 2
        return (int(seconds) + int(microseconds) / 1e6 - middle) * 1000

    def await_pulse_of(self, hour_node, other):
        """The other one has heard that time."""
        number = self.cluster.nodes.index(hour_node)
        self.clocks.set(number, HOUR_MS)
        await_that(lambda: self.cluster_difference(other) > HOUR_MS / 2, self.cluster.told)

    def cluster_difference(self, node):
        return int(node.state().get("cluster_peer_clock_difference_ms", 0))

    def check_time(self, node):
        self.assertLess(abs(self.ahead_ms(node)), ALLOWED_MS + SLACK_MS)
        self.assertLessEqual(int(node.state()["cluster_clock_floor_ms"]), ALLOWED_MS)
        since = int(self.record_of(self.shard)["since"])
        self.assertLess(since / 1000 - time.time(), (ALLOWED_MS + SLACK_MS) / 1000)

    def record_of(self, shard):
        record = self.cluster.etcd.client.read_soon("/mayfly/main/")[f"shards/{shard}"]
        return dict(lines_of(record.text))

    def test_a_takeover_from_an_hour_ahead(self):
        self.start_one_shard(1)
        primary, replica = self.cluster.nodes
        self.await_pulse_of(primary, replica)
        before = self.cluster.kill_primary(self.shard)
        self.clocks.set(0, 0)
        await_that(lambda: self.cluster.records()[self.shard].epoch > before.epoch,
                   self.cluster.told)
        await_that(lambda: replica.told("SET", "a", 1) == "OK", self.cluster.told)
        self.assertRegex(replica.log(), r"does not take over a time that is \d{7} ms ahead")
        self.check_time(replica)
        primary.restart()
        self.cluster.await_in_sync()

    def test_a_handover_from_an_hour_ahead(self):
        self.start_one_shard(1)
        primary, replica = self.cluster.nodes
        self.await_pulse_of(primary, replica)
        self.cluster.hand_over(self.shard, replica)
        self.clocks.set(0, 0)
        await_that(lambda: replica.told("SET", "a", 1) == "OK", self.cluster.told)
        self.cluster.await_in_sync()
        self.assertLess(abs(self.ahead_ms(replica)), ALLOWED_MS + SLACK_MS)
        self.assertLessEqual(int(replica.state()["cluster_clock_floor_ms"]), ALLOWED_MS)

    def test_a_node_that_boots_a_day_ahead(self):
        self.start_one_shard(0)
        node, = self.cluster.nodes
        node.kill()
        self.clocks.set(0, DAY_MS)
        node.restart()
        self.cluster.await_ok()
        self.assertGreater(self.ahead_ms(node), DAY_MS / 2)
        self.clocks.set(0, 0)
        await_that(lambda: abs(self.ahead_ms(node)) < ALLOWED_MS + SLACK_MS, self.cluster.told)
        self.assertIn("the clock of this machine has been set back", node.log())
        words = [os.environ["MAYFLY"], "cluster", "check", "--cache", "--etcd",
                 self.cluster.etcd.urls()]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"mayfly cluster reset-clock {self.shard}", done.stdout)
        said = self.cluster.mayfly("reset-clock", self.shard, "--yes")
        self.assertIn("its time is reset", said)
        self.check_time(node)


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--long"])
