#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `mayfly bench store`: what it prints, what it writes, and what it leaves behind."""

import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM = os.environ["MAYFLY"]


def run(*words):
    command = [PROGRAM, "bench", "store", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class BenchStoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def quick(self, *words):
        place = os.path.join(self.folder, "files")
        done = run("--quick", "--keys", "2000", "--dir", place, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(place), [], "the files are still there")
        return done

    def assert_refused(self, done, *parts):
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_shows_rates_ratios_and_bars_of_every_workload(self):
        done = self.quick("--values", "60")
        for name in ["put, sequential", "get, autocommit", "scan, TTLs present", "purge (normal)",
                     "single put with TTL (full)", "mixed 70/20/10", "Mayfly", "LMDB", "C API"]:
            self.assertIn(name, done.stdout)
        self.assertRegex(done.stdout, r"-  +get, random: [\d.]+x LMDB")
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_names_the_peers_that_are_not_built_in(self):
        words = ["--values", "60", "--only", "get"]
        known = json.loads(self.quick(*words, "--json").stdout)
        self.assertEqual(sorted(known["systems"] + known["missing"]),
                         ["lmdb", "mayfly", "mayfly-c", "rocksdb", "sqlite"])
        text = self.quick(*words).stdout
        self.assertEqual(text.count("not built in; `make bench` installs it"),
                         len(known["missing"]))

    def test_json_has_each_repeat_of_what_was_asked_for_and_no_more(self):
        done = self.quick("--only", "get,put-single", "--peers", "lmdb", "--repeats", "2",
                          "--json")
        data = json.loads(done.stdout)
        names = {(row["name"], row["durability"]) for row in data["workloads"]}
        self.assertEqual(names, {("get", "off"), ("put-single", "off"), ("put-single", "normal"),
                                 ("put-single", "full")})
        for row in data["workloads"]:
            for system in row["systems"]:
                self.assertIn(system["name"], ["mayfly", "lmdb"])
                self.assertEqual(len(system["repeats"]), 2)
                self.assertGreater(min(system["repeats"]), 0)

    def test_charts_are_pictures(self):
        self.quick("--only", "get,scan", "--charts", self.folder)
        for name in ["store_60.svg", "store_1024.svg"]:
            root = ElementTree.parse(os.path.join(self.folder, name)).getroot()
            self.assertTrue(root.tag.endswith("svg"), name)
            self.assertGreater(len(list(root.iter())), 20, name)

    def test_churn_tells_the_file_from_its_compacted_copy(self):
        churn = json.loads(self.quick("--only", "churn", "--json").stdout)["churn"]
        self.assertEqual(churn["puts"], 60_000)
        self.assertEqual(churn["live_entries"], 9 * 500)
        self.assertGreaterEqual(churn["file_bytes"], churn["compact_bytes"])
        self.assertGreater(churn["compact_bytes"], churn["live_bytes"])

    def test_wrong_words_are_named_with_the_right_ones(self):
        self.assert_refused(run("--peers", "sqlit"), "sqlit", "sqlite")
        self.assert_refused(run("--only", "purges"), "purges", "purge")
        self.assert_refused(run("--keys", "12x"), "--keys", "12x")
        self.assert_refused(run("--repeat", "3"), "--repeat", "--repeats")

    def test_a_place_that_cannot_be_used_is_refused_before_the_work(self):
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.assert_refused(run("--quick", "--dir", file), file)
        self.assert_refused(run("--keys", "40m", "--values", "65536", "--dir", self.folder),
                            "--dir", "GB")
        self.assertEqual(os.listdir(self.folder), ["file"])


if __name__ == "__main__":
    unittest.main()
