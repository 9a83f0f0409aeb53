#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of the redo log is needed: without it something is lost. See store_rules.cc."""

import concurrent.futures
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_rules")
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


def tell(rule, switch):
    """How the story of a rule ends, and what it says."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        done = subprocess.run([PROGRAM, folder, rule, switch], capture_output=True, text=True,
                              timeout=120)
        return done.returncode, done.stdout + done.stderr


class StoreRulesTest(unittest.TestCase):
    def test_each_rule_holds_and_is_needed(self):
        rules = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True,
                               check=True).stdout.split()
        self.assertGreaterEqual(len(rules), 35)
        runs = [(rule, switch) for rule in rules for switch in ["on", "off"]]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for (rule, switch), (code, output) in zip(runs, pool.map(lambda run: tell(*run), runs)):
                with self.subTest(rule=rule, switch=switch):
                    if switch == "on":
                        self.assertEqual(code, 0, output)
                    else:
                        self.assertNotEqual(code, 0, "nobody noticed that it was off")


if __name__ == "__main__":
    unittest.main()
