#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much faster are puts with a TTL than sqlite3, for each order of keys and size of batch?

    make python && build/venv/bin/python bench/python/batches.py [--quick] [--json FILE]

Each contender fills a new file with the same entries, its first write included; they take turns at
being the first. See bench.py for the schema of sqlite3, and for all else that the package does.
"""

import itertools
import os
import random
import tempfile
import time

import mayfly
from bench import PUT, finish, measure, open_sqlite, options_of

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


def sqlite3(path: str, batches: list) -> None:
    now_ms = int(time.time() * 1000)
    connection = open_sqlite(path)
    for batch in batches:
        connection.execute("BEGIN")
        connection.executemany(PUT, [(key, value, now_ms + ttl * 1000)
                                     for key, value, ttl in batch])
        connection.execute("COMMIT")
    connection.close()


CONTENDERS = (put_many, loop, sqlite3)


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


def main() -> None:
    options = options_of(__doc__)
    count, rounds = (5000, 3) if options.quick else (200_000, 6)
    runs = []
    for keys, ttls, size in itertools.product(KEYS, TTLS, (count, BATCH)):
        items = entries(count, keys, ttls)
        for number in range(rounds):
            for system, microseconds in round_of(items, size, number).items():
                runs.append({"suite": "python", "part": "batches", "system": system,
                             "case": f"{keys} keys, {ttls} TTLs", "round": number,
                             "settings": {"entries": count, "batch": size},
                             "metrics": {"us": microseconds}})
    finish(runs, {"put_many": "one call a batch", "loop": "put in a transaction",
                  "sqlite3": "executemany"}, options.json)


if __name__ == "__main__":
    main()
