#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""list, scan and count, with the real program."""

import json
import signal
import subprocess
import unittest

from program import OK, PATIENCE_S, TestCase

MANY = 20_000


class WalkTest(TestCase):
    def setUp(self):
        super().setUp()
        for number in range(1, 5):
            self.done("put", f"a{number}", f"value {number}")
        self.done("put", "b1", "other", "--ttl", "1h")

    def keys(self, *words):
        return self.done("list", *words).lines

    def test_keys_come_in_order(self):
        self.assertEqual(self.keys(), ["a1", "a2", "a3", "a4", "b1"])
        self.assertEqual(self.keys("--reverse"), ["b1", "a4", "a3", "a2", "a1"])

    def test_prefix_seek_and_limit(self):
        for words, keys in [
                (("--prefix", "a"), "a1 a2 a3 a4"), (("--prefix", "b"), "b1"),
                (("--prefix", "c"), ""), (("--seek", "a3"), "a3 a4 b1"),
                (("--seek", "a33"), "a4 b1"), (("--seek", "c"), ""),
                (("--seek", "a3", "--reverse"), "a3 a2 a1"),
                (("--seek", "a33", "--reverse"), "a3 a2 a1"),
                (("--seek", "0", "--reverse"), ""),
                (("--prefix", "a", "--reverse"), "a4 a3 a2 a1"),
                (("--prefix", "a", "--seek", "a4"), "a4"),
                (("--prefix", "a", "--seek", "z", "--reverse", "--limit", "2"), "a4 a3"),
                (("--limit", "2"), "a1 a2"), (("--limit", "0"), ""),
                (("--limit", "99"), "a1 a2 a3 a4 b1"),
                (("--prefix", ""), "a1 a2 a3 a4 b1"), (("--hex", "--prefix", "62"), "6231")]:
            with self.subTest(words):
                self.assertEqual(self.keys(*words), keys.split())

    def test_scan_shows_values_too(self):
        self.assertEqual(self.done("scan", "--limit", "2").text, "a1\tvalue 1\na2\tvalue 2\n")
        self.assertEqual(self.done("scan", "--limit", "1", "--json").json_lines,
                         [{"key": "a1", "value": "value 1"}])
        self.assertEqual(self.done("list", "--limit", "2", "--json").json_lines,
                         [{"key": "a1"}, {"key": "a2"}])

    def test_ttl_adds_what_is_left(self):
        lines = self.done("scan", "--ttl", "--seek", "a4").lines
        self.assertEqual(lines[0], "a4\tvalue 4\tno ttl")
        self.assertRegex(lines[1], r"^b1\tother\t59m \d+s$")
        found = self.done("list", "--ttl", "--seek", "a4", "--json").json_lines
        self.assertEqual(found[0], {"key": "a4", "ttl": None, "deadline_ms": None,
                                    "deadline": None})
        self.assertEqual(found[1], found[1] | {"key": "b1", "deadline_ms": self.done(
            "ttl", "b1", "--json").json["deadline_ms"]})

    def test_what_has_expired_is_not_shown_and_not_counted(self):
        self.put_short_lived("a0")
        self.assertEqual(self.keys("--prefix", "a", "--read-only"), ["a1", "a2", "a3", "a4"])
        self.assertEqual(self.done("count", "--read-only").text, "5\n")
        self.assertEqual(self.done("count", "--prefix", "a", "--read-only").text, "4\n")
        self.assertEqual(self.done("stat", "--json", "--read-only").json["expired"], 1)

    def test_count(self):
        self.assertEqual(self.done("count").text, "5\n")
        self.assertEqual(self.done("count", "--prefix", "a").text, "4\n")
        self.assertEqual(self.done("count", "--prefix", "zz", "--json").json, {"count": 0})
        self.assertEqual(self.done("count", "--json").json, {"count": 5})

    def test_families_are_walked_apart(self):
        self.done("cf create", "sessions")
        self.done("put", "only", "here", "--cf", "sessions")
        self.assertEqual(self.keys("--cf", "sessions"), ["only"])
        self.assertEqual(self.done("count", "--cf", "sessions").text, "1\n")
        self.assertEqual(self.done("count").text, "5\n")

    def test_a_prefix_is_also_a_word_and_is_no_pattern(self):
        for command in ["list", "scan", "count"]:
            self.assertEqual(self.done(command, "a").text,
                             self.done(command, "--prefix", "a").text)
        outcome = self.mayfly("keys", "a*")
        self.assertEqual((outcome.code, outcome.text), (OK, ""))
        self.assertIn("leave out the '*'", outcome.errors)

    def test_wrong_numbers_and_words_are_refused(self):
        for command in ["list", "scan"]:
            for limit in ["-1", "many", "", "1.5", "99999999999999999999"]:
                with self.subTest(command=command, limit=limit):
                    self.refused(self.mayfly(command, "--limit", limit), "--limit")
            self.refused(self.mayfly(command, "--prefx", "a"), "--prefx", "--prefix")
            self.refused(self.mayfly(command, "--hex", "--prefix", "x"), "'x'")
            self.refused(self.mayfly(command, "--prefix", "-", "--seek", "-"), "both")
            self.refused(self.mayfly(command, "a", "b"), "'b'", "unexpected argument")
            self.refused(self.mayfly(command, "a", "--prefix", "b"), "--prefix")
        self.refused(self.mayfly("count", "--limit", "1"), "--limit")

    def test_wrong_files_and_families_are_refused(self):
        for command in ["list", "scan", "count"]:
            with self.subTest(command):
                self.refuses_wrong_input(command)
                self.refuses_unknown_family(command)
                self.assertIn(f"Examples:\n  mayfly {command}",
                              self.program.run(command, "--help").text)


class BytesTest(TestCase):
    def test_each_entry_stays_on_its_line(self):
        self.done("put", "-", "one\ttab", input=b"two\nlines")
        self.done("put", "--hex", "ff", "00")
        self.done("put", "ünï", "日本")
        self.assertEqual(self.done("scan").lines, ["<hex:74776f0a6c696e6573>\t<hex:6f6e6509746162>",
                                                   "ünï\t日本", "<hex:ff>\t<hex:00>"])
        self.assertEqual(self.done("list", "--hex").lines,
                         ["74776f0a6c696e6573", "ünï".encode().hex(), "ff"])
        self.assertEqual(self.done("scan", "--json").json_lines,
                         [{"key": "two\nlines", "value": "one\ttab"}, {"key": "ünï", "value": "日本"},
                          {"key": {"base64": "/w=="}, "value": "\0"}])

    def test_keys_that_were_listed_in_hex_can_be_got(self):
        self.done("put", "--hex", "000aff", "64")
        for key in self.done("list", "--hex").lines:
            self.assertEqual(self.done("get", "--hex", key).text, "64\n")


class ManyTest(TestCase):
    def setUp(self):
        super().setUp()
        lines = (json.dumps({"key": f"key:{i:06}", "value": f"value {i}"}) for i in range(MANY))
        self.done("load", "-", input="\n".join(lines).encode())

    def test_all_of_them_are_listed(self):
        keys = [f"key:{i:06}" for i in range(MANY)]
        self.assertEqual(self.done("list").lines, keys)
        self.assertEqual(self.done("list", "--reverse").lines, keys[::-1])
        self.assertEqual(self.done("scan").lines[-1], f"{keys[-1]}\tvalue {MANY - 1}")
        self.assertEqual(len(self.done("scan", "--json", "--ttl").json_lines), MANY)
        self.assertEqual(self.done("count").text, f"{MANY}\n")
        self.assertEqual(self.done("count", "--prefix", "key:0000").text, "100\n")

    def test_a_reader_that_leaves_stops_it_quietly(self):
        for ignoring in [False, True]:  # some parents let their children ignore the signal
            with self.subTest(ignoring=ignoring):
                # Python itself ignores it, and restores it for its children unless told otherwise.
                with subprocess.Popen([self.program.path, "list", "--db", self.db],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      restore_signals=not ignoring) as child:
                    self.assertEqual(child.stdout.readline(), b"key:000000\n")
                    child.stdout.close()
                    self.assertEqual(child.stderr.read(), b"")
                    self.assertEqual(child.wait(PATIENCE_S), 0 if ignoring else -signal.SIGPIPE)
        self.assertEqual(self.done("stat", "--json").json["readers"], [])

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            outcome = self.mayfly_to(full, "list")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn(b"cannot write to standard output", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
