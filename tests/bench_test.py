#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the real program: what it prints, what it writes, and how it ends."""

import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM = os.environ["MAYFLY"]
STRATEGIES = ["lazy", "heap", "sampling", "windows", "wheel", "volatile-set", "tree"]


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def assert_refused(self, done, *parts):
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_shows_every_strategy_and_no_progress_bar_in_a_pipe(self):
        done = run("bench", "expiry", "--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ["lazy only", "heap", "sampling", "windows", "wheel", "volatile set", "tree"]:
            self.assertIn(name, done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_json_alone_is_a_document_with_everything(self):
        done = run("bench", "expiry", "--quick", "--json", "--seed", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = json.dumps(json.loads(done.stdout))
        for name in STRATEGIES:
            self.assertIn(f'"{name}"', text)

    def test_exact_strategies_are_never_late(self):
        data = json.loads(run("bench", "expiry", "--quick", "--json").stdout)
        self.assertEqual(len(data["lateness"]), 3)
        for simulation in data["lateness"]:
            late = {row["name"]: row for row in simulation["strategies"]}
            for name in ["heap", "wheel", "volatile-set", "tree"]:
                self.assertGreater(late[name]["expired"], 0, name)
                self.assertEqual(late[name]["max_ms"], 0, name)
            self.assertLessEqual(late["windows"]["max_ms"], 999)
            self.assertGreater(late["lazy"]["max_ms"], 999)

    def test_charts_are_pictures(self):
        done = run("bench", "expiry", "--quick", "--charts", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(os.listdir(self.folder))
        self.assertEqual(len(files), 5)
        for name in files:
            root = ElementTree.parse(os.path.join(self.folder, name)).getroot()
            self.assertTrue(root.tag.endswith("svg"), name)
            self.assertGreater(len(list(root.iter())), 20, name)

    def test_wrong_words_are_named_with_the_right_ones(self):
        self.assert_refused(run("bench", "expiry", "--sizes", "12x"), "12x")
        self.assert_refused(run("bench", "expiry", "--strategies", "weel"), "weel", "wheel")
        self.assert_refused(run("bench", "expiry", "--distributions", "flat"), "flat", "uniform")
        self.assert_refused(run("bench", "expiry", "--ronds", "3"), "--ronds", "--rounds")
        self.assert_refused(run("bench", "expirey"), "expirey", "expiry")
        self.assert_refused(run("bnch"), "bnch", "bench")
        self.assert_refused(run("bench", "expiry", "--sizes"), "--sizes", "value")

    def test_output_that_cannot_be_written_is_refused_before_the_work(self):
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.assert_refused(run("bench", "expiry", "--charts", file + "/below"), file)
        self.assert_refused(run("bench", "expiry", "--json", self.folder), self.folder)

    def test_help_teaches_by_example(self):
        for words in [[], ["bench"], ["bench", "expiry"], ["bench", "cache"]]:
            done = run(*words, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example", done.stdout)
        self.assertRegex(run("--version").stdout, r"^mayfly \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
