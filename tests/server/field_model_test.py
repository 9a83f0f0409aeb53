#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random hash commands with deadlines, on the real program, against a model too simple to be wrong.

Each phase gives fields a deadline just after it, one far away, or one that has passed; then the
near one passes. What was sent too late to be sure of is not compared.
"""

import random
import time
import unittest

from mayfly_server import Mayfly
from resp_client import pause, request

PHASES, LENGTH = 12, 120
PHASE_MS = 150
KEYS = ["a", "b", "c"]
FIELDS = ["f", "g", "h", "i", "j", "1"]
FAR = 33177117420123


def now_ms():
    return int(time.time() * 1000)


class Model:
    """Hashes as dictionaries of field -> (value, deadline or None). `now` stands still."""

    def __init__(self):
        self.hashes = {}
        self.now = 0

    def pass_to(self, now):
        self.now = now
        for key in list(self.hashes):
            self.keep(key, {field: (value, deadline)
                            for field, (value, deadline) in self.hashes[key].items()
                            if deadline is None or deadline > now})

    def keep(self, key, fields):
        if fields:
            self.hashes[key] = fields
        else:
            self.hashes.pop(key, None)

    def of(self, key):
        return dict(self.hashes.get(key, {}))

    def hset(self, key, *pairs):
        fields, before = self.of(key), len(self.of(key))
        for field, value in zip(pairs[::2], pairs[1::2]):
            fields[field] = (value, None)
        self.keep(key, fields)
        return len(fields) - before

    def hsetnx(self, key, field, value):
        return 0 if field in self.of(key) else self.hset(key, field, value)

    def hincrby(self, key, field, amount):
        fields = self.of(key)
        value, deadline = fields.get(field, ("0", None))
        fields[field] = (str(int(value) + int(amount)), deadline)
        self.keep(key, fields)
        return int(fields[field][0])

    def hdel(self, key, *names):
        fields = self.of(key)
        removed = [fields.pop(name) for name in set(names) if name in fields]
        self.keep(key, fields)
        return len(removed)

    def hlen(self, key):
        return len(self.of(key))

    def hmget(self, key, *names):
        return [self.of(key).get(name, (None,))[0] for name in names]

    def hgetdel(self, key, _, __, *names):
        replies = []
        for name in names:
            replies += self.hmget(key, name)
            self.hdel(key, name)
        return replies

    def hpexpireat(self, key, deadline, *rest):
        condition = rest[0] if rest[0] != "FIELDS" else None
        return [self.expire_one(key, name, int(deadline), condition)
                for name in rest[rest.index("FIELDS") + 2:]]

    def expire_one(self, key, name, deadline, condition):
        fields = self.of(key)
        if name not in fields:
            return -2
        value, old = fields[name]
        allowed = {None: True, "NX": old is None, "XX": old is not None,
                   "GT": old is not None and deadline > old,
                   "LT": old is None or deadline < old}[condition]
        if not allowed:
            return 0
        if deadline <= self.now:
            self.hdel(key, name)
            return 2
        fields[name] = (value, deadline)
        self.keep(key, fields)
        return 1

    def hpersist(self, key, _, __, *names):
        replies, fields = [], self.of(key)
        for name in names:
            value, deadline = fields.get(name, (None, None))
            replies.append(-2 if value is None else -1 if deadline is None else 1)
            if value is not None:
                fields[name] = (value, None)
        self.keep(key, fields)
        return replies

    def hpexpiretime(self, key, _, __, *names):
        found = [self.of(key).get(name) for name in names]
        return [-2 if one is None else -1 if one[1] is None else one[1] for one in found]

    def hsetex(self, key, *rest):
        at = rest.index("FIELDS")
        options, pairs = rest[:at], rest[at + 2:]
        fields, names = self.of(key), pairs[::2]
        refused = {"NX": bool(fields), "XX": not fields, "FNX": any(n in fields for n in names),
                   "FXX": not all(n in fields for n in names)}
        if any(refused.get(option) for option in options):
            return 0
        deadline = int(options[options.index("PXAT") + 1]) if "PXAT" in options else None
        for name, value in zip(names, pairs[1::2]):
            kept = fields.get(name, (None, None))[1] if "KEEPTTL" in options else deadline
            fields[name] = (value, kept)
        self.keep(key, fields)
        if deadline is not None and deadline <= self.now:
            self.hdel(key, *names)
        return 1

    def hgetex(self, key, *rest):
        at = rest.index("FIELDS")
        names = rest[at + 2:]
        replies = self.hmget(key, *names)
        if rest[0] == "PERSIST":
            self.hpersist(key, "", "", *names)
        elif rest[0] == "PXAT":
            self.hpexpireat(key, rest[1], "FIELDS", "", *names)
        return replies

    def copy(self, source, target, _):
        if source not in self.hashes:
            return 0
        self.hashes[target] = self.of(source)
        return 1

    def exists(self, key):
        return int(key in self.hashes)

    def dbsize(self):
        return len(self.hashes)


class Chance(random.Random):
    """Random commands. `near` is the deadline after the phase."""

    def key(self):
        return self.choice(KEYS)

    def names(self):
        return self.sample(FIELDS, self.randrange(1, 4))

    def pairs(self):
        return [word for name in self.names() for word in (name, str(self.randrange(100)))]

    def deadline(self, near):
        return str(self.choice([near, near, FAR, FAR + 1, 1, 0]))

    def listed(self, names):
        return ["FIELDS", str(len(names)), *names]

    def command(self, near):
        key, pairs = self.key(), self.pairs()
        when = ["PXAT", self.deadline(near)]
        mode = self.choice([[], [], ["NX"], ["XX"], ["FNX"], ["FXX"], ["XX", "FNX"]])
        fields = self.listed(self.names())
        return self.choice([
            ["HSET", key, *pairs],
            ["HSETNX", key, *pairs[:2]],
            ["HINCRBY", key, pairs[0], "3"],
            ["HDEL", key, *self.names()],
            ["HLEN", key],
            ["HMGET", key, *self.names()],
            ["HGETDEL", key, *fields],
            ["HPEXPIREAT", key, when[1], *fields],
            ["HPEXPIREAT", key, when[1], self.choice(["NX", "XX", "GT", "LT"]), *fields],
            ["HPERSIST", key, *fields],
            ["HPEXPIRETIME", key, *fields],
            ["HSETEX", key, *mode, *self.choice([when, when, [], ["KEEPTTL"]]), "FIELDS",
             str(len(pairs) // 2), *pairs],
            ["HGETEX", key, *self.choice([when, [], ["PERSIST"]]), *fields],
            ["COPY", *self.sample(KEYS, 2), "REPLACE"],
            ["EXISTS", key],
            ["DBSIZE"],
        ])


class FieldModelTest(unittest.TestCase):
    def setUp(self):
        self.client = self.enterContext(Mayfly()).client()

    def state(self):
        """All that can be seen, read in one transaction."""
        asked = [["DBSIZE"]] + [words for key in KEYS for words in (
            ["HLEN", key], ["HGETALL", key], ["HPEXPIRETIME", key, "FIELDS", len(FIELDS), *FIELDS])]
        self.client.ok("MULTI")
        for words in asked:
            self.client.ok(*words)
        replies = self.client.ok("EXEC")
        for number, reply in enumerate(replies):
            if asked[number][0] == "HGETALL":
                replies[number] = dict(zip(reply[::2], reply[1::2]))
        return replies

    def model_state(self, model):
        state = [model.dbsize()]
        for key in KEYS:
            values = {name.encode(): value.encode() for name, (value, _) in model.of(key).items()}
            state += [model.hlen(key), values, model.hpexpiretime(key, "", "", *FIELDS)]
        return state

    def phase(self, model, chance):
        """Whether it was quick enough to compare."""
        near = now_ms() + PHASE_MS
        lines = [chance.command(near) for _ in range(LENGTH)]
        model.pass_to(now_ms())
        self.client.write(b"".join(request(*words) for words in lines))
        replies = [self.client.receive() for _ in lines]
        seen = self.state()
        quick = now_ms() < near
        for number, (words, reply) in enumerate(zip(lines, replies)):
            expected = getattr(model, words[0].lower())(*words[1:])
            if isinstance(expected, list):
                expected = [one.encode() if isinstance(one, str) else one for one in expected]
            if quick:
                told = "\n".join(" ".join(line) for line in lines[max(0, number - 10):number + 1])
                self.assertEqual(reply, expected, "\n" + told)
        if quick:
            self.assertEqual(seen, self.model_state(model))
        while now_ms() <= near:
            pause(0.01)
        model.pass_to(now_ms())
        return quick

    def run_phases(self, seed):
        chance, model, compared = Chance(seed), Model(), 0
        for _ in range(PHASES):
            if self.phase(model, chance):
                compared += 1
                self.assertEqual(self.state(), self.model_state(model), "after the deadline")
            else:
                self.client.ok("FLUSHALL")
                model = Model()
        print(f"seed {seed}: {compared} of {PHASES} phases compared")

    def test_small_hashes(self):
        self.run_phases(1)

    def test_tables(self):
        self.client.ok("CONFIG", "SET", "hash-max-listpack-entries", 0)
        self.run_phases(2)

    def test_without_active_expiry(self):
        self.client.ok("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        self.run_phases(3)
        self.client.ok("CONFIG", "SET", "hash-max-listpack-entries", 2)
        self.client.ok("FLUSHALL")
        self.run_phases(4)


if __name__ == "__main__":
    unittest.main()
