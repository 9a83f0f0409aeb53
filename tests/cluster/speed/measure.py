#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a cluster, and says how it did. Nothing passes or fails here.

    MAYFLY=build/release/mayfly python3 tests/cluster/speed/measure.py [WHAT ...] [--times N]
        [--json] [--peer redis]

WHAT: kill, restart, etcd-leader, handover, stale, etcd-down, throughput, instructions, in-sync,
move, memory (measure_speed.py has the last five). All of them by default. --peer redis: what of it
can be asked of Debian's redis-server.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cluster import Cluster, RedisCluster, SLOTS
from cluster_client import ClusterClient, Connection, now
from load import Load
from mayfly_server import Redis
from measure_speed import KEY, ROUNDS, SpeedMeasures, Writes, benchmark, compared, summary
from resp_client import Closed, await_that, pause

ALL = ("kill", "restart", "etcd-leader", "handover", "stale", "etcd-down", "throughput",
       "instructions", "in-sync", "move", "memory")
IN_SOCKETS = 50
ON_ITS_WAY_S = 0.01


class MayflyMeasures(SpeedMeasures):
    def __init__(self, times):
        self.times = times

    @contextlib.contextmanager
    def cluster(self, *words, **options):
        with Cluster(*words, **options) as cluster:
            yield cluster.create()

    def crash(self, etcd, fault):
        """Times from a fault at the primary of a key to the first write that is accepted."""
        taken = []
        with self.cluster(3, 1, etcd=etcd) as cluster:
            for number in range(self.times):
                cluster.revive()
                pause(0.3 + number % 7 * 0.05)
                with Writes(cluster) as writes:
                    pause(0.2)
                    node = cluster.primary_of(KEY)
                    begin = now()
                    fault(cluster, node)
                    # What was on its way may have been accepted just before.
                    taken.append(writes.wait_first(begin + ON_ITS_WAY_S) + ON_ITS_WAY_S)
        return summary(taken)

    def kill(self):
        return self.crash(1, lambda _, node: node.kill())

    def restart(self):
        def fault(_, node):
            node.kill()
            node.restart()

        return self.crash(1, fault)

    def etcd_leader(self):
        def fault(cluster, node):
            node.process.kill()
            cluster.etcd.leader().kill()
            node.kill()

        return self.crash(3, fault)

    def handover(self):
        gaps = []
        with self.cluster(1, 1, etcd=1) as cluster:
            for _ in range(self.times):
                cluster.await_in_sync()
                epoch = cluster.shard_of(KEY).epoch
                with Writes(cluster) as writes:
                    pause(0.3)
                    begin = now()
                    cluster.replica_of(KEY).told("CLUSTER", "FAILOVER")
                    await_that(lambda old=epoch: cluster.shard_of(KEY).epoch > old, cluster.told)
                    pause(0.3)
                    gaps.append(writes.longest_gap(begin - 0.2, now()))
        return summary(gaps)

    def stale(self):
        counts = []
        with self.cluster(3, 1, etcd=1) as cluster:
            for _ in range(max(3, self.times // 5)):
                cluster.revive()
                epoch = cluster.shard_of(KEY).epoch
                counts.append(stale_replies(cluster.primary_of(KEY), lambda old=epoch: await_that(
                    lambda: cluster.shard_of(KEY).epoch > old, cluster.told)))
        return {"stale_ok": sum(counts), "of": IN_SOCKETS * len(counts)}

    def etcd_down(self, seconds=60):
        with self.cluster(3, 1, etcd=3) as cluster:
            keys = [key for keys in cluster.keys_by_shard(10).values() for key in keys]
            before = cluster.etcd.client.revision()
            pause(10)
            writes = cluster.etcd.client.revision() - before
            with Load(cluster, keys, clients=4, wait=0.1) as load:
                pause(1)
                cluster.etcd.kill_all()
                pause(seconds)
                counts = load.counts()
                cluster.etcd.start_all()
                pause(1)
            failed = sum(counts.get(word, 0) for word in ("unknown", "unreachable", "CLUSTERDOWN",
                                                          "TRYAGAIN"))
            return {"seconds": seconds, "requests": counts["sent"], "failed": failed,
                    "longest_gap_ms": round(load.longest_gap() * 1000, 1),
                    "writes_to_etcd_in_10_s_without_a_fault": writes}


class RedisMeasures:
    """With a timeout of 5 s, as it is often set; the default is 15 s."""

    OPTIONS = ("--cluster-node-timeout", "5000")

    def __init__(self, times):
        self.times = times

    def primary(self, cluster):
        client = ClusterClient(cluster.addresses())
        while True:
            answer = client.ask(KEY, ("SET", KEY, 1))
            if answer and answer.replies and answer.replies[0] == "OK":
                client.close()
                return cluster.node_at(answer.owner)

    def kill(self):
        taken = []
        with RedisCluster(3, 1, self.OPTIONS) as cluster:
            cluster.create()
            for _ in range(self.times):
                node = self.primary(cluster)
                with Writes(cluster) as writes:
                    pause(0.2)
                    begin = now()
                    node.kill()
                    taken.append(writes.wait_first(begin + ON_ITS_WAY_S) + ON_ITS_WAY_S)
                node.restart()
                cluster.await_ok()
                await_that(lambda: self.is_replicated(cluster), cluster.told)
        return summary(taken)

    def is_replicated(self, cluster):
        roles = [node.told("ROLE") for node in cluster.nodes]
        return sum(bool(role) and role[0] == b"slave" and role[3] == b"connected"
                   for role in roles) == 3

    def stale(self):
        with RedisCluster(3, 1, self.OPTIONS) as cluster:
            cluster.create()
            node = self.primary(cluster)

            def await_other():
                await_that(lambda: self.primary(cluster) is not node, cluster.told)

            return {"stale_ok": stale_replies(node, await_other), "of": IN_SOCKETS}

    def throughput(self):
        rates = {"plain": {"SET": [], "GET": []}, "cluster": {"SET": [], "GET": []}}
        with Redis() as plain, RedisCluster(1, 0, self.OPTIONS) as cluster:
            cluster.nodes[0].told("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
            cluster.await_ok()
            for _ in range(ROUNDS):
                for name, node in (("plain", plain), ("cluster", cluster.nodes[0])):
                    for test, rate in benchmark(node).items():
                        rates[name][test].append(rate)
        return compared(rates, "plain", "cluster")


def stale_replies(node, await_takeover):
    """How many writes in the sockets of a frozen primary are answered with OK after it was replaced
    and goes on."""
    sockets = [Connection(node.address(), patience=10) for _ in range(IN_SOCKETS)]
    for connection in sockets:
        connection.ask("SET", KEY, 0)
    node.freeze()
    for connection in sockets:
        connection.send("SET", "{" + KEY + "}stale", 1)
    await_takeover()
    node.thaw()
    count = 0
    for connection in sockets:
        with contextlib.suppress(Closed):
            count += connection.receive() == "OK"
        connection.close()
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--peer", choices=["redis"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measures = (RedisMeasures if options.peer else MayflyMeasures)(options.times)
    names = options.what or [name for name in ALL if hasattr(measures, name.replace("-", "_"))]
    results = {}
    for name in names:
        begin = time.monotonic()
        results[name] = getattr(measures, name.replace("-", "_"))()
        if not options.json:
            print(f"{name}: {json.dumps(results[name])} ({time.monotonic() - begin:.0f} s)",
                  flush=True)
    if options.json:
        print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
