#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of Cache::get for a live key, against the bare hash map's look-up.

Instructions, not time: callgrind gives the same number on every run. To leave out what filling the
map costs, each program runs with two numbers of rounds, and the difference is divided by the
look-ups between them.
"""

import os
import re
import subprocess
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "cache_get")
KEYS = 10_000
BAR = 1.3


def instructions(what, kind, rounds):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
               PROGRAM, what, kind, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def instructions_per_get(what, kind):
    return (instructions(what, kind, 6) - instructions(what, kind, 1)) / (5 * KEYS)


class CacheGetTest(unittest.TestCase):
    def assert_within_the_bar(self, kind):
        cache = instructions_per_get("cache", kind)
        bare = instructions_per_get("map", kind)
        print(f"{kind} keys: cache {cache:.1f}, bare map {bare:.1f}, ratio {cache / bare:.2f}")
        self.assertGreater(bare, 10, "the look-up was optimized away")
        self.assertLessEqual(cache / bare, BAR)

    def test_number_keys(self):
        self.assert_within_the_bar("number")

    def test_string_keys(self):
        self.assert_within_the_bar("string")


if __name__ == "__main__":
    unittest.main()
