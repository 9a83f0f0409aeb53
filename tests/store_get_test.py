#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A family without TTLs pays nothing for those that have them.

Counts, with callgrind, what ReadTxn::get does for a key of such a family, against the same code
without any TTL support (see store_get.cc): instructions, and calls that go into a B-tree. Callgrind
gives the same numbers on every run. To leave out what filling the store costs, each program runs
with two numbers of rounds, and the difference is divided by the look-ups between them.
"""

import collections
import functools
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_get")
KEYS = 10_000
BAR = 1.07  # it also asks whether the log has something to say
ACCESSES = ["mdb_get", "mdb_cursor_get", "mdb_cursor_open", "mdb_stat"]


def run(what, rounds):
    """The instructions, and how often each function was called."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                   "--compress-strings=no", PROGRAM, what, str(rounds), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        calls = collections.Counter()
        with open(out, encoding="utf-8") as lines:
            called = None
            for line in lines:
                if line.startswith("cfn="):
                    called = line[4:].strip()
                elif line.startswith("calls="):
                    calls[called] += int(line[6:].split()[0])
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)), calls


@functools.cache
def per_get(what):
    few, few_calls = run(what, 1)
    many, many_calls = run(what, 6)
    gets = 5 * KEYS
    return (many - few) / gets, {name: (many_calls[name] - few_calls[name]) / gets
                                 for name in ACCESSES}


class StoreGetTest(unittest.TestCase):
    def test_takes_as_many_instructions_as_without_ttl_support(self):
        store, _ = per_get("store")
        plain, _ = per_get("plain")
        print(f"store {store:.1f}, without TTL support {plain:.1f}, ratio {store / plain:.3f}")
        self.assertGreater(plain, 100, "the look-up was optimized away")
        self.assertLessEqual(store / plain, BAR)

    def test_looks_into_one_b_tree_once(self):
        for what in ["store", "plain"]:
            _, calls = per_get(what)
            self.assertEqual(calls, {"mdb_get": 1, "mdb_cursor_get": 0, "mdb_cursor_open": 0,
                                     "mdb_stat": 0}, what)


if __name__ == "__main__":
    unittest.main()
