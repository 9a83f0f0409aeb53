#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast is the Python package, beside what Python has? Answers with a table, and bars.

    make python && build/venv/bin/python python/bench.py [--quick] [--json]

All contenders do the same work on the same keys, in turn, several times; the numbers are medians,
and a ratio is the median of the ratios within a round, so that what else the machine does hits both
sides. sqlite3 has the schema that one would write for this (an index on the expiry), WAL and
synchronous=NORMAL, which is as safe as our default.

Of the puts it measures one large batch, and both sides have stored one entry before the clock
starts: our first write of all waits for the disk. bench_batches.py has other batches and orders.
"""

import argparse
import functools
import json
import platform
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from typing import Callable, NamedTuple

sys.path[:1] = []  # the folder of this file has the sources; what is measured is what is installed

import mayfly  # noqa: E402
import mayfly.dbm  # noqa: E402

GET = "SELECT value FROM kv WHERE key = ? AND (expires IS NULL OR expires > ?)"
PUT = "INSERT OR REPLACE INTO kv VALUES (?, ?, ?)"


class Bar(NamedTuple):
    workload: str
    ours: str
    peers: tuple  # the fastest of them counts
    least: float


BARS = (
    Bar("random get", "mayfly get", ("sqlite3 SELECT",), 3),
    Bar("batched put with TTL", "mayfly put_many", ("sqlite3 executemany", "sqlite3 loop"), 3),
    Bar("batched put with TTL", "mayfly loop", ("sqlite3 executemany", "sqlite3 loop"), 3),
    Bar("dbm-like use", "mayfly.dbm", ("dbm.gnu",), 1),
    Bar("dbm-like use", "mayfly.dbm", ("shelve",), 1),
)


class Data:
    """The entries that all contenders store: random keys, values of 100 bytes, random TTLs."""

    def __init__(self, count: int, folder: str):
        chance = random.Random(1)
        self.count, self.folder, self.files = count, folder, 0
        self.keys = [b"session:%016x" % chance.getrandbits(64) for _ in range(count)]
        values = [chance.randbytes(100) for _ in range(count)]
        ttls = [chance.randrange(1000, 100_000) for _ in range(count)]
        self.items = list(zip(self.keys, values, ttls))
        self.now_ms = int(time.time() * 1000)
        self.rows = [(key, value, self.now_ms + ttl * 1000) for key, value, ttl in self.items]
        self.order = self.keys[:]
        chance.shuffle(self.order)

    def path(self) -> str:
        self.files += 1
        return f"{self.folder}/{self.files}.db"


def open_sqlite(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = NORMAL",
        "CREATE TABLE kv (key BLOB PRIMARY KEY, value BLOB, expires INTEGER)",
        "CREATE INDEX kv_expires ON kv (expires)",
    ):
        connection.execute(statement)
    return connection


def measure(function: Callable, count: int) -> float:
    """Microseconds for each of `count` operations."""
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) / count * 1e6


# --- Workloads: each yields (contender, microseconds for one operation)

def random_get(data: Data):
    store = mayfly.KVStore(data.path())
    store.put_many(data.items)
    connection = open_sqlite(data.path())
    connection.execute("BEGIN")
    connection.executemany(PUT, data.rows)
    connection.execute("COMMIT")

    def by_mayfly():
        get = store.get
        for key in data.order:
            get(key)

    def by_sqlite():
        execute, now = connection.execute, data.now_ms
        for key in data.order:
            execute(GET, (key, now)).fetchone()

    yield "mayfly get", measure(by_mayfly, data.count)
    yield "sqlite3 SELECT", measure(by_sqlite, data.count)
    yield "mayfly get_many", measure(lambda: store.get_many(data.order), data.count)
    store.close()
    connection.close()


def batched_put(data: Data):
    def loop(store):
        put = store.put
        with store.transaction():
            for key, value, ttl in data.items:
                put(key, value, ttl)

    def sqlite(connection, write):
        connection.execute("BEGIN")
        write(connection)
        connection.execute("COMMIT")

    def sqlite_loop(connection):
        execute = connection.execute
        for row in data.rows:
            execute(PUT, row)

    for name, write in (("mayfly put_many", lambda store: store.put_many(data.items)),
                        ("mayfly loop", loop)):
        with mayfly.KVStore(data.path()) as store:
            store.put("first", "write", ttl=60)  # what a file needs once is not what is asked here
            yield name, measure(lambda: write(store), data.count)
    for name, write in (("sqlite3 executemany", lambda c: c.executemany(PUT, data.rows)),
                        ("sqlite3 loop", sqlite_loop)):
        connection = open_sqlite(data.path())
        connection.execute(PUT, (b"first", b"write", data.now_ms + 60_000))
        yield name, measure(lambda: sqlite(connection, write), data.count)
        connection.close()


def dbm_like(data: Data):
    import dbm.gnu
    import shelve

    def use(database, keys):
        """Puts, looks, reads and removes each key, and closes."""
        value = b"v" * 100
        for key in keys:
            database[key] = value
        for key in keys:
            key in database  # noqa: B015
        for key in keys:
            database[key]
        for key in keys:
            del database[key]
        database.close()

    texts = [key.decode() for key in data.order]
    shelf = shelve.Shelf(dbm.gnu.open(data.path(), "c"))
    contenders = (
        ("mayfly.dbm", mayfly.dbm.open(data.path(), "c"), data.order),
        ("dbm.gnu", dbm.gnu.open(data.path(), "c"), data.order),
        ("shelve", shelf, texts),
        ("shelve on mayfly.dbm", shelve.Shelf(mayfly.dbm.open(data.path(), "c")), texts),
    )
    for name, database, keys in contenders:
        yield name, measure(lambda: use(database, keys), 4 * data.count)


def caches(data: Data):
    def use(cache):
        for key in data.order:
            cache[key] = key
        for key in data.order:
            cache[key]

    yield "mayfly.Cache", measure(lambda: use(mayfly.Cache(data.count, 60)), 2 * data.count)
    yield "dict", measure(lambda: use({}), 2 * data.count)
    try:
        import cachetools
    except ImportError:
        return
    peer = cachetools.TTLCache(data.count, 60)
    yield "cachetools.TTLCache", measure(lambda: use(peer), 2 * data.count)


def decorators(data: Data):
    def identity(key):
        return key

    remembered = mayfly.ttl_cache(ttl=60, maxsize=1000)(identity)
    lru = functools.lru_cache(1000)(identity)
    keys = data.keys[:500]

    def use(function):
        for _ in range(data.count // len(keys)):
            for key in keys:
                function(key)

    yield "mayfly.ttl_cache", measure(lambda: use(remembered), data.count)
    yield "functools.lru_cache", measure(lambda: use(lru), data.count)


WORKLOADS = {
    "random get": random_get,
    "batched put with TTL": batched_put,
    "dbm-like use": dbm_like,
    "cache": caches,
    "decorator": decorators,
}


# --- Running and telling

def run(count: int, rounds: int) -> dict:
    """The numbers of all rounds: workload -> contender -> [microseconds]."""
    results: dict = {name: {} for name in WORKLOADS}
    steps = [(number, name) for number in range(rounds) for name in WORKLOADS]
    for done, (_, name) in enumerate(steps):
        progress(done, len(steps), name)
        with tempfile.TemporaryDirectory(prefix="mayfly-bench-") as folder:
            for contender, microseconds in WORKLOADS[name](Data(count, folder)):
                results[name].setdefault(contender, []).append(microseconds)
    progress(len(steps), len(steps), "")
    return results


def progress(done: int, steps: int, name: str) -> None:
    if not sys.stderr.isatty():
        return
    width = max(10, shutil.get_terminal_size().columns - 40)
    filled = width * done // steps
    line = f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{steps} {name:22}"
    print(line if done < steps else "\r" + " " * len(line) + "\r", end="", file=sys.stderr)


def ratio_of(bar: Bar, results: dict) -> float:
    """How many times faster we are than the fastest of the peers, in the middle round."""
    rounds = results[bar.workload]
    peers = zip(*(rounds[peer] for peer in bar.peers))
    return statistics.median(min(p) / o for p, o in zip(peers, rounds[bar.ours]))


def report(results: dict, count: int) -> None:
    machine = f"Python {platform.python_version()}, {platform.machine()}, {count} entries"
    print(f"mayfly {mayfly.__version__}, {machine}; microseconds for one operation, medians\n")
    for name, contenders in results.items():
        print(name)
        best = min(statistics.median(times) for times in contenders.values())
        for contender, times in contenders.items():
            middle = statistics.median(times)
            print(f"  {contender:22}{middle:9.2f}  {'#' * min(60, round(5 * middle / best))}")
    print("\nbars")
    for bar in BARS:
        ratio = ratio_of(bar, results)
        verdict = "ok" if ratio >= bar.least else "missed"
        peers = " or ".join(bar.peers)
        compared = f"{bar.ours} {ratio:.1f} times {peers} (at least {bar.least})"
        print(f"  {bar.workload}: {compared} {verdict}")


def to_json(results: dict, count: int) -> str:
    bars = [{**bar._asdict(), "ratio": round(ratio_of(bar, results), 3)} for bar in BARS]
    return json.dumps({"version": mayfly.__version__, "python": platform.python_version(),
                       "entries": count, "microseconds": results, "bars": bars}, indent=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few entries and rounds")
    parser.add_argument("--json", action="store_true", help="all numbers, for programs")
    options = parser.parse_args()
    count, rounds = (5000, 3) if options.quick else (100_000, 7)
    results = run(count, rounds)
    if options.json:
        print(to_json(results, count))
    else:
        report(results, count)
    return 0 if all(ratio_of(bar, results) >= bar.least for bar in BARS) else 1


if __name__ == "__main__":
    sys.exit(main())
