#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each cost that a public header or a document promises is counted by a row of costs.cc,
store_costs.cc or server_costs.cc, or is named here with the reason why not.
"""

import glob
import os
import re
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "costs")
PROMISE = re.compile(r"\bO\(|\b[Pp]roportional\b|\b[Cc]onstant time\b")

INDEXES = ("VolatileSet", "TimerWheel", "DeadlineHeap", "DeadlineTree", "WindowQueue")


def of_index(index):
    """The rows of the table that the header of an index begins with."""
    move, count = f"{index} schedule and cancel, next deadline", f"{index} count due"
    rows = {"  schedule": [move, f"cache put and erase {index}"],
            "  take_due": [f"cache purge of due entries {index}"], "  next_deadline": [move],
            "  count_due": [count]}
    return {**rows, "  cancel ": [move]} if index == "DeadlineHeap" else rows


def of_purges(*ways):
    return [f"store purge of everything due, {way}" for way in ways]


# {file: {part of the line: rows}}
ROWS = {
    "README.md": {
        "takes time proportional to the number that have expired":
            ["keyspace sweep of due keys", "cache purge of due entries VolatileSet",
             *of_purges("at once")],
    },
    "ARCHITECTURE.md": {
        "Its cost is proportional to the number of due":
            ["keyspace sweep of due keys", "keyspace sweep of nothing", *of_purges("at once")],
        "so a rank is found in O(log n)": ["rank in a sorted set"],
    },
    "docs/cache.md": {"takes O(1) if nothing is due": ["cache purge of nothing VolatileSet"]},
    "docs/decisions.md": {
        "ranges by rank and ZCOUNT are O(log n)":
            ["rank in a sorted set", "commands of a sorted set"],
        "each pays O(log n), once": ["sweep of due members of a sorted set"],
    },
    "docs/expiry_indexes.md": {
        **{f"| {index} |": list(of_index(index)["  schedule"]) +
           of_index(index)["  take_due"] + of_index(index)["  count_due"] for index in INDEXES},
        "| Sampler |": ["Sampler schedule and cancel, next deadline", "Sampler count due"],
        "| LazyIndex |": ["LazyIndex schedule and cancel, next deadline", "LazyIndex count due"],
    },
    "include/kvstore.h": {
        "expired ones included, as in SNKV. O(1)":
            ["store count of entries, expired ones included",
             "store count of entries in an older snapshot, but for the first"],
        "expired entries in the file. O(expired)":
            ["store count of entries of which some are due",
             "store count of entries of which many are due"],
        "O(log n) if none": ["store purge of nothing", *of_purges("in C", "by limited calls in C")],
    },
    "include/mayfly/cache.h": {
        "Costs O(1) if there": [f"cache purge of nothing {index}" for index in INDEXES],
    },
    **{f"include/mayfly/{header}.h": of_index(index) for header, index in
       zip(("volatile_set", "timer_wheel", "deadline_heap", "deadline_tree", "window_queue"),
           INDEXES)},
    "include/mayfly/lazy_index.h": {
        "schedule, cancel": ["LazyIndex schedule and cancel, next deadline"],
        "count_due": ["LazyIndex count due"],
    },
    "include/mayfly/sampler.h": {
        "schedule, cancel": ["Sampler schedule and cancel, next deadline"],
        "take_due": ["Sampler cycle"],
        "next_deadline": ["Sampler schedule and cancel, next deadline"],
        "count_due": ["Sampler count due"],
    },
    "include/mayfly/store.h": {
        "Cost: O(log n)": of_purges("at once", "by limited calls", "in a transaction"),
        "for each entry removed": ["store purge of due entries", "store purge of nothing"],
    },
    "include/mayfly/store_txn.h": {
        "O(log n + what is returned)":
            ["store page of what expires next",
             "store page of what expires next, the nearest erased before"],
        "Cost: O(pages)": ["store clear"],
    },
    "include/mayfly/internal/hash_cells.h": {
        "find, insert, erase": ["cache put and erase VolatileSet", "cache get VolatileSet"],
    },
    "include/mayfly/internal/sieve.h": {
        "add, touch, remove": ["cache eviction"], "  victim ": ["cache eviction"],
    },
    "include/mayfly/internal/slab.h": {
        "emplace, erase": ["cache put and erase VolatileSet"],
    },
    "include/mayfly/internal/slot_column.h": {
        "claim, drop, read": ["Sampler schedule and cancel, next deadline"],
    },
}

# Lines that need no row, and why. `*`: in any file.
EXCEPTIONS = {
    "*": {"For tests: O(n)": "check_invariants() looks at everything, and no program calls it"},
    "docs/server.md": {
        "compared in constant time": "it is about what a stranger can measure, not about size",
    },
    "include/mayfly/internal/slab.h": {
        "O(chunks skipped)": "it counts what it passes, and promises no less",
    },
    "include/mayfly/volatile_set.h": {
        "visit(from, to)": "it is what EXPIRESCAN is made of: the rows of its pages count it",
    },
}


def promises():
    """[(file, number of the line, line)]"""
    paths = [path for folder, kind in (("include", "h"), ("docs", "md"))
             for path in glob.glob(f"{ROOT}/{folder}/**/*.{kind}", recursive=True)]
    found = []
    for path in sorted(paths + [f"{ROOT}/README.md", f"{ROOT}/ARCHITECTURE.md"]):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if PROMISE.search(line):
                    found.append((os.path.relpath(path, ROOT), number, line))
    return found


def entries():
    """[(file, part of the line)]: of both tables."""
    return [(path, part) for table in (ROWS, EXCEPTIONS)
            for path, parts in table.items() for part in parts]


def fits(entry, path, line):
    return entry[0] in (path, "*") and entry[1] in line


class PromisesTest(unittest.TestCase):
    def test_each_promise_has_a_row_or_a_reason(self):
        for path, number, line in promises():
            with self.subTest(f"{path}:{number}"):
                self.assertTrue(any(fits(entry, path, line) for entry in entries()),
                                f"no row counts this, and no reason is given: {line.strip()}")

    def test_each_entry_is_still_promised(self):
        lines = promises()
        for entry in entries():
            with self.subTest(entry):
                self.assertTrue(any(fits(entry, path, line) for path, _, line in lines),
                                "nothing promises this any more: remove the entry")

    def test_each_row_exists(self):
        rows = set()
        for name in ("costs", "store_costs", "server_costs"):
            listed = subprocess.run([os.path.join(FOLDER, name), "--list"], capture_output=True,
                                    text=True, check=True).stdout
            rows |= {line.split("\t")[0] for line in listed.splitlines()}
        for path, parts in ROWS.items():
            for part, names in parts.items():
                self.assertTrue(names, (path, part))
                for name in names:
                    self.assertIn(name, rows, f"{path}: {part}")


if __name__ == "__main__":
    unittest.main()
