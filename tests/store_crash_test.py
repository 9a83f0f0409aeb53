#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the writers of a store, again and again, and looks at what they leave.

    store_crash_test.py [--kills N] [--seed N]

Every commit that was acknowledged must be there, at most one more of each writer, nothing by
halves, nothing else, and writing must go on: see store_crash.cc. This holds at each durability
level, since it is the process that dies and not the machine. In one round of five several processes
write at once; one is killed, and the others must not notice.
"""

import argparse
import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_crash")
LEVELS = ["full", "normal", "off"]
ROUNDS_PER_STORE = 5
PATIENCE_S = 60


class Writer:
    """A process that writes, and the last commit that it has acknowledged."""

    def __init__(self, path, seed, level, number, alone):
        command = [PROGRAM, "write", path, str(seed), level, str(number)]
        self.process = subprocess.Popen(command + ["alone"] * alone, stdout=subprocess.PIPE)
        self.count = 0
        self.last = None
        self.rest = b""

    def take(self, data):
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        self.count += len(lines)
        if lines:
            self.last = int(lines[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        while data := os.read(self.process.stdout.fileno(), 65536):
            self.take(data)
        code = self.process.wait()
        if code != -signal.SIGKILL:
            raise AssertionError(f"a writer ended by itself, with {code}")


def listen(writers, seconds, enough=lambda: False):
    """Takes acknowledgements for some seconds, or until it is enough."""
    end = time.monotonic() + seconds
    while not enough() and (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([each.process.stdout for each in writers], [], [], left)
        for each in writers:
            if each.process.stdout in ready:
                data = os.read(each.process.stdout.fileno(), 65536)
                if not data:
                    raise AssertionError("a writer ended by itself")
                each.take(data)


class Crashes:
    """One store, and how much of each writer's plan must be in it."""

    def __init__(self, path, seed, chance):
        self.path, self.seed, self.chance = path, seed, chance
        self.numbers = [0, 0, 0]
        self.kills = 0

    def crash(self, several):
        levels = [self.chance.choice(LEVELS) for _ in range(3 if several else 1)]
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(
                Writer(self.path, self.seed, level, number, alone=not several))
                for number, level in enumerate(levels)]
            self.kill(writers)
        self.kills += len(writers)
        self.verify([each.last for each in writers], levels)

    def kill(self, writers):
        # Sometimes while the store is opened, or made.
        moment = self.chance.choice([0.02, 0.15, 0.4])
        listen(writers, self.chance.uniform(0, moment))
        victims = list(writers)
        if len(writers) > 1:
            victims.pop(self.chance.randrange(len(writers))).kill()
            before = [each.count for each in victims]
            listen(victims, PATIENCE_S, lambda: all(
                each.count >= count + 5 for each, count in zip(victims, before)))
            if any(each.count < count + 5 for each, count in zip(victims, before)):
                raise AssertionError("a writer waits for one that was killed")
        for each in victims:
            each.kill()

    def verify(self, acknowledged, levels):
        level = self.chance.choice(LEVELS)
        done = subprocess.run([PROGRAM, "verify", self.path, str(self.seed), level, "3"],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise AssertionError(f"after a crash at {levels}: {done.stderr}")
        found = [int(word) for word in done.stdout.split()]
        for writer, number in enumerate(found):
            last = self.numbers[writer]
            if writer < len(acknowledged) and acknowledged[writer] is not None:
                last = acknowledged[writer]
            most = last + 1 if writer < len(acknowledged) else last
            if not last <= number <= most:
                raise AssertionError(f"after a crash at {levels}: writer {writer} was told of "
                                     f"{last} commits, and {number} are there")
        self.numbers = [number + 1 for number in found]  # verify makes one more


def run(kills, seed):
    """Returns the numbers of kills and of commits that were made between them."""
    chance = random.Random(seed)
    killed = commits = 0
    while killed < kills:
        with tempfile.TemporaryDirectory() as folder:
            crashes = Crashes(os.path.join(folder, "store"), chance.randrange(2**32), chance)
            for number in range(ROUNDS_PER_STORE):
                if killed + crashes.kills < kills:
                    crashes.crash(several=number % 5 == 3)
            killed += crashes.kills
            commits += sum(crashes.numbers)
    return killed, commits


class StoreCrashTest(unittest.TestCase):
    kills = int(os.environ.get("MAYFLY_KILLS", "20"))
    seed = int(os.environ.get("MAYFLY_SEED", "1"))

    def test_keeps_what_was_acknowledged_and_nothing_by_halves(self):
        began = time.monotonic()
        try:
            kills, commits = run(self.kills, self.seed)
        except BaseException:
            print(f"To see it again: store_crash_test.py --kills {self.kills} --seed {self.seed}",
                  file=sys.stderr)
            raise
        print(f"{kills} kills, {commits} commits, {time.monotonic() - began:.1f} s")
        self.assertGreater(commits, kills, "the writers were killed before they wrote anything")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="kills the writers of a store")
    parser.add_argument("--kills", type=int, default=StoreCrashTest.kills)
    parser.add_argument("--seed", type=int, default=StoreCrashTest.seed)
    options = parser.parse_args()
    StoreCrashTest.kills, StoreCrashTest.seed = options.kills, options.seed
    unittest.main(argv=sys.argv[:1])
