#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance cases against the real program, and against Debian's redis-server.

    MAYFLY=build/release/mayfly python3 tests/conformance/conformance_test.py [mayfly|redis] [FILE]
"""

import glob
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from conformance_cases import Run, parse  # noqa: E402
from mayfly_server import Mayfly, Redis  # noqa: E402
from resp_client import Closed  # noqa: E402

SERVERS = {"mayfly": Mayfly, "redis": Redis}
FILES = sorted(glob.glob(os.path.join(HERE, "*.txt")))


def failures(server, path):
    """What is wrong in a file, and how many cases it has run."""
    found, count = [], 0
    for case in parse(path):
        if case.only not in (None, server.name):
            continue
        count += 1
        try:
            Run(server, case, os.path.relpath(path)).run()
        except (AssertionError, Closed, OSError) as error:
            found.append(f"{error}" or repr(error))
            server.check_health()
    return found, count


class ConformanceTest(unittest.TestCase):
    servers = list(SERVERS)
    files = FILES

    def test_every_case_on_every_server(self):
        for name in self.servers:
            wrong, cases = [], 0
            with SERVERS[name]() as server:
                for path in self.files:
                    found, count = failures(server, path)
                    wrong += found
                    cases += count
            print(f"{name}: {cases} cases, {len(wrong)} wrong")
            with self.subTest(name):
                if wrong:
                    self.fail("\n" + "\n".join(wrong))


if __name__ == "__main__":
    for word in sys.argv[1:]:
        if word in SERVERS:
            ConformanceTest.servers = [word]
        else:
            ConformanceTest.files = [path for path in FILES if word in path]
    unittest.main(argv=sys.argv[:1])
