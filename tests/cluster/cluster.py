# SPDX-License-Identifier: Apache-2.0
"""A cluster of the real program with real etcd, on free ports.

    with Cluster(shards=3, replicas=1, etcd=1) as cluster:
        cluster.create("redis-cli")
        cluster.primary_of("key").kill()

MAYFLY is the program. Peers of the same shape: RedisCluster, of Debian's redis-server.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from cluster_client import (CHECK_REPLY_S, ClusterClient, Recorder, now, slot_of,  # noqa: E402
                            told)
from etcd_servers import EtcdServers  # noqa: E402
from mayfly_server import HURT, Mayfly, Redis  # noqa: E402
from register_watch import RegisterWatch, parse_shards  # noqa: E402
from resp_client import Failure, await_that, pause  # noqa: E402

LOOPBACK = ("127.0.0.1", [])
SLOTS = 16_384
ANSWER_S = 10
HAND_OVER_S = 3  # far more than a handover takes that begins at all


class NodeControl:
    """What is done to a node besides killing it. A frozen one neither runs nor closes anything."""

    is_frozen = False
    earlier = ""  # what former processes have printed

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    def spawn(self):
        if os.path.exists(self.log_path):
            self.earlier += self.log() + "---- started again\n"
        super().spawn()

    def all_logs(self):
        return self.earlier + self.log()

    def place(self):
        return f"{self.host}:{self.port}"

    def incarnation(self):
        """Of the process that runs, or ran last."""
        found = re.search(r"incarnation ([0-9a-f]{16})", self.log())
        return found[1] if found else None

    def is_up(self):
        return not self.ended and self.process.poll() is None

    def told(self, *words):
        """The reply, or None."""
        return told(self.address(), *words, patience=ANSWER_S)

    def state(self):
        """The fields of CLUSTER INFO; none if it does not answer."""
        reply = told(self.address(), "CLUSTER", "INFO")
        if not isinstance(reply, bytes):
            return {}
        return dict(line.split(":", 1) for line in reply.decode().splitlines() if ":" in line)


class MayflyNode(NodeControl, Mayfly):
    def __init__(self, place, *options):
        super().__init__("--repl-diskless-sync-delay", "0", "--protected-mode", "no", *options)
        self.host, prefix = place
        self.command = [*prefix, *self.command]


class RedisNode(NodeControl, Redis):
    def __init__(self, place, *options):
        super().__init__("--repl-diskless-sync-delay", "0", "--protected-mode", "no", *options)
        self.host, prefix = place
        self.command = [*prefix, *self.command]


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Nodes:
    """Some nodes and what both kinds of clusters have in common."""

    def __init__(self, shards, replicas):
        self.shards = shards
        self.replicas = replicas
        self.nodes = []
        self.stack = contextlib.ExitStack()

    def __exit__(self, *_):
        hurt = [node.all_logs() for node in self.nodes if HURT.search(node.all_logs())]
        for node in self.nodes:
            node.close_clients()
            node.ended = True
        self.stack.close()
        if hurt:
            raise AssertionError("a node is hurt:\n" + "\n".join(hurt))

    def addresses(self):
        return [node.address() for node in self.nodes]

    def node_at(self, place):
        return next(node for node in self.nodes if node.place() == place)

    def client(self, reply_s=CHECK_REPLY_S, **options):
        return ClusterClient(self.addresses(), reply_s=reply_s, **options)

    def recorder(self, name, **options):
        return Recorder(name, self.addresses(), **options)

    def create_by_redis_cli(self):
        run(["redis-cli", "--cluster", "create", *(node.place() for node in self.nodes),
             "--cluster-replicas", str(self.replicas), "--cluster-yes"])

    def is_ok(self):
        return all(node.state().get("cluster_state") == "ok" for node in self.nodes
                   if node.is_up() and not node.is_frozen)

    def await_ok(self):
        await_that(self.is_ok, lambda: f"all nodes say that the cluster is well:\n{self.told()}")

    def told(self):
        """The state of all nodes, for messages."""
        return "\n".join(f"---- {node.place()} {node.state()}\n{node.all_logs()[-3000:]}"
                         for node in self.nodes)


class Cluster(Nodes):
    def __init__(self, shards=3, replicas=1, etcd=1, options=(), network=None, name="main"):
        super().__init__(shards, replicas)
        self.name = name
        self.options = options
        self.network = network
        places = network.places("etcd", etcd) if network else [LOOPBACK] * etcd
        self.etcd = EtcdServers(places=places)

    def __enter__(self):
        try:
            self.stack.enter_context(self.etcd)
            count = self.shards * (1 + self.replicas)
            places = self.network.places("node", count) if self.network else [LOOPBACK] * count
            for place in places:
                self.add_node(place)
        except BaseException:
            self.stack.close()
            raise
        return self

    def node_options(self, etcd=None):
        return ("--cluster-enabled", "yes", "--cluster-name", self.name, "--cluster-etcd",
                etcd or self.etcd.urls(), *self.options)

    def add_node(self, place=LOOPBACK):
        node = self.stack.enter_context(MayflyNode(place, *self.node_options()))
        self.nodes.append(node)
        await_that(lambda: self.is_registered(node), node.log)
        return node

    def is_registered(self, node):
        key = "nodes/" + node.told("CLUSTER", "MYID").decode()
        return key in self.etcd.client.read_soon(f"/mayfly/{self.name}/")

    def mayfly(self, *words):
        """A command of the program."""
        return run([os.environ["MAYFLY"], "cluster", *words, "--etcd", self.etcd.urls()])

    def create(self, how=None):
        """redis-cli wants at least three shards."""
        how = how or ("redis-cli" if self.shards >= 3 else "init")
        getattr(self, "create_by_" + how.replace("-", "_"))()
        self.await_ok()
        self.await_in_sync()
        return self

    def create_by_init(self):
        self.mayfly("init", *(node.place() for node in self.nodes), "--replicas",
                    str(self.replicas), "--yes")

    def create_by_commands(self):
        """Primaries first, then their replicas."""
        for node in self.nodes[1:]:
            self.check(self.nodes[0], "CLUSTER", "MEET", node.host, node.port)
        share = SLOTS // self.shards
        for number, node in enumerate(self.nodes[:self.shards]):
            last = SLOTS - 1 if number == self.shards - 1 else (number + 1) * share - 1
            self.check(node, "CLUSTER", "ADDSLOTSRANGE", number * share, last)
        for number, node in enumerate(self.nodes[self.shards:]):
            primary = self.nodes[number % self.shards].told("CLUSTER", "MYID").decode()
            await_that(lambda one=node, known=primary: self.knows(one, known), self.told)
            self.check(node, "CLUSTER", "REPLICATE", primary)

    def knows(self, node, other):
        nodes = node.told("CLUSTER", "NODES")
        return isinstance(nodes, bytes) and other.encode() in nodes

    def check(self, node, *words):
        reply = node.told(*words)
        if reply is None or isinstance(reply, Failure):
            raise AssertionError(f"{words}: {reply}\n{node.all_logs()}")

    # ---- What the records say

    def records(self):
        return parse_shards(self.etcd.client.read_soon(f"/mayfly/{self.name}/"))

    def watch(self):
        return RegisterWatch(self.etcd.new_client(), self.name)

    def shard_of(self, key):
        slot = slot_of(key)
        return next(shard for shard in self.records().values() if shard.has(slot))

    def primary_of(self, key):
        return self.node_at(self.shard_of(key).primary)

    def replica_of(self, key):
        """One that may take over. When the machine has stood still for a second, there is none for
        a moment."""
        return self.node_at(await_that(lambda: self.shard_of(key).insync, self.told)[0])

    def is_in_sync(self):
        """Whether every shard has as many members in its set as it should. A process that is named
        may have ended, and its node run again."""
        lives = {node.place(): node.incarnation() for node in self.nodes}
        shards = self.records().values()
        return len(shards) == self.shards and all(
            len(shard.insync) == self.replicas
            and all(lives.get(place) == life for place, life in shard.memories)
            for shard in shards)

    def await_in_sync(self):
        await_that(self.is_in_sync, lambda: f"all are in sync: {self.records()}\n{self.told()}")

    def keys_by_shard(self, each, prefix="key"):
        """{shard: keys of it}, `each` of them, of shards that have slots."""
        shards = [shard for shard in self.records().values() if shard.slots]
        found, number = {shard.name: [] for shard in shards}, 0
        while any(len(keys) < each for keys in found.values()):
            key, number = f"{prefix}:{number}", number + 1
            shard = next(shard for shard in shards if shard.has(slot_of(key)))
            if len(found[shard.name]) < each:
                found[shard.name].append(key)
        return found

    def revive(self):
        """All nodes and etcd run again; until each shard has its replicas in sync."""
        self.etcd.start_all()
        for node in self.nodes:
            if node.is_frozen:
                node.thaw()
            if not node.is_up():
                node.restart()
        self.await_ok()
        self.await_in_sync()

    def status_json(self):
        return json.loads(self.mayfly("status", "--json"))

    # ---- What is done to a shard

    def freeze_primary(self, name):
        """Stops the primary of this shard while a replica may take over. Returns the record, which
        only the frozen process would change before it is replaced."""
        def attempt():
            before = self.records()[name]
            if not before.insync:
                return None
            node = self.node_at(before.primary)
            node.freeze()
            record = self.records()[name]
            if record.insync and record.primary == before.primary:
                return record
            return node.thaw()

        return await_that(attempt, lambda: f"{name} has a replica in sync:\n{self.told()}")

    def kill_primary(self, name):
        """As freeze_primary(), and then it dies."""
        record = self.freeze_primary(name)
        node = self.node_at(record.primary)
        node.kill()
        node.is_frozen = False
        return record

    def hand_over(self, name, replica):
        """Asks the replica to lead the shard until it has another epoch: when the replica is out of
        the set, a request is accepted and nothing comes of it."""
        epoch = self.records()[name].epoch

        def is_done():
            return self.records()[name].epoch > epoch

        def attempt():
            said = replica.told("CLUSTER", "FAILOVER")
            end = now() + HAND_OVER_S
            while now() < end and not is_done():
                pause(0.01)
            if not is_done() and isinstance(said, Failure):
                raise AssertionError(f"{replica.place()} does not take over: {said}")
            return is_done()

        await_that(attempt, self.told)


class RedisCluster(Nodes):
    """Debian's redis-server, for comparison."""

    def __init__(self, shards=3, replicas=1, options=()):
        super().__init__(shards, replicas)
        self.options = options

    def __enter__(self):
        try:
            for _ in range(self.shards * (1 + self.replicas)):
                options = ("--cluster-enabled", "yes", *self.options)
                self.nodes.append(self.stack.enter_context(RedisNode(LOOPBACK, *options)))
        except BaseException:
            self.stack.close()
            raise
        return self

    def create(self):
        self.create_by_redis_cli()
        self.await_ok()
        await_that(lambda: all(b"master_link_status:down" not in node.told("INFO", "replication")
                               for node in self.nodes), self.told)
        return self


class ClusterCase(unittest.TestCase):
    """Prints what all nodes have said when a test has failed."""

    def start(self, *words, how=None, **options):
        cluster = self.enterContext(Cluster(*words, **options))
        self.addCleanup(self.explain, cluster)
        return cluster.create(how)

    def explain(self, cluster):
        if not self._outcome.success:
            print(f"{self.id()}:\n{cluster.told()}", file=sys.stderr)
