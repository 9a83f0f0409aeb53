# SPDX-License-Identifier: Apache-2.0
"""Watches the records of a cluster in etcd, to say who was the owner of a slot at which time.

    with RegisterWatch(etcd.new_client(), "main") as watch:
        ...
    owners(ops, watch.terms(slot_of("key")))
"""

import dataclasses
import threading

from cluster_client import now
from etcd_servers import NoAnswer
from history import ALWAYS, Term
from resp_client import await_that

EVERY_S = 0.02


@dataclasses.dataclass(frozen=True)
class Shard:
    """What `shards/SID` says. Nodes are told by their address, `host:port`."""

    name: str
    epoch: int
    primary: str
    insync: tuple
    slots: tuple  # (first, last), ...
    version: int = dataclasses.field(compare=False, default=0)
    memories: tuple = dataclasses.field(compare=False, default=())  # (address, incarnation), ...

    def has(self, slot):
        return any(first <= slot <= last for first, last in self.slots)


def lines_of(text):
    """[(word, value), ...]"""
    return [line.partition(" ")[::2] for line in text.splitlines()]


def parse_slots(text):
    pairs = []
    for word in text.split():
        first, _, last = word.partition("-")
        pairs.append((int(first), int(last or first)))
    return tuple(pairs)


def parse_shards(records):
    """{name: Shard}, of all records of a cluster."""
    places = {}
    for key, record in records.items():
        if key.startswith("nodes/"):
            words = dict(lines_of(record.text))
            places[key.removeprefix("nodes/")] = f"{words.get('host')}:{words.get('port')}"
    shards = {}
    for key, record in records.items():
        if key.startswith("shards/"):
            words = lines_of(record.text)
            one = dict(words)
            named = [(word, *value.split(" ")) for word, value in words
                     if word in ("primary", "insync")]
            named = [(word, places.get(node, node), life) for word, node, life in named]
            primary = next(place for word, place, _ in named if word == "primary")
            insync = sorted(place for word, place, _ in named if word == "insync")
            name = key.removeprefix("shards/")
            shards[name] = Shard(name, int(one["epoch"]), primary, tuple(insync),
                                 parse_slots(one.get("slots", "")), record.version,
                                 tuple((place, life) for _, place, life in named))
    return shards


class RegisterWatch:
    def __init__(self, client, name="main"):
        self.client = client
        self.prefix = f"/mayfly/{name}/"
        self.seen = []  # (not before, seen, {name: Shard}), at each change
        self.last = ALWAYS  # the begin of the last look
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        """It has looked once: who is replaced right afterwards was the owner before."""
        await_that(lambda: self.look() or self.seen, "etcd answers")
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        self.client.close()

    def run(self):
        while not self.is_over.wait(EVERY_S):
            self.look()

    def look(self):
        begin = now()
        try:
            shards = parse_shards(self.client.read(self.prefix))
        except NoAnswer:
            return
        if not self.seen or self.seen[-1][2] != shards:
            self.seen.append((self.last, now(), shards))
        self.last = begin

    def terms(self, slot):
        """Who was recorded as the owner of the slot, in order."""
        terms = []
        for not_before, seen, shards in list(self.seen):
            for shard in shards.values():
                if not shard.has(slot):
                    continue
                term = Term(shard.name, shard.epoch, shard.primary, not_before, seen)
                if not terms or (terms[-1].shard, terms[-1].epoch) != (term.shard, term.epoch):
                    terms.append(term)
        return terms

    def takeovers(self):
        """[(when it was seen, name, old owner, new owner), ...]"""
        found, known = [], {}
        for _, seen, shards in list(self.seen):
            for name, shard in shards.items():
                before = known.get(name)
                if before is not None and before.epoch != shard.epoch:
                    found.append((seen, name, before.primary, shard.primary))
                known[name] = shard
        return found
