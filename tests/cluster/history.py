# SPDX-License-Identifier: Apache-2.0
"""Decides whether what clients saw of a cluster was right.

    problems = linearizable(ops) + owners(ops, terms) + deadlines(ops)

A client notes an Op for each request: when it began, when the reply came and what it said. Values
are never written twice, so a read says which write it saw. All times are seconds of one clock.

* linearizable(): `cluster-replies in-sync`. All that touches a value gives a *zone*, from the first
  end to the last begin. If that is forward, the register had the value all the time between; else
  it had it at some moment of the zone turned round. A register is linearizable if and only if no
  two forward zones overlap and no backward one lies in a forward one (Gibbons and Korach, "Testing
  shared memories", 1997). O(n log n). With DEL it finds no error that is none, but not every one.
* safe(): `at-once`. A write for which WAIT said that it is safe is never missing afterwards.
* terms_in_order(): `at-once`. What one owner said in one term is linearizable.
* owners(): nobody answers for a shard after another one was recorded as its primary.
* deadlines(): a value is there until its deadline, not after it, and never again.
* torn(), swapped(): what was written at once is read at once, and no two take the same value.
* flushed(): FLUSHALL as what it did to each key; at_one_moment(): it did so at one moment.

Several keys are one register if every request that writes one of them writes all, with one value:
a *group*. A read of any of its keys is a read of the group, by a command, EXEC, a script or a
function alike. The functions of a shard are a register, too: their code returns the value.
"""

import bisect
import collections
import dataclasses
import math

NEVER = math.inf
ALWAYS = -math.inf
TOLERANCE_S = 0.5  # of the clocks of two nodes that are in sync

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
SET, GET, DEL, FLUSH = "set", "get", "del", "flush"


@dataclasses.dataclass(slots=True)
class Op:
    """A request that sets, reads or deletes one key, or one field of a hash: `key` names either."""

    key: str
    kind: str
    value: str | None  # what was written or read; None for nothing
    begin: float
    end: float = NEVER  # NEVER: no reply came
    outcome: str = OK  # REFUSED: it has surely not happened. UNKNOWN: it may still happen
    owner: str = ""  # who replied
    safe_at: float = NEVER  # when WAIT said that it is safe
    deadline: float = NEVER  # of what was written
    values: tuple = ()  # of a group: the value read of each key; `value` is the first
    swap: str = ""  # a read and a write of one request have the same one: nothing is between them
    flush: str = ""  # of a deletion: which FLUSHALL it is of

    def __post_init__(self):
        if self.outcome == UNKNOWN:
            self.end = NEVER

    def brief(self):
        word = f"{self.kind} {self.key}"
        if self.kind != DEL:
            word += f" {self.value}"
        by = f" by {self.owner}" if self.owner else ""
        return f"[{word} {self.begin:.4f}-{self.end:.4f} {self.outcome}{by}]"


@dataclasses.dataclass(slots=True)
class Term:
    """A record of a shard, as somebody who watches the register has seen it."""

    shard: str
    epoch: int
    owner: str
    not_before: float  # it was not there yet
    seen: float  # it was there


@dataclasses.dataclass(slots=True)
class Zone:
    name: str
    first_end: float
    last_begin: float
    ops: tuple  # the ops that have this end and this begin

    @property
    def is_forward(self):
        return self.first_end < self.last_begin

    def brief(self):
        return f"{self.name}: " + " .. ".join(dict.fromkeys(op.brief() for op in self.ops))


def by_key(ops):
    grouped = collections.defaultdict(list)
    for op in ops:
        grouped[op.key].append(op)
    return grouped


def zone_of(name, ops):
    first = min(ops, key=lambda op: op.end)
    last = max(ops, key=lambda op: op.begin)
    return Zone(name, first.end, last.begin, (first, last))


def overlaps(zones):
    """What is wrong with zones that must exclude each other."""
    forward = sorted((zone for zone in zones if zone.is_forward), key=lambda zone: zone.first_end)
    problems, longest = [], None
    for zone in forward:
        if longest is not None and zone.first_end < longest.last_begin:
            problems.append(f"both at one moment: {longest.brief()} and {zone.brief()}")
        if longest is None or zone.last_begin > longest.last_begin:
            longest = zone
    # Of the forward zones that begin before a backward one does, the one that ends last decides.
    starts = [zone.first_end for zone in forward]
    reach, furthest = [], None
    for zone in forward:
        if furthest is None or zone.last_begin > furthest.last_begin:
            furthest = zone
        reach.append(furthest)
    for zone in zones:
        at = bisect.bisect_left(starts, zone.last_begin)
        if not zone.is_forward and at and zone.first_end < reach[at - 1].last_begin:
            problems.append(f"{zone.brief()} lies within {reach[at - 1].brief()}")
    return problems


def happened(ops):
    """Without what has surely not happened, and reads without a reply. A write without one that was
    never read stays: it has no end, so its zone collides with none."""
    return [op for op in ops if op.outcome == OK or op.outcome == UNKNOWN and op.kind != GET]


def values_of(ops):
    """{value: its ops}, the write first, and what is wrong with that alone."""
    clusters, problems = {}, []
    for op in ops:
        if op.kind == SET:
            if op.value in clusters:
                raise AssertionError(f"written twice: {op.brief()}")
            clusters[op.value] = [op]
    for op in ops:
        if op.kind != GET or op.value is None:
            continue
        if op.value not in clusters:
            problems.append(f"nobody has written this, or it was refused: {op.brief()}")
        elif op.end < clusters[op.value][0].begin:
            problems.append(f"read before it was written: {op.brief()}")
        else:
            clusters[op.value].append(op)
    return clusters, problems


def linearizable(ops):
    """What is wrong, as texts. In the beginning there is nothing."""
    problems = []
    for key, mine in by_key(ops).items():
        mine = happened(mine)
        clusters, found = values_of(mine)
        zones = [zone_of(f"{key} = {value}", cluster) for value, cluster in clusters.items()]
        nothing = [op for op in mine if op.kind == GET and op.value is None]
        deletes = [op for op in mine if op.kind == DEL]
        if not deletes:
            beginning = Op(key, SET, None, ALWAYS, ALWAYS)
            zones.append(zone_of(f"{key} = nothing", [beginning, *nothing]))
        else:
            zones += [zone_of(f"{key} = nothing", [op]) for op in nothing]
            zones += [zone_of(f"{key} deleted", [op]) for op in deletes if op.outcome == OK]
            found += lost(key, clusters, nothing, deletes)
        problems += found + overlaps(zones)
    return problems


def best_before(rows):
    """Of rows (moment, value, op), a function: of those before a moment the row with the greatest
    value. With `also`, those at the moment count, too."""
    rows = sorted(rows, key=lambda row: row[:2])
    moments, best = [row[0] for row in rows], []
    for row in rows:
        best.append(row if not best or row[1] > best[-1][1] else best[-1])

    def look(moment, also=False):
        at = (bisect.bisect_right if also else bisect.bisect_left)(moments, moment)
        return best[at - 1] if at else (ALWAYS, ALWAYS, None)

    return look


def lost(key, clusters, nothing, deletes):
    """Reads of nothing, where there must have been something. Of the deletions that may come before
    a read the one that ends last explains it, unless a write lies between the two for sure."""
    deleted = best_before((op.begin, op.end, op) for op in deletes)
    written = best_before((min(op.end for op in cluster), cluster[0].begin, cluster[0])
                          for cluster in clusters.values())
    problems = []
    for read in nothing:
        _, begin, write = written(read.begin)
        if begin > deleted(read.end, also=True)[1]:
            problems.append(f"{key} is lost: {write.brief()}, then {read.brief()}")
    return problems


def safe(ops):
    """Reads that began after a write was safe, and saw what was there before it for sure. Writes
    that were not safe may come and go."""
    problems = []
    for key, mine in by_key(ops).items():
        changes = [op for op in mine if op.kind != GET and op.outcome != REFUSED]
        waited = best_before((op.safe_at, op.begin, op) for op in changes if op.safe_at < NEVER)
        deleted = best_before((op.begin, op.end, op) for op in changes if op.kind == DEL)
        writes = {op.value: op for op in changes if op.kind == SET}
        expiry = min((op.deadline for op in writes.values()), default=NEVER)
        for read in mine:
            if read.kind != GET or read.outcome != OK:
                continue
            _, begin, kept = waited(read.begin)
            if read.value is None:
                is_due = expiry - TOLERANCE_S < read.end
                end = NEVER if is_due else deleted(read.end, also=True)[1]
            elif read.value in writes:
                end = writes[read.value].end
            else:
                problems.append(f"nobody has written this, or it was refused: {read.brief()}")
                continue
            if end < begin:
                problems.append(f"{key} is lost: {kept.brief()} was safe at {kept.safe_at:.4f}, "
                                f"then {read.brief()}")
    return problems


def possible(op, terms):
    """The terms in which this reply may have been given: those that had begun when it ended, and
    whose successor was not seen before it began."""
    at = bisect.bisect_left(terms, op.begin, key=lambda term: term.seen)
    for term in terms[max(at - 1, 0):]:
        if term.not_before > op.end:
            break
        if term.owner == op.owner:
            yield term


def owners(ops, terms):
    """Replies of somebody who was not the recorded primary at any moment of the request; and, where
    only one term is possible for a reply, terms that overlap. `terms`: of one slot, in order."""
    problems, replies = [], collections.defaultdict(list)
    for op in ops:
        if op.outcome != OK or not op.owner:
            continue
        found = list(possible(op, terms))
        if not found:
            problems.append(f"a reply of somebody who is no longer primary, or not yet: "
                            f"{op.brief()}")
        elif len(found) == 1:
            replies[id(found[0])].append(op)
    names = {id(term): f"epoch {term.epoch} of {term.shard}, {term.owner}" for term in terms}
    return problems + overlaps([zone_of(names[term], mine) for term, mine in replies.items()])


def terms_in_order(ops, terms):
    """What was said in one term, checked as linearizable(); what it began with is not known. Writes
    without a reply may belong to any term."""
    spoken = collections.defaultdict(list)
    for op in ops:
        found = list(possible(op, terms)) if op.outcome == OK else []
        if len(found) == 1:
            spoken[id(found[0]), op.key].append(op)
    epochs = {id(term): term.epoch for term in terms}
    problems = []
    for (term, key), mine in spoken.items():
        epoch = epochs[term]
        values = collections.defaultdict(list)
        for op in mine:
            if op.kind != DEL and op.value is not None:
                values[op.value].append(op)
        zones = [zone_of(f"epoch {epoch}, {key} = {value}", cluster)
                 for value, cluster in values.items()]
        zones += [zone_of(f"epoch {epoch}, {key} deleted", [op]) for op in mine if op.kind == DEL]
        problems += overlaps(zones)
    return problems


def deadlines(ops, is_safe=lambda write: write.outcome == OK, tolerance=TOLERANCE_S):
    """Of keys that are written once, with a deadline. A write that `is_safe` says no to may be gone
    before it."""
    problems = []
    for key, mine in by_key(ops).items():
        writes = [op for op in mine if op.kind == SET and op.deadline < NEVER]
        if not writes:
            continue
        if len(writes) > 1 or any(op.kind == DEL and not op.flush for op in mine):
            raise AssertionError(f"not written once: {key}")
        deleted = min((op.begin for op in mine
                       if op.kind == DEL and op.end >= writes[0].begin), default=NEVER)
        problems += one_deadline(writes[0], [op for op in mine
                                             if op.kind == GET and op.outcome == OK],
                                 is_safe(writes[0]), min(writes[0].deadline - tolerance, deleted),
                                 tolerance)
    return problems


def one_deadline(write, reads, is_kept, until, tolerance):
    problems = []
    known = write.end if write.outcome == OK else NEVER
    for read in reads:
        if read.value is not None:
            known = min(known, read.end)
            if read.begin >= write.deadline + tolerance:
                problems.append(f"shown after its deadline {write.deadline:.4f}: {read.brief()}")
    gone = None  # the earliest end of a read that saw that it had gone
    for read in reads:
        if read.value is None and read.begin > known:
            if is_kept and read.end <= until:
                problems.append(f"gone before its deadline {write.deadline:.4f}: {read.brief()}")
            if gone is None or read.end < gone.end:
                gone = read
    problems += [f"shown again after it was gone: {gone.brief()}, then {read.brief()}"
                 for read in reads if gone and read.value is not None and read.begin > gone.end]
    return problems


# ---- Several keys at once


def torn(ops):
    """Reads of a group that saw a part of a write."""
    return [f"torn, {op.values}: {op.brief()}" for op in ops
            if op.kind == GET and op.outcome == OK and len(set(op.values)) > 1]


def swapped(ops):
    """Requests that replaced a value and returned it: each value has one at most. As no write is
    between the two, all values of a chain of replacements have one zone."""
    problems = []
    for key, mine in by_key(ops).items():
        taken = {}
        for op in mine:
            if not op.swap or op.kind != GET or op.outcome != OK or op.value is None:
                continue
            other = taken.setdefault(op.value, op)
            if other is not op:
                problems.append(f"replaced twice: {other.brief()} and {op.brief()}")
        if not taken:
            continue
        clusters, _ = values_of(happened(mine))
        olds, chains = {op.swap: value for value, op in taken.items() if value in clusters}, {}
        for value in clusters:
            first, seen = value, set()
            while first not in seen and clusters[first][0].swap in olds:
                seen.add(first)
                first = olds[clusters[first][0].swap]
            if first in seen:
                problems.append(f"replaced by itself in the end: {clusters[first][0].brief()}")
            chains.setdefault(first, []).append(value)
        problems += overlaps([zone_of(f"{key} = " + ", ".join(chain),
                                      [op for value in chain for op in clusters[value]])
                              for chain in chains.values()])
    return problems


def flushed(ops, flushes, terms_of):
    """The deletions by the flushes, one for each key. `terms_of(key)`: the terms of its slot.

    A flush deletes the key if its owner owned the slot all the time; it may have done so if it did
    for a part of the time, and if there was no reply."""
    found = []
    for key in by_key(ops):
        terms = terms_of(key)
        for flush in flushes:
            if flush.outcome == REFUSED:
                continue
            owners_then = [term.owner for term in overlapping(flush, terms)]
            if flush.outcome == OK and flush.owner not in owners_then:
                continue
            is_sure = flush.outcome == OK and set(owners_then) == {flush.owner}
            found.append(Op(key, DEL, None, flush.begin, flush.end, OK if is_sure else UNKNOWN,
                            owner=flush.owner, flush=flush.flush))
    return found


def overlapping(op, terms):
    """The terms that may have lasted at some moment of the request."""
    for at, term in enumerate(terms):
        ended = terms[at + 1].seen if at + 1 < len(terms) else NEVER
        if term.not_before <= op.end and ended >= op.begin:
            yield term


def at_one_moment(ops):
    """A flush is behind every read of a value that was there before it, and before every read of
    nothing that only it explains."""
    latest, first = {}, {}  # by flush: the read that is surely before it, behind it
    for mine in by_key(ops).values():
        mine = happened(mine)
        deletes = [op for op in mine if op.kind == DEL]
        writes = {op.value: op for op in mine if op.kind == SET}
        for flush in deletes:
            if not flush.flush or flush.outcome != OK:
                continue
            for read in mine:
                if read.kind != GET or read.begin > flush.end or read.end < flush.begin:
                    continue
                if read.value is None:
                    side, is_surer = first, lambda one, two: one.end < two.end
                    known = explains_alone(flush, read, deletes, writes.values())
                else:
                    side, is_surer = latest, lambda one, two: one.begin > two.begin
                    write = writes.get(read.value)
                    known = write is not None and write.end < flush.begin
                if known and (flush.flush not in side or is_surer(read, side[flush.flush])):
                    side[flush.flush] = read
    return [f"not at one moment: {first[flush].brief()}, then {read.brief()}"
            for flush, read in latest.items()
            if flush in first and first[flush].end < read.begin]


def explains_alone(flush, read, deletes, writes):
    """Whether a value was there before the flush, and nothing else may have deleted it."""
    there = [op for op in writes if op.end < min(flush.begin, read.begin)]
    if not there:
        return False
    since = max(op.begin for op in there)
    return all(op is flush or op.end < since or op.begin > read.end for op in deletes)
