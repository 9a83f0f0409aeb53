#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Costs that are promised: the same operations on structures of two sizes, ten times apart, take
about as many instructions (O(1)), or little more (O(log n)).

The structures have seen many overwrites, erasures and expiries before: see costs.cc,
store_costs.cc and server_costs.cc, which also have the place of each promise. callgrind gives the
same numbers on every run.
"""

import glob
import os
import re
import subprocess
import tempfile
import unittest

FOLDER = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "costs")
SIZES = (2_000, 20_000)
# A structure of a few thousand entries may be one level lower than a larger one. What is promised
# as linear must not be worse.
MOST = {"constant": 1.5, "log": 2.0, "linear": 12.0}


def promises(program):
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in listed.stdout.splitlines()]


def instructions(program, size):
    """{name: instructions} of one run."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no",
                   f"--callgrind-out-file={folder}/out", program, str(size)]
        subprocess.run(command, capture_output=True, text=True, check=True)
        for path in glob.glob(f"{folder}/out*"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            if name:
                total = re.search(r"^(?:totals|summary): (\d+)$", text, re.MULTILINE)
                found[name.group(1)] = int(total.group(1))
    return found


class CostsTest(unittest.TestCase):
    def check(self, name, least):
        program = os.path.join(FOLDER, name)
        small, large = (instructions(program, size) for size in SIZES)
        listed = promises(program)
        self.assertGreater(len(listed), least)
        for name, growth, place in listed:
            with self.subTest(name, place=place):
                self.assertGreater(small[name], 1_000, "the operations were optimized away")
                ratio = large[name] / small[name]
                print(f"{ratio:5.2f}  {growth:8}  {name}  ({place})")
                self.assertLessEqual(ratio, MOST[growth], f"{small[name]} to {large[name]}")

    def test_structures_cost_what_is_promised(self):
        self.check("costs", 30)

    def test_stores_cost_what_is_promised(self):
        self.check("store_costs", 10)

    def test_commands_cost_what_is_promised(self):
        self.check("server_costs", 20)


if __name__ == "__main__":
    unittest.main()
