# SPDX-License-Identifier: Apache-2.0
"""Random writes with deadlines, and what they leave behind, command by command.

    writer = Writer(random.Random(seed), "w0")
    writer.send(client, 20)
    writer.receive(client)               # counts what was acknowledged
    writer.match(seen, low, begin, end)  # after which command were the data as they are seen now?

What a command does must not depend on chance. So one that asks for what is there (INCR, HPERSIST,
ZPOPMIN) only names what has a deadline far away, or none, or one that has surely passed; what has a
near deadline is replaced or deleted, whether it is still there or not.
"""

from contents import now_ms, short
from resp_client import Failure, request
from workload_lists import LISTS, STREAMS
from workload_model import (SAFE_MS, SURE_MS, Deadline, Members, Text, Unit, comparable, is_past,
                            is_safe)

DATABASES = (0, 3, 7)
LONG_MS = 3_600_000
NEAR_MS = 1_500
NAMES = [f"f{number}" for number in range(8)]
KINDS_OF_MEMBERS = {"hash": "H", "set": "S", "zset": "Z"}  # and how their commands begin
PLACES = {"string": ("s", 15), "counter": ("c", 5), "hash": ("h", 10), "set": ("e", 10),
          "zset": ("z", 10), "list": ("l", 8), "stream": ("x", 6)}  # letters of keys, how many


class Writer:
    """Sends units over one connection. Each writer has keys of its own."""

    def __init__(self, chance, name, kinds=None):
        self.chance = chance
        self.name = name
        self.kinds = kinds or KINDS
        self.state = {}  # when all that was sent has been done
        self.begin({})

    def begin(self, state):
        """From now on: what was sent before is the past. `state` is what is there."""
        self.base, self.state = dict(state), dict(state)
        self.units, self.acked, self.database = [], 0, 0

    # ---- Talking to the server ----

    def send(self, client, count, *extra):
        units = [*self.make(count), *extra]
        data = b"".join(request(*words) for unit in units for words in unit.requests)
        now = now_ms()
        for unit in units:
            unit.sent = now
        self.units += units
        client.write(data)

    def receive(self, client):
        """The replies to all that was sent. Raises Closed as soon as there are no more."""
        while self.acked < len(self.units):
            unit = self.units[self.acked]
            for _ in unit.requests:
                unit.reply = client.receive()
                self.check(unit, unit.reply)
            self.acked += 1
            self.settle(unit)

    def settle(self, unit):
        now = now_ms()
        for deadline in unit.set_deadlines:
            deadline.settle(now)
        if unit.asks is not None:
            told = unit.reply[0] if isinstance(unit.reply, list) else unit.reply
            if told >= 0:
                unit.asks.told(told)

    @staticmethod
    def check(unit, reply):
        failed = [one for one in (reply if isinstance(reply, list) else [reply])
                  if isinstance(one, Failure)]
        if failed and not unit.may_fail:
            raise AssertionError(f"{unit.requests}: {failed[0]}")

    def note(self, *words):
        """A command that changes nothing, and may fail."""
        return Unit([words], may_fail=True)

    # ---- What was seen afterwards ----

    def match(self, seen, low, begin, end):
        """After how many units the data were as seen between the moments `begin` and `end`: `low`
        or more. None if they never were."""
        for unit in self.units:
            for deadline in unit.set_deadlines:
                deadline.settle(begin)
        state = dict(self.base)
        wrong = {place for place in set(state) | set(seen)
                 if not matches(state.get(place), seen.get(place), begin, end)}
        if low == 0 and not wrong:
            return 0
        for number, unit in enumerate(self.units, 1):
            for place, entry in unit.changes.items():
                state[place] = entry
                if matches(entry, seen.get(place), begin, end):
                    wrong.discard(place)
                else:
                    wrong.add(place)
            if number >= low and not wrong:
                return number
        return None

    def explain(self, seen, low, begin, end):
        """Why nothing matches: what is wrong if all up to `low` was done, and what came after."""
        state, last = dict(self.base), {}
        for number, unit in enumerate(self.units[:low]):
            state.update(unit.changes)
            last.update(dict.fromkeys(unit.changes, number))
        lines = [f"{self.name}: {low} commands were promised, {len(self.units)} sent; "
                 f"read between {begin} and {end}"]
        for place in sorted(set(state) | set(seen)):
            if not matches(state.get(place), seen.get(place), begin, end):
                by = last.get(place)
                lines.append(f"{place}:\n  expected {short(state.get(place))}\n"
                             f"  seen     {short(seen.get(place))}\n  by command {by}: "
                             f"{'(older)' if by is None else self.units[by].requests}")
        lines += [f"not promised: {unit.requests}" for unit in self.units[low:low + 10]]
        return "\n".join(lines[:60])

    # ---- Making commands ----

    def make(self, count):
        units = []
        while len(units) < count:
            now = now_ms()
            self.database = self.chance.choice(DATABASES)
            select = Unit([("SELECT", self.database)])
            made = [self.transaction(now)] if self.chance.random() < 0.08 else self.one(now)
            made = [unit for unit in made if unit is not None]
            units += [select, *made] if made else []
        return units

    def one(self, now):
        make = self.chance.choice(self.kinds)
        unit = make(self, now)
        if unit is None:
            return []
        self.state.update(unit.changes)
        return [unit, *self.question(unit)]

    def question(self, unit):
        """Relative times are told by the server, mostly."""
        unknown = [deadline for deadline in unit.set_deadlines if deadline.ttl is not None]
        if not unknown or self.chance.random() < 0.1:
            return []
        (_, key), entry = next(iter(unit.changes.items()))
        if entry.deadline is unknown[0]:
            return [Unit([("PEXPIRETIME", key)], asks=unknown[0])]
        name = next(name for name, (_, one) in entry.members.items() if one is unknown[0])
        word = KINDS_OF_MEMBERS[entry.kind] + "PEXPIRETIME"
        return [Unit([(word, key, *listed(entry.kind, [name]))], asks=unknown[0])]

    def transaction(self, now):
        units = []
        for _ in range(self.chance.randint(2, 5)):
            unit = self.chance.choice(self.kinds)(self, now)
            if unit is not None:
                self.state.update(unit.changes)
                units.append(unit)
        changes, deadlines = {}, []
        for unit in units:
            changes.update(unit.changes)
            deadlines += unit.set_deadlines
        requests = [words for unit in units for words in unit.requests]
        return Unit([("MULTI",), *requests, ("EXEC",)], changes, set_deadlines=deadlines)

    def place(self, kind):
        letter, count = PLACES[kind]
        key = f"{self.name}:{letter}{self.chance.randrange(count)}".encode()
        return self.database, key

    def value(self):
        kind = self.chance.randrange(10)
        if kind == 0:
            return self.chance.randbytes(self.chance.randrange(300))
        if kind == 1:
            return b"compressible " * self.chance.randrange(50)
        return b"%d" % self.chance.randrange(1 << self.chance.choice([7, 15, 40, 62]))

    def moment(self, now):
        """An absolute deadline."""
        if self.chance.random() < 0.6:
            return Deadline(now + self.chance.randint(5, NEAR_MS))
        return Deadline(now + LONG_MS + self.chance.randrange(1_000_000))

    def duration(self, now, unit_ms):
        """A relative one, and its number."""
        count = self.chance.randint(5, NEAR_MS) if unit_ms == 1 and self.chance.random() < 0.6 \
            else (LONG_MS + self.chance.randrange(1_000_000)) // unit_ms
        ttl = count * unit_ms
        return count, Deadline(now + ttl - SURE_MS, now + ttl + SAFE_MS // 2, ttl)

    def live(self, place, now):
        """What is there for sure, with what has surely expired removed; or None."""
        entry = self.state.get(place)
        if entry is None or is_past(entry.deadline, now):
            return None
        if isinstance(entry, Members):
            left = {name: pair for name, pair in entry.members.items()
                    if not is_past(pair[1], now)}
            return entry._replace(members=left) if left else None
        return entry

    def known(self, place, now):
        """As live(), and whether a command may build on it."""
        entry = self.live(place, now)
        return entry, entry is None or entry.is_sure(now)


def listed(kind, names):
    return ("FIELDS" if kind == "hash" else "MEMBERS", len(names), *names)


def matches(entry, seen, begin, end):
    return seen is None if entry is None else entry.matches(seen, begin, end)


def modelled(entry):
    """What was read, as a writer has it."""
    deadline = Deadline(entry.deadline) if entry.deadline >= 0 else None
    if entry.kind in ("string", "list", "stream"):
        return Text(comparable(entry), deadline, entry.kind)
    return Members(entry.kind, {name.decode(): (value, Deadline(entry.deadlines[name])
                                                if name in entry.deadlines else None)
                                for name, value in entry.value.items()}, deadline)


# ---- Strings ----


def set_text(writer, now):
    place, value = writer.place("string"), writer.value()
    return Unit([("SET", place[1], value)], {place: Text(value, None)})


def set_until(writer, now):
    place, value, deadline = writer.place("string"), writer.value(), writer.moment(now)
    return Unit([("SET", place[1], value, "PXAT", deadline.low)], {place: Text(value, deadline)},
                set_deadlines=[deadline])


def set_for(writer, now):
    place, value = writer.place("string"), writer.value()
    word, unit_ms = writer.chance.choice([("PX", 1), ("PX", 1), ("EX", 1000)])
    count, deadline = writer.duration(now, unit_ms)
    return Unit([("SET", place[1], value, word, count)], {place: Text(value, deadline)},
                set_deadlines=[deadline])


def delete(writer, now):
    place = writer.place(writer.chance.choice(list(PLACES)))
    return Unit([(writer.chance.choice(["DEL", "UNLINK"]), place[1])], {place: None})


def increment(writer, now):
    place, amount = writer.place("counter"), writer.chance.randint(1, 1000)
    entry, is_sure = writer.known(place, now)
    if not is_sure:
        return None
    before = int(entry.value) if entry else 0
    deadline = entry.deadline if entry else None
    return Unit([("INCRBY", place[1], amount)],
                {place: Text(b"%d" % (before + amount), deadline)})


def append(writer, now):
    place = writer.place("string")
    entry, is_sure = writer.known(place, now)
    if not is_sure or (entry and len(entry.value) > 2_000):
        return None
    value = (entry.value if entry else b"") + b"+more"
    return Unit([("APPEND", place[1], "+more")],
                {place: Text(value, entry.deadline if entry else None)})


# ---- Keys ----


def expire(writer, now):
    place = writer.place(writer.chance.choice(list(PLACES)))
    entry, is_sure = writer.known(place, now)
    if entry is None or not is_sure or (isinstance(entry, Members) and not entry.sure_names(now)):
        return None
    word, unit_ms = writer.chance.choice([("EXPIRE", 1000), ("PEXPIRE", 1), ("PEXPIREAT", 0)])
    if unit_ms == 0:
        deadline = writer.moment(now)
        count = deadline.low
    else:
        count, deadline = writer.duration(now, unit_ms)
    return Unit([(word, place[1], count)], {place: entry._replace(deadline=deadline)},
                set_deadlines=[deadline])


def persist(writer, now):
    place = writer.place(writer.chance.choice(list(PLACES)))
    entry, is_sure = writer.known(place, now)
    if entry is None or not is_sure:
        return None
    return Unit([("PERSIST", place[1])], {place: entry._replace(deadline=None)})


def rename(writer, now):
    kind = writer.chance.choice(["string", "list", "stream", *KINDS_OF_MEMBERS])
    place, target = writer.place(kind), writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if entry is None or not is_sure or target == place:
        return None
    if isinstance(entry, Members) and not entry.sure_names(now):
        return None
    return Unit([("RENAME", place[1], target[1])], {place: None, target: entry})


# ---- Members: of hashes, sets and sorted sets ----


def some_kind(writer):
    return writer.chance.choice(list(KINDS_OF_MEMBERS))


def some_names(writer):
    return writer.chance.sample(NAMES, writer.chance.randint(1, 4))


def payload(writer, kind):
    if kind == "set":
        return None
    return writer.value() if kind == "hash" else float(writer.chance.randrange(40)) / 2


def with_members(kind, entry, members):
    return Members(kind, {**(entry.members if entry else {}), **members},
                   entry.deadline if entry else None)


def without_members(entry, names):
    left = {name: pair for name, pair in entry.members.items() if name not in names}
    return entry._replace(members=left) if left else None


def flat(kind, members):
    """The words that put them."""
    if kind == "set":
        return list(members)
    pairs = [(name, value) for name, (value, _) in members.items()]
    return [word for name, value in pairs
            for word in ((name, value) if kind == "hash" else (value, name))]


def put(writer, now):
    """HSET removes deadlines; SADD and ZADD keep them, and so it must be sure which there are."""
    kind = some_kind(writer)
    place = writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if not is_sure:
        return None
    before = entry.members if entry else {}
    members = {}
    for name in some_names(writer):
        _, deadline = before.get(name, (None, None))
        if kind == "hash":
            deadline = None
        elif not is_safe(deadline, now):
            continue
        members[name] = (payload(writer, kind), deadline)
    if not members:
        return None
    word = {"hash": "HSET", "set": "SADD", "zset": "ZADD"}[kind]
    return Unit([(word, place[1], *flat(kind, members))],
                {place: with_members(kind, entry, members)})


def remove(writer, now):
    kind = some_kind(writer)
    place = writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if entry is None or not is_sure:
        return None
    names = some_names(writer)
    if entry.deadline is not None and not [name for name in entry.sure_names(now)
                                           if name not in names]:
        return None
    word = {"hash": "HDEL", "set": "SREM", "zset": "ZREM"}[kind]
    return Unit([(word, place[1], *names)], {place: without_members(entry, names)})


def put_with_deadline(writer, now):
    kind = some_kind(writer)
    place = writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if not is_sure:
        return None
    names = some_names(writer)
    if entry and entry.deadline is not None and not [
            name for name in entry.sure_names(now) if name not in names]:
        return None
    if writer.chance.random() < 0.6:
        deadline = writer.moment(now)
        when = ("PXAT", deadline.low)
    else:
        count, deadline = writer.duration(now, 1)
        when = ("PX", count)
    members = {name: (payload(writer, kind), deadline) for name in names}
    word = {"hash": "HSETEX", "set": "SADDEX", "zset": "ZADDEX"}[kind]
    return Unit([(word, place[1], *when, *listed(kind, names)[:2], *flat(kind, members))],
                {place: with_members(kind, entry, members)}, set_deadlines=[deadline])


def sure_members(writer, kind, now):
    """A key, and some of its members of which it is sure whether they are there."""
    place = writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if entry is None or not is_sure:
        return place, None, []
    sure = entry.sure_names(now)
    # If none were left, the key's own deadline would go with the last of those that may be gone.
    most = len(sure) - 1 if entry.deadline is not None else len(sure)
    if most < 1:
        return place, None, []
    return place, entry, writer.chance.sample(sure, writer.chance.randint(1, most))


def with_deadline(entry, names, deadline):
    return with_members(entry.kind, entry,
                        {name: (entry.members[name][0], deadline) for name in names})


def expire_members(writer, now):
    kind = some_kind(writer)
    place, entry, names = sure_members(writer, kind, now)
    if not names:
        return None
    letter = KINDS_OF_MEMBERS[kind]
    form = writer.chance.randrange(5)
    if form == 0:  # in the past: they go at once
        return Unit([(letter + "PEXPIREAT", place[1], 1, *listed(kind, names))],
                    {place: without_members(entry, names)})
    if form == 1:
        count, deadline = writer.duration(now, 1000)
        words = (letter + "EXPIRE", place[1], count, *listed(kind, names))
    else:
        deadline = writer.moment(now)
        words = (letter + "PEXPIREAT", place[1], deadline.low, *listed(kind, names))
    return Unit([words], {place: with_deadline(entry, names, deadline)}, set_deadlines=[deadline])


def persist_members(writer, now):
    kind = some_kind(writer)
    place, entry, names = sure_members(writer, kind, now)
    if not names:
        return None
    return Unit([(KINDS_OF_MEMBERS[kind] + "PERSIST", place[1], *listed(kind, names))],
                {place: with_deadline(entry, names, None)})


# ---- Of one kind ----


def hgetdel(writer, now):
    place, entry, names = sure_members(writer, "hash", now)
    if not names:
        return None
    return Unit([("HGETDEL", place[1], *listed("hash", names))],
                {place: without_members(entry, names)})


def hincrby(writer, now):
    place, entry, names = sure_members(writer, "hash", now)
    if not names or not entry.members[names[0]][0].isdigit():
        return None
    value, deadline = entry.members[names[0]]
    members = {names[0]: (b"%d" % (int(value) + 7), deadline)}
    return Unit([("HINCRBY", place[1], names[0], 7)],
                {place: with_members("hash", entry, members)})


def zincrby(writer, now):
    place, entry, names = sure_members(writer, "zset", now)
    if not names:
        return None
    score, deadline = entry.members[names[0]]
    return Unit([("ZINCRBY", place[1], 1.5, names[0])],
                {place: with_members("zset", entry, {names[0]: (score + 1.5, deadline)})})


def is_all_sure(entry, now):
    return entry is not None and len(entry.sure_names(now)) == len(entry.members)


def zpopmin(writer, now):
    """Also as the removal of a rank. All that may be first must be there."""
    place = writer.place("zset")
    entry, is_sure = writer.known(place, now)
    if not is_sure or not is_all_sure(entry, now):
        return None
    first = min(entry.members, key=lambda name: (entry.members[name][0], name))
    words = writer.chance.choice([("ZPOPMIN", place[1]), ("BZPOPMIN", place[1], 0),
                                  ("ZREMRANGEBYRANK", place[1], 0, 0)])
    return Unit([words], {place: without_members(entry, [first])})


def smove(writer, now):
    """The deadline goes along, unless the member is there already."""
    place, entry, names = sure_members(writer, "set", now)
    target = writer.place("set")
    other, is_sure = writer.known(target, now)
    if not names or not is_sure or target == place:
        return None
    name = names[0]
    there = other.members.get(name) if other else None
    if there is not None and not is_safe(there[1], now):
        return None
    moved = with_members("set", other, {name: there or entry.members[name]})
    return Unit([("SMOVE", place[1], target[1], name)],
                {place: without_members(entry, [name]), target: moved})


def store_union(writer, now):
    """The result has no deadlines."""
    kind = writer.chance.choice(["set", "zset"])
    place, target = writer.place(kind), writer.place(kind)
    entry, is_sure = writer.known(place, now)
    if not is_sure or not is_all_sure(entry, now):
        return None
    words = ("SUNIONSTORE", target[1], place[1]) if kind == "set" else \
        ("ZUNIONSTORE", target[1], 1, place[1])
    result = {name: (value, None) for name, (value, _) in entry.members.items()}
    return Unit([words], {target: Members(kind, result, None)})


PLAIN = [set_text, set_until, set_until, set_for, delete, increment, increment, append, expire,
         expire, persist, rename, put, put, put, put, remove, remove, zincrby, zpopmin, smove,
         store_union, *LISTS, *STREAMS]
MEMBER_DEADLINES = [put_with_deadline] * 6 + [expire_members] * 6 + [persist_members, hgetdel,
                                                                    hincrby]
KINDS = PLAIN + MEMBER_DEADLINES
