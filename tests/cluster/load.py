# SPDX-License-Identifier: Apache-2.0
"""Clients in threads that read and write while something happens to the cluster, and the verdict of
the checker on all they saw.

    with Load(cluster, keys, clients=4, wait=0.3) as load:
        cluster.primary_of(keys[0]).kill()
    load.verify(watch)
"""

import dataclasses
import random
import threading

import history
import many_keys
from cluster_client import now, slot_of

FIELDS = 2
LIVES_S = (0.7, 4.0)
MANY = 0.4  # the share of requests about several keys, if there are any


class Load:
    """`wait`: the share of writes that are made safe by WAIT. `rest_s`: between two requests.
    `many`: also requests about several keys, scripts and functions (many_keys.py). `flushes`: the
    share of FLUSHALL. `brief`: also keys and fields with deadlines, which need clocks that are
    right."""

    def __init__(self, cluster, keys, clients=4, wait=0.3, seed=None, deletes=True, rest_s=0.002,
                 name="c", many=False, flushes=0.0, brief=True):
        self.keys = list(keys)
        self.wait = wait
        self.rest_s = rest_s
        self.deletes = deletes
        self.many = many
        self.flushes = flushes
        self.has_brief = brief
        self.is_over = threading.Event()
        chance = random.Random(seed)
        self.recorders = [cluster.recorder(f"{name}{number}", seed=chance.random())
                          for number in range(clients)]
        self.threads = [threading.Thread(target=self.run, daemon=True,
                                         args=(recorder, random.Random(chance.random())))
                        for recorder in self.recorders]
        self.failures = []
        self.brief = {}  # of keys with a deadline: when nobody need look at it any more

    def __enter__(self):
        if self.many:  # an earlier load may have left its libraries
            for key in self.keys:
                many_keys.load_library(self.recorders[0], key)
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the clients, and reads everything once more."""
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        look_again(self.recorders[0], self.keys)
        if self.many:
            for key in self.keys:
                many_keys.read(self.recorders[0], key, "mget")
                many_keys.read_library(self.recorders[0], key)
        for recorder in self.recorders:
            recorder.close()

    def run(self, recorder, chance):
        try:
            while not self.is_over.wait(self.rest_s):
                self.step(recorder, chance)
        except BaseException as error:  # told by verify()
            self.failures.append(repr(error))
            raise

    def step(self, recorder, chance):
        key = chance.choice(self.keys)
        wait = chance.random() < self.wait
        if chance.random() < self.flushes:
            return many_keys.flush(recorder, key)
        if self.many and chance.random() < MANY:
            return step_many(recorder, chance, key, wait)
        kind = chance.random()
        field = f"f{chance.randrange(FIELDS)}"
        if kind < 0.3:
            recorder.set(key, wait=wait)
        elif kind < 0.55:
            recorder.get(key)
        elif kind < 0.67:
            recorder.hset("h" + key, field, wait=wait)
        elif kind < 0.8:
            recorder.hget("h" + key, field)
        elif kind < 0.84:
            if self.deletes:
                recorder.delete(key, wait=wait)
        elif not self.has_brief:
            recorder.set(key, wait=wait)
        elif kind < 0.88:
            self.new_brief(recorder, chance, key, wait)
        else:
            self.look_at_brief(recorder, chance)

    def new_brief(self, recorder, chance, key, wait):
        """A key, or a field, that is written once and lives for a short time."""
        lives_s = chance.uniform(*LIVES_S)
        name = f"brief:{recorder.name}:{recorder.number}:{key}"
        is_field = chance.random() < 0.5
        op = (recorder.hset("h" + name, "f", wait=wait, lives_s=lives_s) if is_field
              else recorder.set(name, wait=wait, lives_s=lives_s))
        if op is not None and op.outcome != history.REFUSED:
            self.brief["h" + name if is_field else name] = (is_field, op.deadline + 1)

    def look_at_brief(self, recorder, chance):
        known = list(self.brief)
        if not known:
            return
        name = chance.choice(known[-12:])
        is_field, until = self.brief.get(name, (False, 0))
        if not until:  # another client has just done with it
            return
        (recorder.hget(name, "f") if is_field else recorder.get(name))
        if now() > until:
            self.brief.pop(name, None)

    # ---- Afterwards

    def ops(self):
        return [op for recorder in self.recorders for op in recorder.ops]

    def counts(self):
        total = {}
        for recorder in self.recorders:
            for word, count in recorder.client.counts.items():
                total[word] = total.get(word, 0) + count
        total["safe"] = sum(op.safe_at < history.NEVER for op in self.ops())
        return total

    def longest_gap(self, begin=history.ALWAYS, end=history.NEVER):
        """The longest time without an accepted write, in seconds."""
        ends = sorted(op.end for op in self.ops()
                      if op.kind == history.SET and op.outcome == history.OK
                      and begin <= op.end <= end)
        return max((later - sooner for sooner, later in zip(ends, ends[1:])), default=0.0)

    def problems(self, watch=None, in_sync_replies=False):
        """Everything that is wrong with what the clients saw."""
        ops = self.ops()
        flushes = [op for op in ops if op.kind == history.FLUSH]
        ops = of_shards([op for op in ops if op.kind != history.FLUSH], watch)
        if flushes:
            ops += history.flushed([op for op in ops if not op.key.startswith("functions")],
                                   flushes, lambda key: watch.terms(slot_of(key.split("/")[0])))
        steady = [op for op in ops if "brief:" not in op.key]
        found = list(self.failures)
        found += [error for recorder in self.recorders for error in recorder.errors]
        found += history.torn(ops)
        if in_sync_replies:
            found += history.swapped(ops) + history.at_one_moment(steady)
        found += history.linearizable(steady) if in_sync_replies else history.safe(ops)
        kept = ((lambda write: write.outcome == history.OK) if in_sync_replies
                else (lambda write: write.safe_at < history.NEVER))
        found += history.deadlines([op for op in ops if "brief:" in op.key], kept)
        if watch is not None:
            found += self.owner_problems(watch, ops)
        return found

    def owner_problems(self, watch, ops):
        found, by_slot = [], {}
        for op in ops:
            if not op.key.startswith("functions"):
                by_slot.setdefault(slot_of(op.key.split("/")[0]), []).append(op)
        for slot, mine in by_slot.items():
            terms = watch.terms(slot)
            found += history.owners(mine, terms)
            found += history.terms_in_order(mine, terms)
        return found

    def verify(self, watch=None, in_sync_replies=False):
        problems = self.problems(watch, in_sync_replies)
        if problems:
            raise AssertionError(f"{len(problems)} problems:\n" + "\n".join(problems[:10]))
        if not any(op.outcome == history.OK for op in self.ops()):
            raise AssertionError(f"nothing was answered: {self.counts()}")


def step_many(recorder, chance, key, wait):
    kind = chance.random()
    if kind < 0.3:
        many_keys.write(recorder, key, chance.choice(list(many_keys.WRITES)), wait=wait)
    elif kind < 0.75:
        many_keys.read(recorder, key, chance.choice(list(many_keys.READS)))
    elif kind < 0.85:
        many_keys.swap(recorder, key, chance.choice(list(many_keys.SWAPS)), wait=wait)
    elif kind < 0.88:
        many_keys.delete(recorder, key, wait=wait)
    elif kind < 0.91:
        many_keys.load_library(recorder, key, wait=wait)
    else:
        many_keys.read_library(recorder, key)


def of_shards(ops, watch):
    """Functions belong to a shard: the one of the node which replied."""
    if watch is None:
        return [op for op in ops if op.key != "functions"]
    shards = {place: name for _, _, seen in watch.seen for name, shard in seen.items()
              for place in (shard.primary, *shard.insync)}
    found = []
    for op in ops:
        if op.key != "functions":
            found.append(op)
        elif op.owner in shards:
            found.append(dataclasses.replace(op, key=f"functions of {shards[op.owner]}"))
    return found


def look_again(recorder, keys):
    """Reads all keys once more, when all is well: what is lost shows here at the latest."""
    for key in keys:
        recorder.get(key)
        for field in range(FIELDS):
            recorder.hget("h" + key, f"f{field}")
