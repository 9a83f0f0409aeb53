# SPDX-License-Identifier: Apache-2.0
"""What the random writes of workload.py leave behind: values, deadlines, and units of commands."""

from dataclasses import dataclass, field
from typing import NamedTuple

SURE_MS = 300  # this long after a deadline everybody agrees that it has passed
SAFE_MS = 600_000  # this long before it, that it has not


class Deadline:
    """A moment that is known, or known to lie within bounds until the server has told it."""

    def __init__(self, low, high=None, ttl=None):
        self.low = low
        self.high = low if high is None else high
        self.ttl = ttl  # None: the moment is known

    def __repr__(self):
        return f"{self.low}" if self.low == self.high else f"{self.low}..{self.high}"

    def settle(self, now):
        """The command that set it was done before `now`."""
        if self.ttl is not None:
            self.high = min(self.high, now + self.ttl)

    def told(self, moment):
        if not self.low <= moment <= self.high:
            raise AssertionError(f"a deadline is {moment}, and should be within {self}")
        self.low, self.high, self.ttl = moment, moment, None


def fits(deadline, seen):
    return seen == -1 if deadline is None else deadline.low <= seen <= deadline.high


def is_past(deadline, now):
    return deadline is not None and deadline.high + SURE_MS < now


def is_safe(deadline, now):
    return deadline is None or deadline.low > now + SAFE_MS


class Text(NamedTuple):
    """A key whose value is of one piece: bytes, a tuple of a list's elements, or a Stream."""

    value: object
    deadline: Deadline
    kind: str = "string"

    def is_sure(self, now):
        return is_safe(self.deadline, now)

    def matches(self, seen, begin, end):
        if is_gone(self.deadline, begin):
            return seen is None
        if seen is None:
            return may_be_gone(self.deadline, end)
        return (seen.kind, comparable(seen)) == (self.kind, self.value) and fits(self.deadline,
                                                                                seen.deadline)


class Stream(NamedTuple):
    """What commands set. The times of deliveries are the server's, and what a group has read is not
    always known."""

    entries: tuple = ()  # of (id, field, value ...)
    last_id: bytes = b"0-0"
    deleted_id: bytes = b"0-0"
    added: int = 0
    groups: tuple = ()  # of Group, by name

    def group(self, name):
        return next((group for group in self.groups if group.name == name), None)

    def with_group(self, group):
        others = [one for one in self.groups if one.name != group.name]
        return self._replace(groups=tuple(sorted([*others, group])))

    def without(self, ids):
        return self._replace(entries=tuple(one for one in self.entries if one[0] not in ids))

    def pending_ids(self):
        return {one[0] for group in self.groups for one in group.pending}


class Group(NamedTuple):
    name: bytes
    last_id: bytes
    consumers: tuple = ()
    pending: tuple = ()  # of (id, consumer, deliveries)

    def with_consumer(self, name):
        return self._replace(consumers=tuple(sorted({*self.consumers, name})))


def comparable(entry):
    """The value of what contents() has read."""
    if entry.kind != "stream":
        return entry.value
    seen = entry.value
    groups = tuple(Group(group.name, group.last_id, group.consumers,
                         tuple((entry_id, consumer, deliveries)
                               for entry_id, consumer, _, deliveries in group.pending))
                   for group in seen.groups)
    return Stream(seen.entries, seen.last_id, seen.deleted_id, seen.added, groups)


def id_order(entry_id):
    return tuple(map(int, entry_id.split(b"-")))


class Members(NamedTuple):
    """A hash, a set or a sorted set."""

    kind: str
    members: dict  # name: (value or score or None, deadline)
    deadline: Deadline

    def is_sure(self, now):
        """Whether its own deadline plays no part: if all members may go, it goes with them."""
        return is_safe(self.deadline, now) and (
            self.deadline is None or any(is_safe(one, now) for _, one in self.members.values()))

    def sure_names(self, now):
        return [name for name, (_, deadline) in self.members.items() if is_safe(deadline, now)]

    def matches(self, seen, begin, end):
        if is_gone(self.deadline, begin):
            return seen is None
        if seen is None:
            return may_be_gone(self.deadline, end) or all(
                may_be_gone(deadline, end) for _, deadline in self.members.values())
        if seen.kind != self.kind or not fits(self.deadline, seen.deadline):
            return False
        if any(name.decode() not in self.members for name in seen.value):
            return False
        return all(self.member_matches(name.encode(), value, deadline, seen, begin, end)
                   for name, (value, deadline) in self.members.items())

    @staticmethod
    def member_matches(name, value, deadline, seen, begin, end):
        if is_gone(deadline, begin):
            return name not in seen.value
        if name not in seen.value:
            return may_be_gone(deadline, end)
        return seen.value[name] == value and fits(deadline, seen.deadlines.get(name, -1))


def is_gone(deadline, begin):
    return deadline is not None and deadline.high <= begin


def may_be_gone(deadline, end):
    return deadline is not None and deadline.low <= end


@dataclass
class Unit:
    """One command, or one transaction: it was done as a whole or not at all."""

    requests: list
    changes: dict = field(default_factory=dict)  # (database, key): what it is then, or None
    sent: int = 0
    set_deadlines: list = field(default_factory=list)
    asks: Deadline = None  # the last reply tells this one
    may_fail: bool = False
    reply: object = None
