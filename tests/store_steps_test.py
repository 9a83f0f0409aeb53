#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills processes at the steps of what they do with a store. See store_steps.cc.

    store_steps_test.py [--stride N] [--first N]

A stride of 1 is every step; the steps of all strides together are as many.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_steps")
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
LEVELS = ["full", "normal", "off"]
KINDS = ["fresh", "alone", "beside", "twice"]


def kill_at_steps(level, kind, first, stride):
    """Returns how many processes were killed."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        command = [PROGRAM, folder, level, kind, str(first), str(stride)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    count = re.search(rf"^{level} {kind}: (\d+) kills", done.stdout, re.MULTILINE)
    if not count:
        last = done.stdout.splitlines()[-1:]
        raise AssertionError(f"{level}, {kind}, {last}: {done.stderr}")
    return int(count[1])


class StoreStepsTest(unittest.TestCase):
    stride = int(os.environ.get("MAYFLY_STRIDE", "5"))
    first = int(os.environ.get("MAYFLY_SEED", "1"))

    def test_a_kill_at_any_step_loses_nothing(self):
        runs = [(level, kind, 1 + (self.first + number) % self.stride, self.stride)
                for number, (level, kind) in enumerate(
                    (level, kind) for level in LEVELS for kind in KINDS)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            kills = list(pool.map(lambda run: kill_at_steps(*run), runs))
        print(f"{sum(kills)} kills")
        for run, count in zip(runs, kills):
            self.assertGreater(count * self.stride, 60, run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="kills processes at the steps they take")
    parser.add_argument("--stride", type=int, default=StoreStepsTest.stride)
    parser.add_argument("--first", type=int, default=StoreStepsTest.first)
    options = parser.parse_args()
    StoreStepsTest.stride, StoreStepsTest.first = options.stride, options.first
    unittest.main(argv=sys.argv[:1])
