#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of histories with requests about several keys, FLUSHALL, scripts and functions: right
ones pass, wrong ones do not; small ones against a search through all orders.

    python3 tests/cluster/many_keys_test.py [--seed N] [--long]
"""

import dataclasses
import os
import random
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

import history  # noqa: E402
import load  # noqa: E402
import many_keys  # noqa: E402
from history import (ALWAYS, DEL, FLUSH, GET, NEVER, OK, REFUSED, SET, UNKNOWN,  # noqa: E402
                     Op, Term)
from random_options import take_options  # noqa: E402
from resp_client import Failure  # noqa: E402

HISTORIES, HISTORIES_LONG = 4_000, 100_000
SWAP = "swap"
KEYS = ("a", "b")  # each stands for a group
TERMS = [Term("s", 1, "p", ALWAYS, ALWAYS)]

seed = 1
histories = HISTORIES


@dataclasses.dataclass
class Request:
    kind: str
    key: str
    value: str | None
    begin: float
    end: float
    outcome: str = OK
    old: str | None = None  # of a swap: the returned value

    def ops(self):
        more = {"outcome": self.outcome, "owner": "p"}
        if self.kind == FLUSH:
            return [Op("", FLUSH, self.value, self.begin, self.end, flush=self.value, **more)]
        if self.kind == GET:
            return [Op(self.key, GET, self.value, self.begin, self.end,
                       values=(self.value, self.value), **more)]
        if self.kind != SWAP:
            return [Op(self.key, self.kind, self.value, self.begin, self.end, **more)]
        write = Op(self.key, SET, self.value, self.begin, self.end, swap=self.value, **more)
        if self.outcome != OK:
            return [write]
        return [write, Op(self.key, GET, self.old, self.begin, self.end, swap=self.value, **more)]

    def act(self, state):
        """The state behind it; None if its reply does not fit."""
        now = dict(zip(KEYS, state))
        if self.kind == FLUSH:
            return (None,) * len(KEYS)
        if self.kind == GET and now[self.key] != self.value:
            return None
        if self.kind == SWAP and self.outcome == OK and now[self.key] != self.old:
            return None
        if self.kind != GET:
            now[self.key] = None if self.kind == DEL else self.value
        return tuple(now[key] for key in KEYS)


def problems_of(requests):
    ops = [op for request in requests for op in request.ops()]
    flushes = [op for op in ops if op.kind == FLUSH]
    ops = [op for op in ops if op.kind != FLUSH]
    ops += history.flushed(ops, flushes, lambda _: TERMS)
    return (history.linearizable(ops) + history.torn(ops) + history.swapped(ops)
            + history.at_one_moment(ops))


def has_order(requests):
    """Whether some order of what happened explains it: by trying all of them."""
    requests = [request for request in requests if request.outcome != REFUSED]
    needed = frozenset(at for at, request in enumerate(requests) if request.outcome == OK)
    ends = [request.end if request.outcome == OK else NEVER for request in requests]
    tried = set()

    def search(done, state):
        if needed <= done:
            return True
        if (done, state) in tried:
            return False
        tried.add((done, state))
        rest = [at for at in range(len(requests)) if at not in done]
        first_end = min(ends[at] for at in rest if at in needed)
        for at in rest:
            after = requests[at].act(state)
            if requests[at].begin <= first_end and after is not None and search(done | {at}, after):
                return True
        return False

    return search(frozenset(), (None,) * len(KEYS))


def right_history(chance, count, flushes):
    """Each request takes effect at a moment between its begin and its end."""
    state, requests = dict.fromkeys(KEYS), []
    for number, moment in enumerate(sorted(chance.uniform(0, count / 3) for _ in range(count))):
        kind = chance.choice([SET, GET, GET, GET, SWAP] + [FLUSH] * flushes)
        key = chance.choice(KEYS)
        value = state[key] if kind == GET else f"v{number}"
        unknown = kind != GET and chance.random() < 0.15
        requests.append(Request(kind, key, value, moment - chance.expovariate(2),
                                moment + chance.expovariate(2), UNKNOWN if unknown else OK,
                                state[key] if kind == SWAP else None))
        if kind == GET or (unknown and chance.random() < 0.5):
            continue
        if kind == FLUSH:
            state = dict.fromkeys(KEYS)
        else:
            state[key] = value
    return requests


def disturbed(chance, requests):
    written = [request.value for request in requests if request.kind in (SET, SWAP)] + [None]
    for _ in range(chance.choice([1, 1, 2])):
        request = chance.choice(requests)
        if request.kind in (GET, SWAP) and chance.random() < 0.7:
            if request.kind == GET:
                request.value = chance.choice(written)
            else:
                request.old = chance.choice(written)
        else:
            shift = chance.uniform(-2, 2)
            request.begin += shift
            request.end += shift
    return requests


class RandomTest(unittest.TestCase):
    def check(self, flushes, least):
        chance, wrong, caught = random.Random(seed), 0, 0
        for number in range(histories):
            requests = right_history(chance, chance.randrange(2, 10), flushes)
            self.assertEqual(problems_of(requests), [], f"seed {seed}, history {number}")
            requests = disturbed(chance, requests)
            found = problems_of(requests)
            if has_order(requests):
                told = "\n".join([*map(str, requests), *found])
                self.assertEqual(found, [], f"seed {seed}, history {number}\n{told}")
            else:
                wrong += 1
                caught += bool(found)
        print(f"seed {seed}: flushes {flushes}, {caught} of {wrong} wrong ones caught")
        self.assertGreater(wrong, histories // 10)
        self.assertGreater(caught, least * wrong)

    def test_no_right_one_is_refused_and_wrong_ones_are_caught(self):
        self.check(0, 0.95)

    def test_with_flushes_too(self):
        self.check(1, 0.85)


class WrongHistoriesTest(unittest.TestCase):
    def refuse(self, *requests):
        self.assertNotEqual(problems_of(requests), [])
        self.assertFalse(has_order(requests))

    def accept(self, *requests):
        self.assertEqual(problems_of(requests), [])
        self.assertTrue(has_order(requests))

    def test_a_lost_write_of_a_script(self):
        self.refuse(Request(SET, "a", "v", 0, 1), Request(GET, "a", None, 2, 3))

    def test_a_read_that_sees_half_of_a_write(self):
        half = Op("a", GET, "v", 2, 3, values=("v", None))
        self.assertEqual(len(history.torn([half])), 1)
        self.assertEqual(history.torn([dataclasses.replace(half, values=("v", "v"))]), [])

    def test_two_that_replace_the_same_value(self):
        first = Request(SET, "a", "v", 0, 1)
        swap = Request(SWAP, "a", "w", 2, 6, old="v")
        self.refuse(first, swap, Request(SWAP, "a", "x", 3, 5, old="v"))
        self.accept(first, swap, Request(SWAP, "a", "x", 3, 5, old="w"))
        self.accept(first, swap, Request(SWAP, "a", "x", 3, outcome=UNKNOWN, end=NEVER))

    def test_a_replaced_value_that_is_read_again(self):
        self.refuse(Request(SET, "a", "v", 0, 1), Request(SWAP, "a", "w", 2, 3, old="v"),
                    Request(GET, "a", "v", 4, 5))

    def test_a_flush_that_is_taken_back(self):
        flush = Request(FLUSH, "", "f", 2, 3)
        self.refuse(Request(SET, "a", "v", 0, 1), flush, Request(GET, "a", "v", 4, 5))
        self.accept(Request(SET, "a", "v", 0, 1), flush, Request(GET, "a", None, 4, 5))
        self.accept(Request(SET, "a", "v", 0, 1), dataclasses.replace(flush, outcome=UNKNOWN),
                    Request(GET, "a", "v", 4, 5), Request(GET, "b", None, 4, 5))

    def test_a_flush_that_was_refused(self):
        self.refuse(Request(SET, "a", "v", 0, 1), Request(FLUSH, "", "f", 2, 3, REFUSED),
                    Request(GET, "a", None, 4, 5))

    def test_a_flush_that_comes_twice(self):
        self.refuse(Request(FLUSH, "", "f", 0, 1), Request(SET, "a", "v", 2, 3),
                    Request(GET, "a", None, 4, 5))

    def test_a_flush_of_one_key_after_the_other(self):
        both = (Request(SET, "a", "v", 0, 1), Request(SET, "b", "w", 0, 1),
                Request(FLUSH, "", "f", 2, 9))
        self.refuse(*both, Request(GET, "a", None, 3, 4), Request(GET, "b", "w", 5, 6))
        self.accept(*both, Request(GET, "a", None, 3, 5), Request(GET, "b", "w", 4, 6))
        self.accept(*both, Request(GET, "b", "w", 3, 4), Request(GET, "a", None, 5, 6))

    def test_functions_that_become_older(self):
        def function(value, begin, kind=GET):
            return Op("functions", kind, value, begin, begin + 1, owner="p")

        class Watch:
            seen = [(0, 0, {"s": type("Shard", (), {"primary": "p", "insync": ("q",)})})]

        old_and_new = [function("1", 0, SET), function("2", 2, SET), function("1", 4)]
        ops = load.of_shards(old_and_new, Watch)
        self.assertEqual({op.key for op in ops}, {"functions of s"})
        self.assertEqual(len(history.linearizable(ops)), 1)
        self.assertEqual(history.linearizable(load.of_shards(old_and_new[:2], Watch)), [])

    def test_a_flush_ends_what_has_a_deadline_early(self):
        kept = [Op("k", SET, "v", 0, 1, deadline=10), Op("k", GET, None, 5, 6)]
        self.assertEqual(len(history.deadlines(kept)), 1)
        flush = Op("k", DEL, None, 4, 5, flush="f")
        self.assertEqual(history.deadlines([*kept, flush]), [])
        self.assertEqual(len(history.deadlines([*kept, dataclasses.replace(flush, begin=7,
                                                                           end=8)])), 1)

    def test_a_flush_is_of_the_keys_that_its_server_owned(self):
        flush = Op("", FLUSH, "f", 5, 6, owner="p", flush="f")
        key = [Op("k", GET, None, 0, 1)]

        def outcome(*terms):
            return [op.outcome for op in history.flushed(key, [flush], lambda _: list(terms))]

        mine, others = Term("s", 1, "p", 0, 0), Term("t", 1, "q", 0, 0)
        self.assertEqual(outcome(mine), [OK])
        self.assertEqual(outcome(others), [])
        self.assertEqual(outcome(mine, dataclasses.replace(others, not_before=5.5, seen=5.6)),
                         [UNKNOWN])
        self.assertEqual(outcome(mine, dataclasses.replace(others, not_before=7, seen=8)), [OK])


class Answers:
    """A client whose replies are given."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def ask(self, _, *requests):
        self.requests = requests
        times = [index + 1.0 for index in range(len(self.replies))]
        return type("Answer", (), {"replies": self.replies, "times": times, "begin": 0.0,
                                   "owner": "p"})


class Notes:
    """A Recorder without a cluster."""

    def __init__(self, *replies):
        self.client = Answers(*replies)
        self.ops, self.errors = [], []

    def new_value(self):
        return "v"


class NotesTest(unittest.TestCase):
    def test_what_is_between_multi_and_exec(self):
        notes = Notes("OK", "QUEUED", "QUEUED", ["OK", "OK"], 1)
        op = many_keys.write(notes, "t", "exec", wait=True)
        self.assertEqual((op.outcome, op.end, op.safe_at), (OK, 4.0, 5.0))
        op = many_keys.write(Notes("OK", "QUEUED", "QUEUED"), "t", "exec")
        self.assertEqual((op.outcome, op.end), (UNKNOWN, NEVER))
        aborted = Notes("OK", Failure("MOVED 1 p"), "QUEUED", Failure("EXECABORT"))
        self.assertEqual(many_keys.write(aborted, "t", "exec").outcome, REFUSED)
        self.assertEqual(aborted.errors, [])

    def test_what_was_read(self):
        for way, reply in (("mget", [b"1", b"1"]), ("exec", [b"1", b"1"]),
                           ("script in exec", [[b"1", b"1"]]), ("get", b"1")):
            replies = [None] * (len(many_keys.READS[way]("t")) - 1) + [reply]
            op = many_keys.read(Notes(*replies), "t", way)
            self.assertEqual((op.value, set(op.values)), ("1", {"1"}), way)
        self.assertEqual(len(history.torn([many_keys.read(Notes([b"1", None]), "t", "mget")])), 1)

    def test_a_swap_is_a_read_and_a_write(self):
        for way, reply in (("script", [b"1", b"1"]), ("exec", [[b"1", b"1"], "OK"])):
            notes = Notes(*[None] * (len(many_keys.SWAPS[way]("t", "v")) - 1), reply)
            many_keys.swap(notes, "t", way)
            self.assertEqual([(op.kind, op.value, op.swap) for op in notes.ops],
                             [(GET, "1", "v"), (SET, "v", "v")], way)

    def test_an_error_that_is_not_expected_is_told(self):
        notes = Notes(Failure("ERR something else"))
        many_keys.write(notes, "t", "function")
        self.assertEqual(len(notes.errors), 1)


if __name__ == "__main__":
    seed, is_long = take_options()
    histories = HISTORIES_LONG if is_long else HISTORIES
    unittest.main()
