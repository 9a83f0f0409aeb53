#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a store some hundred times, at all levels of durability.

    power_cut_test.py [--images N] [--seed N]

Each cut must leave the store as it was after some commit, and after all that had been promised.
See power_cut.cc for how, and store_rules_test.py for what happens if a rule of the log is broken.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "power_cut")
LEVELS = ["full", "normal", "off", "mixed"]
IMAGES_PER_RUN = 125


def cut_power(level, seed, images):
    """Returns how many images were not sound, and what was said about them."""
    command = [PROGRAM, level, str(seed), str(images)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    output = done.stdout + done.stderr
    count = re.search(rf"^{level}: {images} images, (\d+) unsound", output, re.MULTILINE)
    if not count:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{output}")
    return int(count[1]), output


class PowerCutTest(unittest.TestCase):
    images = int(os.environ.get("MAYFLY_IMAGES", "500"))
    seed = int(os.environ.get("MAYFLY_SEED", "1"))

    def test_every_cut_leaves_a_committed_state_and_what_was_promised(self):
        runs = [(LEVELS[number % len(LEVELS)], self.seed + number, IMAGES_PER_RUN)
                for number in range(-(-self.images // IMAGES_PER_RUN))]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for unsound, output in pool.map(lambda run: cut_power(*run), runs):
                self.assertEqual(unsound, 0, output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="cuts the power of a store")
    parser.add_argument("--images", type=int, default=PowerCutTest.images)
    parser.add_argument("--seed", type=int, default=PowerCutTest.seed)
    options = parser.parse_args()
    PowerCutTest.images, PowerCutTest.seed = options.images, options.seed
    unittest.main(argv=sys.argv[:1])
