#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast is the Python package, beside what Python has?

    make python && build/venv/bin/python bench/python/bench.py [--quick] [--json FILE]
    build/release/mayfly-bench report FILE

All contenders do the same work on the same keys, in turn, several times. sqlite3 has the schema
that one would write for this (an index on the expiry), WAL and synchronous=NORMAL, which is as safe
as our default. The results have the form that docs/benchmarks.md describes.

Of the puts it measures one large batch, and both sides have stored one entry before the clock
starts: our first write of all waits for the disk. batches.py has other batches and orders.
"""

import argparse
import functools
import itertools
import json
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
from typing import Callable

import mayfly
import mayfly.dbm

GET = "SELECT value FROM kv WHERE key = ? AND (expires IS NULL OR expires > ?)"
PUT = "INSERT OR REPLACE INTO kv VALUES (?, ?, ?)"


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


# --- Results

def document(runs: list, systems: dict) -> dict:
    """All results in the form of mayfly-bench."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], text=True,
                            capture_output=True, check=False, cwd=os.path.dirname(__file__) or ".")
    return {"program": "bench/python", "version": mayfly.__version__,
            "commit": commit.stdout.strip() or "unknown",
            "time": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
            "machine": {"processor": platform.processor() or platform.machine(),
                        "cores": os.cpu_count(), "compiler": platform.python_compiler()},
            "seconds": time.perf_counter() - STARTED, "systems": systems, "notes": [],
            "runs": runs}


def finish(runs: list, systems: dict, path: str) -> None:
    """Writes the results, to a file or the standard output, and shows the medians."""
    text = json.dumps(document(runs, systems), indent=1)
    if path == "-":
        print(text)
        return
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"Python {platform.python_version()}; microseconds for one operation, medians\n")
    key = lambda run: (run["case"], list(run["settings"].items()))  # noqa: E731
    for (case, settings), group in itertools.groupby(sorted(runs, key=key), key):
        print(case + "".join(f", {name} {value}" for name, value in settings))
        times: dict = {}
        for run in group:
            times.setdefault(run["system"], []).append(run["metrics"]["us"])
        for system, values in times.items():
            print(f"  {system:22}{statistics.median(values):9.2f}")


def options_of(doc: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few entries and rounds")
    parser.add_argument("--json", metavar="FILE", default="", nargs="?", const="-",
                        help="all results, into a file or to the standard output")
    return parser.parse_args()


STARTED = time.perf_counter()


def main() -> None:
    options = options_of(__doc__)
    count, rounds = (5000, 3) if options.quick else (100_000, 7)
    runs = []
    for number, (name, workload) in itertools.product(range(rounds), WORKLOADS.items()):
        with tempfile.TemporaryDirectory(prefix="mayfly-bench-") as folder:
            for system, microseconds in workload(Data(count, folder)):
                runs.append({"suite": "python", "part": "store", "case": name, "system": system,
                             "round": number, "settings": {"entries": count},
                             "metrics": {"us": microseconds}})
    finish(runs, {"python": platform.python_version()}, options.json)


if __name__ == "__main__":
    main()
