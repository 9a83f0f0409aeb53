#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much faster are puts with a TTL than sqlite3, for each order of keys and size of batch?

    make python && build/venv/bin/python python/bench_batches.py [--quick] [--json]

Each contender fills a new file with the same entries, its first write included; they take turns at
being the first. A line has the least, the median and the most of the ratios within a round. See
bench.py for the schema of sqlite3, and for all else that the package does.
"""

import argparse
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time

from bench import PUT, measure, open_sqlite, progress

import mayfly  # after bench, which has seen to it that this is the installed one

KEYS = ("ascending", "random")
TTLS = ("equal", "random")
BATCH = 1000  # beside one batch of everything


def entries(count: int, keys: str, ttls: str) -> list:
    chance = random.Random(1)
    names = [b"session:%016x" % chance.getrandbits(64) for _ in range(count)]
    if keys == "ascending":
        names.sort()
    seconds = (3600, 3601) if ttls == "equal" else (1000, 100_000)
    return [(name, chance.randbytes(100), chance.randrange(*seconds)) for name in names]


def split(items: list, size: int) -> list:
    return [items[first:first + size] for first in range(0, len(items), size)]


def put_many(path: str, batches: list) -> None:
    with mayfly.KVStore(path) as store:
        for batch in batches:
            store.put_many(batch)


def loop(path: str, batches: list) -> None:
    with mayfly.KVStore(path) as store:
        put = store.put
        for batch in batches:
            with store.transaction():
                for key, value, ttl in batch:
                    put(key, value, ttl)


def sqlite(path: str, batches: list) -> None:
    now_ms = int(time.time() * 1000)
    connection = open_sqlite(path)
    for batch in batches:
        connection.execute("BEGIN")
        connection.executemany(PUT, [(key, value, now_ms + ttl * 1000)
                                     for key, value, ttl in batch])
        connection.execute("COMMIT")
    connection.close()


CONTENDERS = (put_many, loop, sqlite)


def round_of(items: list, size: int, number: int) -> dict:
    """Microseconds for one put: contender -> time."""
    batches = split(items, size)
    turn = number % len(CONTENDERS)
    times = {}
    with tempfile.TemporaryDirectory(prefix="mayfly-bench-") as folder:
        for fill in CONTENDERS[turn:] + CONTENDERS[:turn]:
            path = os.path.join(folder, fill.__name__)
            times[fill.__name__] = measure(lambda: fill(path, batches), len(items))
    return times


def run(count: int, rounds: int) -> list:
    cases = list(itertools.product(KEYS, TTLS, (count, BATCH)))
    lines = []
    for done, (keys, ttls, size) in enumerate(cases):
        progress(done, len(cases), f"{keys} keys, {ttls} TTLs")
        items = entries(count, keys, ttls)
        times = [round_of(items, size, number) for number in range(rounds)]
        lines.append({"keys": keys, "ttls": ttls, "batch": size, "microseconds": times})
    progress(len(cases), len(cases), "")
    return lines


def ratios(line: dict, contender: str) -> str:
    values = [times["sqlite"] / times[contender] for times in line["microseconds"]]
    return f"{min(values):.1f} {statistics.median(values):.1f} {max(values):.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few entries and rounds")
    parser.add_argument("--json", action="store_true", help="all numbers, for programs")
    options = parser.parse_args()
    count, rounds = (5000, 3) if options.quick else (200_000, 6)
    lines = run(count, rounds)
    if options.json:
        results = {"version": mayfly.__version__, "entries": count, "cases": lines}
        print(json.dumps(results, indent=2))
        return 0
    print(f"times sqlite3's executemany: least, median, most of {rounds} rounds, {count} entries\n")
    print(f"{'keys':10} {'TTLs':7} {'batch':>7}   {'put_many':>14}   {'put in a loop':>14}")
    for line in lines:
        print(f"{line['keys']:10} {line['ttls']:7} {line['batch']:7}   "
              f"{ratios(line, 'put_many'):>14}   {ratios(line, 'loop'):>14}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
