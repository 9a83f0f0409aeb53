#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults on a cluster under load, and the checker's verdict: nodes are killed and frozen,
links are cut (as root, in namespaces), etcd goes down, or the disk of its leader stands still (as
root, with loop devices), slots move, primaries hand over; wall clocks jump by an hour or a day and
back, in every second round; primaries are restarted empty, or with an old RDB file, when their
replicas have left the set; an etcd of another cluster, or an empty one, is in the place of etcd.

    MAYFLY=build/release/mayfly python3 tests/cluster/torture.py [--faults N] [--seed S] [--long]
        [--in-sync] [--appendonly [--restores]] [--kills] [--no-network] [--no-moves] [--json]
        [--only KIND ...]

It ends with 1 and says what is wrong if a promise was broken. --faults 20 by default, 200 with
--long. --kills: nothing but those. With --appendonly etcd is restored from a snapshot after every
third round, while nodes run, die and start. --restores: it is also restored under load, beside all
other faults; no slots move, for keys that have moved since the snapshot are lost by it.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import frozen_disk
import network as networks
from cluster import Cluster
from cluster_client import now, slot_of
from etcd_servers import NoAnswer
from load import Load
from register_watch import parse_shards
from resp_client import Client, Failure, await_that, pause
from wrong_clocks import DAY_MS, HOUR_MS, SECOND_MS, WrongClocks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "restored"))

import register_faults  # noqa: E402
from restored_etcd_faults import restore_under_faults, write_safely  # noqa: E402

FAULTS, FAULTS_LONG = 20, 200
GROUP = 8  # faults before all is healed and checked
KEYS_EACH = 12
ARRIVES_S = 0.05
FLUSHES = 0.002  # of the requests, in every third round
JUMPS_MS = (HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS, 2 * SECOND_MS)
JUMP = "a clock jumps"
EMPTY = "a primary comes back empty"
OLD = "a primary comes back with an old RDB file"
WAITS_S = 1.5  # much longer than an empty primary took to lead

LONG_SCRIPT = """
redis.call('SET', KEYS[1], ARGV[1])
local start = os.clock()
repeat until os.clock() - start > tonumber(ARGV[2])
redis.call('SET', KEYS[1], ARGV[1] .. ' again')
"""


class Torture:
    def __init__(self, options, cluster, network, clocks):
        self.chance = random.Random(options.seed)
        self.options = options
        self.cluster = cluster
        self.network = network
        self.clocks = clocks
        self.waiting = {}  # shards that wait for `recover`: (epoch, incarnation of the empty one)
        self.watch = None
        self.known = []  # shards, as etcd had them before it was replaced
        self.counts = collections.Counter()
        self.totals = collections.Counter()
        self.problems = []
        self.gap_s = 0.0
        self.undo = []
        self.kinds = {"kill": 5, "kill a primary": 6, "freeze": 3, "freeze a primary": 6,
                      "kill and start at once": 3, "etcd leader killed": 2, "etcd down": 2,
                      "etcd member frozen": 2, "hand over": 3, "end a primary": 2,
                      "long script": 4, JUMP: 6, register_faults.FOREIGN: 2,
                      register_faults.NO_DATA: 1}
        if not options.in_sync:  # what a primary has answered that is alone may be lost with it
            self.kinds |= {EMPTY: 3}
            if not options.appendonly:  # it loads that file
                self.kinds |= {OLD: 3}
        if options.restores:
            self.kinds |= {register_faults.RESTORE: 6}
        if network is not None:
            self.kinds |= {"cut a link": 4, "cut a link one way": 4, "isolate a primary": 6,
                           "cut from etcd": 3}
        if cluster.etcd.members[0].disk is not None:
            self.kinds |= {"disk of the etcd leader frozen": 3}
        if options.moves and not options.restores:
            self.kinds |= {"move slots": 5}
        if options.kills:
            self.kinds = {kind: share for kind, share in self.kinds.items() if "kill" in kind}
        if options.only:
            self.kinds = {kind: share for kind, share in self.kinds.items()
                          if kind in options.only}

    # ---- Who

    def shards(self):
        """As etcd has them now, or NoAnswer. While it is replaced, they cannot change."""
        if not register_faults.is_there(self):
            return self.known
        return list(parse_shards(self.cluster.etcd.client.read(
            f"/mayfly/{self.cluster.name}/")).values())

    def node_of(self, place):
        return self.cluster.node_at(place)

    def runs(self, node):
        return node.is_up() and not node.is_frozen

    def may_die(self, node):
        """Never the last one that surely has the data of its shard. The record names memories: a
        node that was killed and runs again has another one, which may be empty. The record of a
        shard that waits for `recover` names no process that has data."""
        if self.waiting:
            return False
        if not register_faults.is_there(self):  # it returns with its file, or waits
            return self.options.appendonly
        for shard in self.shards():
            alive = [self.node_of(place) for place, life in shard.memories
                     if self.node_of(place).is_up()
                     and self.node_of(place).incarnation() == life]
            if node in alive:
                return len(alive) >= 2
        return True

    def some_node(self):
        found = [node for node in self.cluster.nodes if self.runs(node)]
        return self.chance.choice(found) if found else None

    def some_primary(self):
        found = [self.node_of(shard.primary) for shard in self.shards()]
        found = [node for node in found if self.runs(node)]
        return self.chance.choice(found) if found else None

    def seconds(self):
        return self.chance.choice([0.3, 1, 2, 2.4, 2.7, 3, 4, 6]) * self.chance.uniform(0.8, 1.2)

    # ---- Faults. Each returns whether it happened.

    def kill(self, node, after):
        if node is None or not self.stops_for_good(node):
            return False
        node.kill()
        node.is_frozen = False
        if after is not None:
            self.undo.append((now() + after, node.restart))
        else:
            node.restart()
        return True

    def stops_for_good(self, node):
        """Whether it may die. It is stopped before that is asked: it could remove the only other
        one from the set right afterwards. What it has sent to etcd arrives in the meantime."""
        node.freeze()
        pause(ARRIVES_S)
        may_die = False
        try:
            may_die = self.may_die(node)
        finally:
            if not may_die:
                node.thaw()
        return may_die

    def freeze(self, node):
        if node is None:
            return False
        node.freeze()
        seconds = 30 if self.options.long and self.chance.random() < 0.05 else self.seconds()
        self.undo.append((now() + seconds, node.thaw))
        return True

    def jump(self):
        """The wall clock of a node is wrong for a while."""
        node = self.some_primary() if self.chance.random() < 0.7 else self.some_node()
        if node is None:
            return False
        number = self.cluster.nodes.index(node)
        self.clocks.set(number, self.chance.choice(JUMPS_MS))
        self.undo.append((now() + self.seconds(), lambda: self.clocks.set(number, 0)))
        return True

    def empty_primary(self, has_file=False):
        """Its replicas are frozen until they have left the set; then it is killed, and starts again
        with an empty folder, or with a file that lacks something safe. It must not lead: one of the
        replicas has all that was safe."""
        shard = self.chance.choice(self.shards())
        primary = self.node_of(shard.primary)
        replicas = [self.node_of(place) for place in shard.insync]
        if (shard.name in self.waiting or not register_faults.is_there(self) or not replicas
                or not all(map(self.runs, (primary, *replicas)))):
            return False
        if has_file and not self.save(shard, primary):
            return False
        for replica in replicas:
            replica.freeze()
        try:
            end, alone = now() + 10, None
            while now() < end and (alone is None or alone.insync):
                pause(0.05)
                alone = next(one for one in self.shards() if one.name == shard.name)
                if alone.epoch != shard.epoch:
                    return False
            if alone.insync:
                return False
            primary.kill()
            if not has_file:
                self.empty(primary)
            primary.restart()
            if has_file:
                os.remove(primary.path("dump.rdb"))
        finally:
            for replica in replicas:
                replica.thaw()
        pause(WAITS_S)
        self.waiting[shard.name] = (shard.epoch, primary.incarnation())
        self.is_recovered(shard.name)
        self.undo.append((now() + self.seconds(), lambda: self.recover(shard.name)))
        return True

    def save(self, shard, primary):
        """Whether something is safe that is not in the file."""
        key = next((key for key in (f"saved:{number}" for number in range(1_000))
                    if shard.has(slot_of(key))), None)
        return (key is not None and primary.told("SAVE") == "OK"
                and write_safely(primary, key, self.chance.random()))

    def empty(self, node):
        """All files but the id of the node."""
        for name in os.listdir(node.path("")):
            path = node.path(name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif name not in ("cluster-node", "output"):
                os.remove(path)

    def is_recovered(self, name):
        epoch, empty = self.waiting[name]
        shard = next(one for one in self.shards() if one.name == name)
        if shard.epoch == epoch + 1 and shard.memories[0][1] == empty:
            self.problems.append(f"a process without the data leads shard {name}: {shard}")
        return shard.epoch > epoch

    def recover(self, name):
        """As `status` advises; again later, if etcd does not answer."""
        if name not in self.waiting or not register_faults.is_there(self):
            return
        with contextlib.suppress(NoAnswer, AssertionError):
            if not self.is_recovered(name):
                self.cluster.mayfly("recover", name, "--accept-loss", "--yes")
            del self.waiting[name]

    def recover_all(self):
        for name in list(self.waiting):
            def is_done(one=name):
                self.recover(one)
                return one not in self.waiting

            await_that(is_done, self.cluster.told)

    def etcd_leader(self):
        leader = self.cluster.etcd.find_leader()
        leader.kill()
        self.undo.append((now() + self.seconds(), self.cluster.etcd.start_all))
        return True

    def etcd_down(self):
        for member in self.cluster.etcd.members:
            member.kill()
        self.undo.append((now() + self.seconds() * 2, self.cluster.etcd.start_all))
        return True

    def etcd_frozen(self):
        member = self.chance.choice(self.cluster.etcd.members)
        if not member.is_up():
            return False
        member.stop()
        self.undo.append((now() + self.seconds() * 2, member.go_on))
        return True

    def etcd_disk(self):
        """It answers, but writes nothing."""
        leader = self.cluster.etcd.find_leader()
        if leader.disk.is_frozen:
            return False
        leader.disk.freeze()
        self.undo.append((now() + self.seconds() * 2, leader.disk.thaw))
        return True

    def hand_over(self):
        shard = self.chance.choice(self.shards())
        if not shard.insync:
            return False
        replica = self.node_of(self.chance.choice(shard.insync))
        return self.runs(replica) and replica.told("CLUSTER", "FAILOVER") == "OK"

    def end_primary(self):
        node = self.some_primary()
        if node is None or not self.may_die(node):
            return False
        node.process.terminate()
        try:
            code = node.process.wait(20)
        except subprocess.TimeoutExpired:
            self.problems.append(f"{node.place()} does not end\n{node.log()[-3000:]}")
            node.process.kill()
            code = node.process.wait()
        if code != 0:
            self.problems.append(f"{node.place()} ended with {code}\n{node.log()[-3000:]}")
        node.ended = True
        self.undo.append((now() + self.seconds(), node.restart))
        return True

    def cut(self, both):
        one = self.some_primary() if self.chance.random() < 0.7 else self.some_node()
        if one is None:
            return False
        others = [node.host for node in self.cluster.nodes if node is not one]
        self.network.cut(*self.chance.choice([(one.host, other) for other in others]
                                             + [(other, one.host) for other in others]), both)
        self.undo.append((now() + self.seconds(), self.network.heal))
        return True

    def isolate(self):
        """Clients reach it; nobody else does."""
        node = self.some_primary()
        if node is None:
            return False
        self.network.isolate(node.host, self.network.spaces)
        self.undo.append((now() + self.seconds(), self.network.heal))
        return True

    def cut_from_etcd(self):
        node = self.some_primary()
        if node is None:
            return False
        self.network.isolate(node.host, [member.host for member in self.cluster.etcd.members])
        self.undo.append((now() + self.seconds() * 2, self.network.heal))
        return True

    def move(self):
        """Some slots of one shard go to another one: clients are told of it when it is done."""
        shards = self.shards()
        if len(shards) < 2:
            return False
        source, target = self.chance.sample(shards, 2)
        if not source.slots:  # all have gone
            return False
        first, last = self.chance.choice(source.slots)
        end = min(last, first + self.chance.choice([0, 10, 300, 2000]))
        node = self.node_of(source.primary)
        if not self.runs(node):
            return False
        owner = self.node_of(target.primary).told("CLUSTER", "MYID")
        if not isinstance(owner, bytes):
            return False
        reply = node.told("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, end, "NODE",
                          owner.decode())
        if isinstance(reply, Failure) and "unknown" in reply.lower():
            self.kinds.pop("move slots")
        return reply == "OK"

    def long_script(self):
        """One that writes, and perhaps runs until another node has taken over. What it wrote may be
        lost, but not be at one node only: see compare()."""
        shard = self.chance.choice(self.shards())
        node = self.node_of(shard.primary)
        key = next((key for key in (f"script:{number}" for number in range(1_000))
                    if shard.has(slot_of(key))), None)
        threshold = self.chance.choice([100, 2_500, 5_000])
        if not self.runs(node) or key is None or node.told(
                "CONFIG", "SET", "busy-reply-threshold", threshold) != "OK":
            return False
        client = Client(node.address())
        client.send("EVAL", LONG_SCRIPT, 1, key, self.chance.random(),
                    self.chance.choice([0.3, 1.5, 4]))
        self.undo.append((now() + 8, client.close))
        return True

    def fault(self, kind):
        return {
            "kill": lambda: self.kill(self.some_node(), self.seconds()),
            "kill a primary": lambda: self.kill(self.some_primary(), self.seconds()),
            "kill and start at once": lambda: self.kill(self.some_primary(), None),
            "freeze": lambda: self.freeze(self.some_node()),
            "freeze a primary": lambda: self.freeze(self.some_primary()),
            "etcd leader killed": self.etcd_leader,
            "etcd down": self.etcd_down,
            "etcd member frozen": self.etcd_frozen,
            "disk of the etcd leader frozen": self.etcd_disk,
            JUMP: self.jump,
            EMPTY: self.empty_primary,
            OLD: lambda: self.empty_primary(has_file=True),
            register_faults.FOREIGN: lambda: register_faults.foreign(self, has_data=True),
            register_faults.NO_DATA: lambda: register_faults.foreign(self, has_data=False),
            register_faults.RESTORE: lambda: register_faults.restore(self),
            "hand over": self.hand_over,
            "end a primary": self.end_primary,
            "cut a link": lambda: self.cut(True),
            "cut a link one way": lambda: self.cut(False),
            "isolate a primary": self.isolate,
            "cut from etcd": self.cut_from_etcd,
            "move slots": self.move,
            "long script": self.long_script,
        }[kind]()

    # ---- Rounds

    def undo_what_is_due(self, everything=False):
        while due := [entry for entry in self.undo if everything or entry[0] <= now()]:
            self.undo.remove(due[0])  # one by one: an action may undo the others
            due[0][1]()

    def mend(self):
        """But for shards that wait for `recover`."""
        self.undo_what_is_due(everything=True)
        if self.network:
            self.network.heal()
        for member in self.cluster.etcd.members:
            if member.disk is not None:
                member.disk.thaw()
            with contextlib.suppress(ProcessLookupError):
                member.go_on()
        self.cluster.etcd.start_all()

    def heal(self):
        self.mend()
        self.recover_all()
        self.cluster.revive()

    def round(self, number, faults):
        """Some faults, one after another or at once, under one load."""
        self.cluster.revive()
        keys = self.cluster.keys_by_shard(KEYS_EACH, f"r{number}")
        keys = [key for mine in keys.values() for key in mine]
        wait = 0.0 if self.options.in_sync else 0.3
        do_jump = number % 2 == 1 or self.options.only
        kinds = {kind: share for kind, share in self.kinds.items() if do_jump or kind != JUMP}
        with self.cluster.watch() as self.watch:
            with Load(self.cluster, keys, clients=6, wait=wait, name=f"r{number}c",
                      seed=self.chance.random(), many=True, brief=JUMP not in kinds,
                      flushes=FLUSHES if number % 3 == 2 else 0.0) as load:
                done = 0
                while done < faults:
                    self.undo_what_is_due()
                    kind = self.chance.choices(list(kinds), list(kinds.values()))[0]
                    happened = False
                    with contextlib.suppress(NoAnswer):
                        happened = self.fault(kind)
                    if happened:
                        done += 1
                        self.counts[kind] += 1
                        self.say(f"{kind}")
                    pause(self.chance.choice([0.05, 0.5, 1, 3, 4]))
                self.heal()
                pause(0.5)
            self.judge(load, self.watch)
        self.compare()

    def compare(self):
        """The nodes of a shard have the same data in the end."""
        for shard in self.shards():
            nodes = [self.node_of(place) for place in (shard.primary, *shard.insync)]
            try:
                await_that(lambda of=nodes: len({node.told("DEBUG", "DIGEST") for node in of}) == 1,
                           f"shard {shard.name}: its nodes have the same data")
            except AssertionError as error:
                self.problems.append(str(error))

    def judge(self, load, watch):
        problems = load.problems(watch, self.options.in_sync)
        self.problems += problems
        self.totals.update({word: count for word, count in load.counts().items()})
        self.totals["ops"] += len(load.ops())
        self.totals["takeovers"] += len(watch.takeovers())
        self.gap_s = max(self.gap_s, load.longest_gap())
        self.say(f"checked {len(load.ops())} requests, {len(problems)} problems")
        if problems:
            for problem in problems[:5]:
                self.say(problem)
            for takeover in watch.takeovers():
                self.say(f"  {takeover}")

    def say(self, text):
        if not self.options.json:
            print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    def run(self):
        left, number = self.options.faults, 0
        while left > 0 and not self.problems:
            faults = min(left, GROUP)
            self.round(number, faults)
            if self.options.appendonly and number % 3 == 1 and not self.problems:
                self.problems += restore_under_faults(self.cluster, self.chance, self.say)
                self.counts["etcd restored"] += 1
            left, number = left - faults, number + 1
        return {"seed": self.options.seed, "faults": sum(self.counts.values()),
                "kinds": dict(self.counts), "network": self.network is not None,
                "replies": "in-sync" if self.options.in_sync else "at-once",
                "totals": dict(self.totals), "longest_without_a_write_s": round(self.gap_s, 2),
                "problems": self.problems}


def take_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--in-sync", action="store_true")
    parser.add_argument("--appendonly", action="store_true")
    parser.add_argument("--restores", action="store_true")
    parser.add_argument("--kills", action="store_true")
    parser.add_argument("--only", action="append", metavar="KIND")
    parser.add_argument("--no-network", dest="network", action="store_false")
    parser.add_argument("--no-moves", dest="moves", action="store_false")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.restores and not options.appendonly:
        parser.error("--restores: all nodes are stopped, so --appendonly is needed")
    options.faults = options.faults or (FAULTS_LONG if options.long else FAULTS)
    return options


def main():
    options = take_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # nodes and namespaces go away then, too
    if not options.json:
        print(f"seed {options.seed}")
    with contextlib.ExitStack() as stack:
        network = None
        if options.network and networks.is_possible():
            network = stack.enter_context(networks.Network())
        more = ("--cluster-replies", "in-sync") if options.in_sync else ()
        if options.appendonly:
            more += ("--appendonly", "yes", "--appendfsync", "always")
        count = options.shards * (1 + options.replicas)
        clocks = stack.enter_context(WrongClocks([0] * count, network))
        cluster = Cluster(options.shards, options.replicas, etcd=3, options=more, network=clocks)
        if frozen_disk.is_possible():
            for member in cluster.etcd.members:
                member.disk = stack.enter_context(frozen_disk.Disk())
        stack.enter_context(cluster)
        try:
            cluster.create()
            torture = Torture(options, cluster, network, clocks)
            result = torture.run()
        except BaseException:
            print(cluster.told(), file=sys.stderr)
            raise
        if result["problems"] and "KEEP" in os.environ:
            print(cluster.told(), file=sys.stderr)
    print(json.dumps(result, indent=None if options.json else 2))
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
