# SPDX-License-Identifier: Apache-2.0
"""The command line of tests that do things at random.

    x_test.py [--seed N] [--long] [words of unittest ...]

--seed does again what a run with that number did; --long does more.
"""

import sys
import time


def take_options():
    """The seed, which is printed, and whether it is to be long. unittest.main() gets the rest."""
    words = sys.argv
    is_long = "--long" in words
    if is_long:
        words.remove("--long")
    seed = time.time_ns() % 1_000_000
    if "--seed" in words:
        at = words.index("--seed")
        seed = int(words[at + 1])
        del words[at:at + 2]
    print(f"seed {seed}")
    return seed, is_long
