#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives mayfly-bench: what it prints, what it writes, what it leaves behind, and its charts."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAYFLY = os.environ["MAYFLY"]
PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "mayfly-bench")
STRATEGIES = ["lazy", "heap", "sampling", "windows", "wheel", "volatile-set", "tree"]


def run(*words, program=PROGRAM, **options):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False,
                          **options)


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def done(self, *words):
        finished = run(*words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(finished.stderr, "")
        return finished.stdout

    def data(self, *words):
        """The runs of a suite, each with the members that every run has."""
        document = json.loads(self.done(*words, "--json"))
        for name in ["version", "commit", "time", "machine", "seconds", "systems"]:
            self.assertTrue(document[name] or name == "seconds", name)
        for one in document["runs"]:
            self.assertEqual(one["suite"], words[0])
            for name in ["part", "case", "system", "round", "settings", "metrics"]:
                self.assertIn(name, one)
        return document

    def store(self, *words):
        place = os.path.join(self.folder, "files")
        document = self.data("store", "--quick", "--keys", "2000", "--dir", place, *words)
        self.assertEqual(os.listdir(place), [], "the files are still there")
        return document

    def refused(self, words, *parts):
        finished = run(*words)
        self.assertEqual((finished.returncode, finished.stdout), (1, ""), finished)
        for part in parts:
            self.assertIn(part, finished.stderr)

    def test_shows_every_strategy_without_colours_in_a_pipe(self):
        shown = self.done("expiry", "--quick")
        for name in STRATEGIES:
            self.assertIn(name, shown)
        self.assertIn("goal: at least 4", shown)
        self.assertNotIn("\x1b", shown)

    def test_exact_strategies_are_never_late(self):
        runs = self.data("expiry", "--quick", "--seed", "7")["runs"]
        self.assertEqual({run["system"] for run in runs}, set(STRATEGIES))
        late = [run for run in runs if run["part"] == "lateness"]
        self.assertEqual(len(late), 3 * len(STRATEGIES))
        for one in late:
            most, name = one["metrics"]["max_ms"], one["system"]
            self.assertGreater(one["metrics"]["expired"], 0, name)
            if name in ["heap", "wheel", "volatile-set", "tree"]:
                self.assertEqual(most, 0, name)
            elif name == "windows":
                self.assertLessEqual(most, 999)
            elif name == "lazy":
                self.assertGreater(most, 999)

    def test_the_store_shows_rates_ratios_and_goals_of_every_workload(self):
        shown = self.done("store", "--quick", "--keys", "2000", "--values", "60")
        for name in ["put, sequential", "get, autocommit", "scan, TTLs present", "purge (normal)",
                     "single put with TTL (full)", "mixed 70/20/10", "lmdb", "mayfly-c",
                     "single put, 8 threads (full)", "single put, sustained (normal)",
                     "scan, at rest", "Do entries that live for a moment", "killed with a full log",
                     "many overwrites of one key"]:
            self.assertIn(name, shown)
        self.assertRegex(shown, r"-  +mayfly, get, random: ops_per_second [\d.]+x of lmdb")

    def test_the_store_names_the_peers_that_are_not_built_in(self):
        known = self.store("--values", "60", "--only", "get")
        missing = [note.partition(":")[0] for note in known["notes"] if "not built in" in note]
        self.assertEqual(sorted([*known["systems"], *missing]),
                         ["lmdb", "mayfly", "mayfly-c", "rocksdb", "sqlite"])

    def test_the_store_measures_what_was_asked_for_and_no_more(self):
        runs = self.store("--only", "get,put-single", "--peers", "lmdb", "--rounds", "2")["runs"]
        self.assertEqual({one["case"] for one in runs},
                         {"get, random", "single put, random (off)",
                          "single put, random (normal)", "single put, random (full)"})
        self.assertEqual({one["system"] for one in runs}, {"mayfly", "lmdb"})
        self.assertEqual({one["round"] for one in runs}, {0, 1})
        self.assertGreater(min(one["metrics"]["ops_per_second"] for one in runs), 0)

    def test_streams_overwrites_and_kills_are_measured_and_drawn(self):
        file = os.path.join(self.folder, "store.json")
        place = os.path.join(self.folder, "files")
        self.done("store", "--quick", "--only", "stream,overwrite,recovery", "--rounds", "2",
                  "--dir", place, "--json", file)
        self.assertEqual(os.listdir(place), [], "the files are still there")
        runs = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["runs"]
        self.assertEqual([(one["part"], one["round"]) for one in runs],
                         [(part, turn) for turn in (0, 1)
                          for part in ("stream", "overwrite", "recovery")])
        for one in runs:
            self.assertEqual(one["system"], "mayfly")
            self.assertGreater(min(one["metrics"].get(name, 1) for name in
                                   ("file_bytes", "p999_us", "bytes_per_put", "open_ms")), 0)
        stream = runs[0]["metrics"]
        self.assertGreater(stream["unwritten_percent"], 50)
        charts = os.path.join(self.folder, "charts")
        drawn = run(file, "--out", charts, program=str(ROOT / "bench/charts.py"))
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertEqual({name.partition(".")[0] for name in os.listdir(charts)},
                         {"stream_size", "stream_latency"})

    def test_churn_tells_the_file_from_its_compacted_copy(self):
        churn = self.store("--only", "churn")["runs"][0]["metrics"]
        self.assertEqual(churn["puts"], 60_000)
        self.assertEqual(churn["live_entries"], 9 * 500)
        self.assertGreaterEqual(churn["file_bytes"], churn["compact_bytes"])
        self.assertGreater(churn["compact_bytes"], churn["live_bytes"])

    def test_any_server_is_a_peer(self):
        document = self.data("server", "--quick", "--only", "memory,expired,ttlstats,hlen",
                             "--mayfly", MAYFLY, "--peer", f"same={MAYFLY} serve")
        self.assertEqual(set(document["systems"]), {"mayfly", "same"})
        for one in document["runs"]:
            if one["part"] == "expired":
                self.assertEqual(one["metrics"]["left_entries"], 0)
        parts = {(one["part"], one["system"]) for one in document["runs"]}
        both = {(part, system) for part in ("memory", "set_memory", "expired", "ttlstats")
                for system in ("mayfly", "same")}
        self.assertEqual(parts, both | {("hlen", "mayfly")})
        self.assertLessEqual({"sets of 100 integers", "one sorted set, TTLs"},
                             {one["case"] for one in document["runs"]})

    def test_sets_and_sorted_sets_are_measured_and_drawn(self):
        file = os.path.join(self.folder, "sets.json")
        speed = shutil.which("redis-benchmark") is not None
        parts = "ontime,stall" + (",sets" if speed else "")
        shown = self.done("server", "--quick", "--only", parts, "--mayfly", MAYFLY,
                          "--peer", f"same={MAYFLY} serve", "--json", file)
        report = self.done("report", file)
        for name in ["sorted set members", "one sorted set, expiring", "sets of 10, expiring"]:
            self.assertIn(name, report)
        for name in ["SISMEMBER -P 32", "ZPOPMIN", "SINTER", "ZUNIONSTORE"]:
            self.assertEqual(name in report, speed, name)
        self.assertIn(file, shown)
        for one in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["runs"]:
            if one["part"] == "ontime":
                self.assertEqual(one["metrics"]["removed"], one["settings"]["due"], one)
            if one["part"] == "stall":
                self.assertEqual(one["metrics"].get("left", 0), 0, one)
        charts = os.path.join(self.folder, "charts")
        drawn = run(file, "--out", charts, program=str(ROOT / "bench/charts.py"))
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertEqual({name.partition(".")[0] for name in os.listdir(charts)},
                         {"sets_single", "sets_throughput"} if speed else set())

    def test_charts_and_reports_are_made_from_the_files(self):
        files = [os.path.join(self.folder, name) for name in ("expiry.json", "store.json")]
        shown = self.done("expiry", "--quick", "--json", files[0])
        self.done("store", "--quick", "--only", "get,scan", "--json", files[1])
        self.assertIn(files[0], shown)
        report = self.done("report", *files)
        self.assertIn("How fast is the store?", report)
        self.assertIn("How late are expired entries removed?", report)
        charts = os.path.join(self.folder, "charts")
        drawn = run(*files, "--out", charts, program=str(ROOT / "bench/charts.py"))
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        names = {"cost", "mass_expiry", "memory", "lateness", "expired_but_present", "store_60",
                 "store_1024"}
        self.assertEqual({name.partition(".")[0] for name in os.listdir(charts)}, names)
        for name in names:
            root = ElementTree.parse(os.path.join(charts, name + ".svg")).getroot()
            self.assertGreater(len(list(root.iter())), 20, name)

    def test_wrong_words_are_named_with_the_right_ones(self):
        for words, *parts in [
                (("expiry", "--sizes", "12x"), "12x"),
                (("expiry", "--strategies", "weel"), "weel", "wheel"),
                (("expiry", "--ronds", "3"), "--ronds", "--rounds"),
                (("expiry", "--sizes"), "--sizes"),
                (("expirey",), "expirey", "expiry"),
                (("store", "--peers", "sqlit"), "sqlit", "sqlite"),
                (("store", "--only", "purges"), "purges", "purge"),
                (("store", "--keys", "12x"), "--keys", "12x"),
                (("server", "--peer", "valkey-server"), "NAME=PROGRAM"),
                (("server", "--mayfly", "/nowhere/mayfly", "--only", "hlen"), "does not start"),
                (("report", "/nowhere.json"), "/nowhere.json")]:
            with self.subTest(words):
                self.refused(words, *parts)

    def test_what_cannot_be_written_is_refused_before_the_work(self):
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.refused(("expiry", "--json", self.folder), self.folder)
        self.refused(("store", "--quick", "--dir", file), file)
        self.refused(("store", "--keys", "40m", "--values", "65536", "--dir", self.folder),
                     "--dir", "GB")
        self.assertEqual(os.listdir(self.folder), ["file"])

    def test_help_teaches_by_example(self):
        for words in [(), ("expiry",), ("cache",), ("store",), ("server",), ("report",)]:
            self.assertIn("Example", self.done(*words, "--help"))
        self.assertEqual(self.done(), self.done("--help"))

    def test_mayfly_runs_it_from_beside_or_says_how_to_get_it(self):
        beside = run("bench", "expiry", "--strategies", "weel", program=MAYFLY)
        self.assertEqual(beside.returncode, 1)
        self.assertIn("mayfly-bench: --strategies", beside.stderr)
        alone = os.path.join(self.folder, "mayfly")
        shutil.copy(MAYFLY, alone)
        missing = run("bench", "expiry", program=alone, env={"PATH": self.folder})
        self.assertEqual(missing.returncode, 1)
        self.assertEqual(missing.stderr.count("\n"), 1)
        self.assertIn("make bench", missing.stderr)


if __name__ == "__main__":
    unittest.main()
