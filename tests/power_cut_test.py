#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a store more than 2,000 times, at the levels full and normal.

Each cut must leave the store as it was after some commit, and after all that had been promised.
See power_cut.cc for how. Without its guard the same store must be found broken, or else this would
prove nothing.
"""

import concurrent.futures
import os
import re
import subprocess
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "power_cut")

# Workload, seed, images.
RUNS = [
    ("full", 1, 300),
    ("normal", 1, 350),
    ("normal", 2, 350),
    ("keeper", 3, 350),
    ("keeper", 4, 350),
    ("mixed", 5, 350),
]


def cut_power(kind, seed, images, *more):
    """Returns how many images were not sound, and what was said about them."""
    command = [PROGRAM, kind, str(seed), str(images), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    output = done.stdout + done.stderr
    count = re.search(rf"^{kind}: {images} images, (\d+) unsound", output, re.MULTILINE)
    if not count:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{output}")
    return int(count[1]), output


class PowerCutTest(unittest.TestCase):
    def test_every_cut_leaves_a_committed_state_and_what_was_promised(self):
        self.assertGreaterEqual(sum(images for _, _, images in RUNS), 2000)
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for unsound, output in pool.map(lambda run: cut_power(*run), RUNS):
                self.assertEqual(unsound, 0, output)

    def test_without_its_guard_the_store_breaks(self):
        unsound, _ = cut_power("normal", 1, 40, "--unguarded")
        self.assertGreater(unsound, 0)


if __name__ == "__main__":
    unittest.main()
