#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One store by several names, by several processes, and by those who may only read it."""

import os
import subprocess
import unittest

import program

NOBODY = 65534


class LinkTest(program.TestCase):
    def test_processes_that_come_by_different_links_share_the_locks(self):
        self.put(n="0")
        os.symlink("test.db", self.path("link.db"))
        lines = b"incr n\n" * 300
        shells = [subprocess.Popen([self.program.path, "shell", "--db", self.path(name),
                                    "--timeout", "60000"], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)
                  for name in ("test.db", "link.db") * 2]
        for shell in shells:
            shell.stdin.write(lines)
            shell.stdin.close()
        self.assertEqual([shell.wait(program.PATIENCE_S) for shell in shells], [0] * 4)
        self.assertEqual(self.done("get", "n").text, "1200\n")
        self.done("check")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("link")],
                         ["link.db"])

    def test_compacting_by_a_link_leaves_one_store(self):
        self.put(a="1")
        os.symlink("test.db", self.path("link.db"))
        compacted = self.program.run("compact", "--db", self.path("link.db"))
        self.assertEqual(compacted.code, program.OK, compacted.errors)
        self.assertTrue(os.path.islink(self.path("link.db")))
        self.put(a="2")
        self.assertEqual(self.program.run("get", "--db", self.path("link.db"), "a").text, "2\n")


class ReadingTest(program.TestCase):
    def as_nobody(self, *words):
        try:
            return subprocess.run([self.program.path, *words, "--db", self.db], user=NOBODY,
                                  group=NOBODY, capture_output=True, text=True, cwd="/",
                                  timeout=program.PATIENCE_S, check=False)
        except PermissionError:
            self.skipTest("nobody may not run the program here")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become nobody")
    def test_who_may_only_read_reads_without_saying_so(self):
        self.put(a="1")
        os.chmod(self.folder, 0o755)
        self.assertEqual(self.as_nobody("get", "a").stdout, "1\n")
        for command in ("count", "list", "check", "stat", "dump"):
            done = self.as_nobody(command)
            self.assertEqual((done.returncode, done.stderr), (program.OK, ""), command)
        for words in (["put", "a", "2"], ["del", "a"], ["purge"], ["cf", "create", "x"]):
            done = self.as_nobody(*words)
            self.assertEqual(done.returncode, program.FAILED, words)
            self.assertIn("Permission denied", done.stderr)


class WordsTest(program.TestCase):
    def test_a_word_that_begins_with_at_says_how_to_be_itself(self):
        self.refused(self.mayfly("put", "@alice", "1"), "'alice'", "'@@alice'")
        self.done("put", "@@alice", "1")
        self.assertEqual(self.done("list").lines, ["@alice"])

    def test_a_time_to_live_in_a_dump_must_be_above_0(self):
        for ttl in (b"0", b"-1", b"0.0"):
            line = b'{"key":"a","value":"b","ttl":' + ttl + b"}\n"
            self.refused(self.mayfly("load", input=line), "line 1", "greater than 0")
        self.assertEqual(self.done("load", input=b'{"key":"a","value":"b","ttl":1e9}\n').code, 0)

    def test_dates_go_on_beyond_what_a_calendar_has(self):
        for ttl, year in (("15000000d", 43_000), ("100000000w", 1_900_000)):
            self.done("put", "far", "x", "--ttl", ttl)
            deadline = self.done("ttl", "far", "--json").json["deadline"]
            self.assertGreater(int(deadline.split("-")[0]), year, deadline)

    def test_the_example_of_txn_works_as_its_help_prints_it(self):
        help_text = self.program.run("txn", "--help").text
        start = help_text.index("  mayfly cf create")
        script = help_text[start:help_text.index("  END\n") + 6].replace("\n  ", "\n").lstrip()
        script = script.replace("mayfly ", f"{self.program.path} ")
        done = subprocess.run(["sh", "-e"], input=script, text=True, cwd=self.folder,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        db = self.path("app.db")
        self.assertEqual(self.program.run("get", "--db", db, "user:7").text, "Alice Liddell\n")
        self.assertEqual(self.program.run("get", "--db", db, "--cf", "counters", "visits").text,
                         "5\n")


if __name__ == "__main__":
    unittest.main()
