#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all conformance cases on the real program under valgrind, which sees every misuse of memory.

Whether the replies are right is conformance_test.py's to say: used_memory, for one, is not.
"""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from conformance_test import FILES, failures  # noqa: E402
from mayfly_server import Mayfly  # noqa: E402

VALGRIND = ["valgrind", "--soname-synonyms=somalloc=*jemalloc*", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--num-callers=6"]


class MemcheckTest(unittest.TestCase):
    def test_no_case_misuses_memory(self):
        cases = 0
        with Mayfly() as server:
            report = os.path.join(server.folder, "valgrind")
            server.stop()
            server.command = [*VALGRIND, f"--log-file={report}", *server.command]
            server.start()
            for path in FILES:
                cases += failures(server, path)[1]
            server.stop()
            with open(report, encoding="utf-8") as file:
                text = re.sub(r"(?m)^==\d+== ?", "", file.read())
        print(f"{cases} cases under valgrind")
        self.assertTrue(re.search(r"total heap usage: [\d,]{5,} allocs", text), "blind to malloc")
        if "ERROR SUMMARY: 0 errors" not in text:
            self.fail("\n" + text[:6000])


if __name__ == "__main__":
    unittest.main()
