# SPDX-License-Identifier: Apache-2.0
"""How fast a cluster is, for measure.py: requests, replies that wait, slots that move, memory."""

import re
import statistics
import subprocess
import threading

from cluster import LOOPBACK, Cluster, MayflyNode
from cluster_client import ClusterClient, now, slot_of
from mayfly_server import Mayfly
from resp_client import await_that, pause

KEY = "key"
ROUNDS = 10
BENCHMARK_REQUESTS = 400_000
COUNTED_REQUESTS = 40_000
MOVED_KEYS = 200_000
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


def summary(seconds, unit=1000):
    """Of some times, in milliseconds."""
    values = sorted(value * unit for value in seconds)
    if not values:
        return {"count": 0}
    at = min(len(values) - 1, int(len(values) * 0.99))
    return {"count": len(values), "p50_ms": round(statistics.median(values), 1),
            "p99_ms": round(values[at], 1), "max_ms": round(values[-1], 1),
            "min_ms": round(values[0], 1)}


class Writes:
    """One client that writes a key all the time; when each write was accepted."""

    def __init__(self, cluster, key=KEY):
        self.client = ClusterClient(cluster.addresses())
        self.key = key
        self.accepted = []
        self.took = []
        self.failed = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        await_that(lambda: self.accepted, "a write is accepted")
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        self.client.close()

    def run(self):
        while not self.is_over.wait(0.0005):
            begin = now()
            if self.client.one(self.key, "SET", self.key, 1) == "OK":
                self.accepted.append(now())
                self.took.append((begin, self.accepted[-1] - begin))
            else:
                self.failed += 1

    def first_after(self, moment):
        return next((end for end in self.accepted if end > moment), None)

    def wait_first(self, moment):
        await_that(lambda: self.first_after(moment), "a write after the fault")
        return self.first_after(moment) - moment

    def latencies(self, begin, end):
        return [seconds for moment, seconds in self.took if begin <= moment <= end]

    def longest_gap(self, begin, end):
        times = [moment for moment in self.accepted if begin <= moment <= end]
        return max((later - sooner for sooner, later in zip(times, times[1:])), default=0.0)


class SpeedMeasures:
    def throughput(self):
        """A one-node cluster beside the same server without one."""
        rates = {"plain": {"SET": [], "GET": []}, "cluster": {"SET": [], "GET": []}}
        with Mayfly() as plain, self.cluster(1, 0, etcd=1) as cluster:
            for _ in range(ROUNDS):
                for name, node in (("plain", plain), ("cluster", cluster.nodes[0])):
                    for test, (rate, _) in benchmark(node).items():
                        rates[name][test].append(rate)
        return compared(rates, "plain", "cluster")

    def instructions(self):
        """Instructions a request, P 16: those of many requests without those of few."""
        place = (LOOPBACK[0], CALLGRIND)
        result = {}
        for test in ("SET", "GET"):
            plain = instructions_of(lambda: MayflyNode(place), test)
            with Cluster(1, 0, etcd=1) as cluster:
                cluster.create()
                own = cluster.nodes[0]
                own.command = [*CALLGRIND, *own.command]
                inside = instructions_in(own, test)
            result[test] = {"plain": round(plain), "cluster": round(inside),
                            "ratio": round(inside / plain, 3)}
        return result

    def in_sync(self):
        """Replies that wait until they are safe, beside those at once, of one shard of two."""
        rates = {"at-once": {"SET": [], "GET": []}, "in-sync": {"SET": [], "GET": []}}
        alone = {"at-once": {"SET": [], "GET": []}, "in-sync": {"SET": [], "GET": []}}
        options = ("--cluster-replies", "in-sync")
        with (self.cluster(1, 1, etcd=1) as one,
              self.cluster(1, 1, etcd=1, options=options) as other):
            for _ in range(ROUNDS):
                for name, cluster in (("at-once", one), ("in-sync", other)):
                    node = cluster.primary_of(KEY)
                    for test, (rate, _) in benchmark(node, 1, 100_000).items():
                        rates[name][test].append(rate)
                    for test, (_, p50) in benchmark(node, 1, 10_000, clients=1).items():
                        alone[name][test].append(p50)
        result = compared(rates, "at-once", "in-sync")
        for test in ("SET", "GET"):
            result[test]["p50_ms_of_one_client"] = {
                name: round(statistics.median(values[test]), 3)
                for name, values in alone.items()}
        return result

    def move(self):
        """All slots of a shard to another one and back, strings of 100 bytes, with writers of a
        moving key and of keys that stay: one at each shard."""
        rates, pauses, others = [], [], []
        with self.cluster(2, 0, etcd=1) as cluster:
            fill(cluster, MOVED_KEYS)
            home = {shard.name: shard.slots for shard in cluster.records().values()}
            name = cluster.shard_of(KEY).name
            other = next(each for each in home if each != name)
            stays = key_of(home[other])
            held = cluster.primary_of(KEY).told("DBSIZE")
            for number in range(max(2, self.times)):
                source, target = (name, other) if number % 2 == 0 else (other, name)
                with Writes(cluster) as writes, Writes(cluster, stays) as beside:
                    begin = now()
                    end = move_slots(cluster, home[name], source, target)
                    rates.append(held / (end - begin))
                    pause(0.5)
                    pauses.append(writes.longest_gap(begin, now()))
                    others += beside.latencies(begin, end)
        return {"keys": held, "keys_per_s": round(statistics.median(rates)),
                "keys_per_s_least": round(min(rates)), "pause": summary(pauses),
                "other_slots": summary(others)}

    def memory(self):
        """Of a node without keys, beside a server without a cluster."""
        with Mayfly() as plain, self.cluster(1, 0, etcd=1) as cluster:
            one, other = (used_memory(node) for node in (plain, cluster.nodes[0]))
            fill(cluster, MOVED_KEYS)
            with_keys = used_memory(cluster.nodes[0])
            client = plain.client()
            client.pipeline((("SET", f"fill:{number}", "x" * 100)
                             for number in range(MOVED_KEYS)), 2_000)
            return {"plain": one, "cluster": other, "more_kib": round((other - one) / 1024),
                    "more_bytes_a_key": round((with_keys - other - (used_memory(plain) - one))
                                              / MOVED_KEYS, 3)}


def benchmark(node, depth=16, requests=BENCHMARK_REQUESTS, clients=50, tests="set,get"):
    """{test: (requests a second, the median of the times in milliseconds)}"""
    done = subprocess.run(["redis-benchmark", "-h", node.host, "-p", str(node.port), "-t", tests,
                           "-n", str(requests), "-P", str(depth), "-c", str(clients), "-r",
                           "100000", "-q"], capture_output=True, text=True, check=True,
                          timeout=300)
    return {test: (float(rate), float(p50)) for test, rate, p50 in re.findall(
        r"(SET|GET): ([0-9.]+) requests per second, p50=([0-9.]+)", done.stdout)}


def compared(rates, first, second):
    result = {}
    for test in ("SET", "GET"):
        one, other = (statistics.median(rates[name][test]) for name in (first, second))
        ratios = [b / a for a, b in zip(rates[first][test], rates[second][test])]
        result[test] = {first: round(one), second: round(other),
                        "ratio": round(statistics.median(ratios), 3)}
    return result


def instructions_of(make, test):
    counts = []
    for requests in (COUNTED_REQUESTS, 3 * COUNTED_REQUESTS):
        with make() as node:
            benchmark(node, 16, requests, 10, test.lower())
            counts.append(collected(node))
    return (counts[1] - counts[0]) / (2 * COUNTED_REQUESTS)


def instructions_in(node, test):
    """Of a node of a cluster, which starts again under callgrind."""
    counts = []
    for requests in (COUNTED_REQUESTS, 3 * COUNTED_REQUESTS):
        if node.is_up():
            node.kill()
        node.restart()
        await_that(lambda: node.state().get("cluster_serving") == "1", node.log)
        benchmark(node, 16, requests, 10, test.lower())
        counts.append(collected(node))
    return (counts[1] - counts[0]) / (2 * COUNTED_REQUESTS)


def collected(node):
    """Instructions of a server that ends under callgrind."""
    node.stop()
    node.ended = True
    return int(re.search(r"Collected : (\d+)", node.log())[1])


def used_memory(node):
    return int(re.search(rb"used_memory:(\d+)", node.client().ask("INFO", "memory"))[1])


def key_of(ranges):
    return next(key for key in (f"stays:{number}" for number in range(10**6))
                if any(first <= slot_of(key) <= last for first, last in ranges))


def move_slots(cluster, ranges, source, target):
    """Returns when the records say that they have moved."""
    shards = cluster.records()
    node, other = (cluster.node_at(shards[name].primary) for name in (source, target))
    reply = node.told("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE",
                      *(word for pair in ranges for word in pair), "NODE",
                      other.told("CLUSTER", "MYID").decode())
    if reply != "OK":
        raise AssertionError(f"{reply}")
    await_that(lambda: cluster.shard_of(KEY).name == target, cluster.told, 120)
    return now()


def fill(cluster, count):
    """Keys that are spread over all slots, strings of 100 bytes."""
    clients = {node: node.client() for node in cluster.nodes}
    keys = [f"fill:{number}" for number in range(count)]
    for client in clients.values():
        client.pipeline((("SET", key, "x" * 100) for key in keys), 2_000)
