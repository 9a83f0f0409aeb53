#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of histories: right ones pass, wrong ones do not; small ones against a search through
all orders.

    python3 tests/cluster/history_test.py [--seed N] [--long]
"""

import os
import random
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from history import (DEL, GET, NEVER, OK, REFUSED, SET, UNKNOWN, Op, Term, deadlines,  # noqa: E402
                     linearizable, owners, safe, terms_in_order)
from random_options import take_options  # noqa: E402

HISTORIES, HISTORIES_LONG = 6_000, 200_000

seed = 1
histories = HISTORIES


def wrote(value, begin, end=NEVER, **more):
    return Op("k", SET, value, begin, end, **more)


def read(value, begin, end, **more):
    return Op("k", GET, value, begin, end, **more)


def deleted(begin, end=NEVER, **more):
    return Op("k", DEL, None, begin, end, **more)


def has_order(ops):
    """Whether some order of what happened explains it: by trying all of them. What has no known
    outcome may be left out."""
    ops = [op for op in ops if op.outcome != REFUSED and (op.kind != GET or op.outcome == OK)]
    needed = frozenset(at for at, op in enumerate(ops) if op.outcome == OK)
    tried = set()

    def search(done, value):
        if needed <= done:
            return True
        if (done, value) in tried:
            return False
        tried.add((done, value))
        rest = [at for at in range(len(ops)) if at not in done]
        first_end = min(ops[at].end for at in rest if at in needed)
        for at in rest:
            op = ops[at]
            if op.begin > first_end or op.kind == GET and op.value != value:
                continue
            after = value if op.kind == GET else op.value
            if search(done | {at}, after):
                return True
        return False

    return search(frozenset(), None)


class Register:
    """A right history: each request takes effect at a moment between its begin and its end."""

    def __init__(self, chance, count, deletes, length):
        self.value, self.ops, number = None, [], 0
        for moment in sorted(chance.uniform(0, length) for _ in range(count)):
            begin, end = moment - chance.expovariate(2), moment + chance.expovariate(2)
            kind = chance.choice([SET, GET, GET] + [DEL] * deletes)
            unknown = kind != GET and chance.random() < 0.2
            happens = not unknown or chance.random() < 0.5
            number += 1
            value = f"v{number}" if kind == SET else None
            if kind == GET:
                value = self.value
            elif happens:
                self.value = value
            self.ops.append(Op("k", kind, value, begin, end, UNKNOWN if unknown else OK))
        chance.shuffle(self.ops)


def disturbed(chance, ops):
    """The same with one or two things changed: it may be wrong now."""
    values = [op.value for op in ops if op.kind == SET] + [None]
    for _ in range(chance.choice([1, 1, 2])):
        op = chance.choice(ops)
        if op.kind == GET and chance.random() < 0.7:
            op.value = chance.choice(values)
        elif op.end < NEVER:
            shift = chance.uniform(-2, 2)
            op.begin += shift
            op.end += shift
    return ops


class RandomTest(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(seed)

    def test_right_ones_pass_and_wrong_ones_do_not(self):
        counts = {True: 0, False: 0}
        for number in range(histories):
            count = self.chance.randrange(2, 10)
            ops = Register(self.chance, count, 0, count / 3).ops
            self.assertEqual(linearizable(ops), [], f"seed {seed}, history {number}")
            ops = disturbed(self.chance, ops)
            expected = has_order(ops)
            found = linearizable(ops)
            told = "\n".join([f"seed {seed}, history {number}", *(op.brief() for op in ops),
                              *found])
            self.assertEqual(not found, expected, told)
            counts[expected] += 1
        print(f"seed {seed}: {counts[True]} right, {counts[False]} wrong")
        self.assertGreater(min(counts.values()), histories // 10)

    def test_with_deletions_no_right_one_is_refused(self):
        wrong = caught = 0
        for number in range(histories):
            count = self.chance.randrange(2, 10)
            ops = Register(self.chance, count, 1, count / 3).ops
            self.assertEqual(linearizable(ops), [], f"seed {seed}, history {number}")
            ops = disturbed(self.chance, ops)
            found = linearizable(ops)
            if has_order(ops):
                told = "\n".join([*(op.brief() for op in ops), *found])
                self.assertEqual(found, [], f"seed {seed}, history {number}\n{told}")
            else:
                wrong += 1
                caught += bool(found)
        print(f"seed {seed}: with deletions {caught} of {wrong} wrong ones caught")
        self.assertGreater(caught, 0.9 * wrong)

    def test_a_long_one_is_quick(self):
        ops = []
        for key in range(20):
            for op in Register(self.chance, 5_000, 0, 5_000).ops:
                op.key = f"k{key}"
                ops.append(op)
        begin = time.monotonic()
        self.assertEqual(linearizable(ops), [])
        self.assertEqual(safe(ops), [])
        self.assertLess(time.monotonic() - begin, 20)
        ops.append(Op("k3", GET, None, 10_000, 10_001))
        self.assertNotEqual(linearizable(ops), [])


class LinearizableTest(unittest.TestCase):
    def accept(self, *ops):
        self.assertEqual(linearizable(ops), [])
        self.assertTrue(has_order(ops))

    def refuse(self, *ops):
        self.assertNotEqual(linearizable(ops), [])
        self.assertFalse(has_order(ops))

    def test_a_lost_write(self):
        self.refuse(wrote("a", 0, 1), read(None, 2, 3))
        self.refuse(wrote("a", 0, 1), wrote("b", 2, 3), read("a", 4, 5))
        self.accept(wrote("a", 0, 1), wrote("b", 2, 3, outcome=UNKNOWN), read("a", 4, 5))

    def test_a_write_that_comes_and_goes(self):
        self.refuse(wrote("a", 0, 1), wrote("b", 2, outcome=UNKNOWN), read("b", 3, 4),
                    read("a", 5, 6))
        self.accept(wrote("a", 0, 1), wrote("b", 2, outcome=UNKNOWN), read("a", 3, 4),
                    read("b", 5, 6))

    def test_two_reads_in_the_wrong_order(self):
        self.refuse(wrote("a", 0, 10), wrote("b", 0, 10), read("a", 1, 2), read("b", 3, 4),
                    read("a", 5, 6))
        self.accept(wrote("a", 0, 10), wrote("b", 0, 10), read("a", 1, 2), read("b", 3, 4))

    def test_values_that_nobody_wrote(self):
        self.refuse(read("a", 0, 1))
        self.refuse(wrote("a", 0, 1, outcome=REFUSED), read("a", 2, 3))
        self.refuse(read("a", 0, 1), wrote("a", 2, 3))

    def test_a_write_within_the_life_of_another_value(self):
        self.refuse(wrote("a", 0, 1), wrote("b", 2, 3), read("a", 1.5, 1.7), read("a", 4, 5))
        self.accept(wrote("a", 0, 1), wrote("b", 2, 3), read("a", 1.5, 2.5), read("b", 4, 5))

    def test_deletions(self):
        self.accept(wrote("a", 0, 1), deleted(2, 3), read(None, 4, 5))
        self.accept(wrote("a", 0, 1), deleted(2, outcome=UNKNOWN), read(None, 40, 50))
        self.refuse(wrote("a", 0, 1), deleted(2, 3), read("a", 4, 5))
        self.refuse(deleted(0, 1), wrote("a", 2, 3), read(None, 4, 5))
        self.refuse(wrote("a", 0, 1), read(None, 2, 3), deleted(4, 5))
        self.refuse(wrote("a", 0, 1), deleted(2, 3, outcome=REFUSED), read(None, 4, 5))

    def test_keys_are_apart(self):
        self.assertEqual(linearizable([wrote("a", 0, 1), Op("other", GET, None, 2, 3)]), [])

    def test_a_value_that_is_written_twice_is_a_mistake_of_the_test(self):
        self.assertRaises(AssertionError, linearizable, [wrote("a", 0, 1), wrote("a", 2, 3)])


class SafeTest(unittest.TestCase):
    def test_a_safe_write_is_kept(self):
        kept = wrote("b", 2, 3, safe_at=4)
        for wrong in (read(None, 5, 6), read("a", 5, 6), read("x", 5, 6)):
            self.assertEqual(len(safe([wrote("a", 0, 1), kept, wrong])), 1, wrong)
        self.assertEqual(safe([wrote("a", 0, 1), kept, read("a", 3.5, 6), read("b", 5, 6)]), [])

    def test_others_may_be_lost(self):
        self.assertEqual(safe([wrote("a", 0, 1), read(None, 2, 3)]), [])
        later = [wrote("a", 0, 1, safe_at=2), wrote("b", 3, 4), read("b", 5, 6), read("a", 7, 8)]
        self.assertEqual(safe(later), [])

    def test_what_may_have_come_after_it(self):
        kept = wrote("a", 2, 3, safe_at=4)
        for other in (wrote("b", 2.5, 9), wrote("b", 0, outcome=UNKNOWN), wrote("b", 1, 2.5)):
            self.assertEqual(safe([kept, other, read("b", 10, 11)]), [])

    def test_deletions(self):
        self.assertEqual(safe([wrote("a", 0, 1, safe_at=2), deleted(3, 4), read(None, 5, 6)]), [])
        for early in (deleted(-2, -1), deleted(7, 8)):
            self.assertEqual(len(safe([wrote("a", 0, 1, safe_at=2), early, read(None, 5, 6)])), 1)
        back = [wrote("a", 0, 1), deleted(2, 3, safe_at=4), read("a", 5, 6)]
        self.assertEqual(len(safe(back)), 1)

    def test_expiry_is_no_loss(self):
        kept = wrote("a", 0, 1, safe_at=2, deadline=10)
        self.assertEqual(len(safe([kept, read(None, 5, 6)])), 1)
        self.assertEqual(safe([kept, read(None, 11, 12)]), [])


class OwnersTest(unittest.TestCase):
    TERMS = [Term("s", 1, "p", -1, 0), Term("s", 2, "q", 9, 10), Term("s", 3, "p", 19, 20)]

    def test_replies_of_the_owner(self):
        for op in (read(None, 1, 2, owner="p"), read(None, 9.5, 9.9, owner="p"),
                   read(None, 9.2, 9.9, owner="q"), read(None, 11, 12, owner="q"),
                   read(None, 21, 22, owner="p"), read(None, 5, 25, owner="q"),
                   read(None, 11, 19.5, owner="p")):
            self.assertEqual(owners([op], self.TERMS), [], op)

    def test_a_reply_after_the_takeover(self):
        for op in (wrote("a", 10.1, 10.2, owner="p"), wrote("a", 5, 6, owner="q"),
                   read(None, 21, 22, owner="q"), wrote("a", 11, 18, owner="p")):
            self.assertEqual(len(owners([op], self.TERMS)), 1, op)
        self.assertEqual(owners([wrote("a", 11, 12, owner="p", outcome=REFUSED)], self.TERMS), [])

    def test_two_owners_at_one_moment(self):
        """Each for itself is possible: it is not known when the record was written."""
        ops = [wrote("a", 9.2, 9.3, owner="q"), wrote("b", 9.4, 9.5, owner="p"),
               wrote("c", 9.6, 9.7, owner="q"), wrote("d", 1, 2, owner="p")]
        self.assertEqual(len(owners(ops, self.TERMS)), 1)
        self.assertEqual(owners(ops[:1] + ops[2:], self.TERMS), [])

    def test_reads_of_one_term_are_in_order(self):
        wrong = [wrote("a", 1, 2, owner="p"), wrote("b", 3, 4, owner="p"),
                 read("b", 5, 6, owner="p"), read("a", 7, 8, owner="p")]
        self.assertEqual(len(terms_in_order(wrong, self.TERMS)), 1)
        wrong[3] = read("a", 12, 13, owner="q")
        self.assertEqual(terms_in_order(wrong, self.TERMS), [])


class DeadlinesTest(unittest.TestCase):
    def test_it_is_there_until_then_and_never_after(self):
        kept = wrote("a", 0, 1, deadline=10)
        right = [read(None, -2, -1), read(None, 0, 1), read("a", 2, 3), read("a", 9.7, 10.4),
                 read("a", 10.42, 10.9), read(None, 10.43, 10.48), read(None, 12, 13)]
        self.assertEqual(deadlines([kept, *right]), [])
        for wrong in (read("a", 10.51, 10.6), read(None, 8, 9.4)):
            self.assertEqual(len(deadlines([kept, wrong])), 1, wrong)

    def test_it_is_never_seen_again(self):
        kept = wrote("a", 0, 1, deadline=10)
        self.assertEqual(len(deadlines([kept, read(None, 9.6, 9.7), read("a", 9.8, 9.9)])), 1)
        self.assertEqual(deadlines([kept, read(None, 9.6, 9.7), read("a", 9.65, 9.9)]), [])
        late = wrote("a", 0, deadline=10, outcome=UNKNOWN)
        self.assertEqual(deadlines([late, read(None, 2, 3), read("a", 4, 5)]), [])
        self.assertEqual(len(deadlines([late, read("a", 1, 2), read(None, 9.6, 9.7),
                                        read("a", 9.8, 9.9)])), 1)

    def test_what_was_not_safe_may_be_gone_early(self):
        ops = [wrote("a", 0, 1, deadline=10), read(None, 2, 3)]
        self.assertEqual(len(deadlines(ops)), 1)
        self.assertEqual(deadlines(ops, is_safe=lambda write: write.safe_at < NEVER), [])


if __name__ == "__main__":
    seed, is_long = take_options()
    histories = HISTORIES_LONG if is_long else HISTORIES
    unittest.main()
