#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dump and load: does all of a store come back, and does nothing half done stay?"""

import json
import os
import subprocess
import unittest

import program

SOON_MS = 4_102_444_800_000  # 2100-01-01


class DumpTest(program.TestCase):
    def dump(self, *words) -> list[dict]:
        return self.done("dump", *words).json_lines

    def test_is_a_header_and_a_line_for_each_entry_of_each_family(self):
        self.done("cf create", "sessions")
        self.done("cf ttl", "sessions", "1h")
        self.put(b="2", a="1")
        self.done("put", "--cf", "sessions", "s", "x", "--ttl", "2100-01-01T00:00Z")
        self.assertEqual(self.dump(), [
            {"mayfly_dump": 1, "families": [{"name": "default", "default_ttl_ms": None},
                                            {"name": "sessions", "default_ttl_ms": 3600000}]},
            {"cf": "default", "key": "a", "value": "1"},
            {"cf": "default", "key": "b", "value": "2"},
            {"cf": "sessions", "key": "s", "value": "x", "deadline_ms": SOON_MS}])

    def test_of_one_family_has_only_that(self):
        self.done("cf create", "sessions")
        self.put(a="1")
        self.done("put", "--cf", "sessions", "s", "x")
        of_sessions = self.dump("--cf", "sessions")
        self.assertEqual([family["name"] for family in of_sessions[0]["families"]], ["sessions"])
        self.assertEqual([line["key"] for line in of_sessions[1:]], ["s"])
        self.assertEqual([line["key"] for line in self.dump("--cf", "default")[1:]], ["a"])

    def test_leaves_out_what_has_expired(self):
        self.put(stays="1")
        self.put_short_lived("gone")
        lines = self.dump("--read-only")
        self.assertEqual([line["key"] for line in lines[1:]], ["stays"])

    def test_writes_bytes_that_are_no_text_in_base64(self):
        self.done("put", "--hex", "00ff", "fe")
        self.assertEqual(self.dump()[1], {"cf": "default", "key": {"base64": "AP8="},
                                          "value": {"base64": "/g=="}})

    def test_to_a_file_says_so_and_replaces_the_old_one(self):
        self.put(a="1")
        old = self.write("out.jsonl", b"old")
        with open(old, "rb") as still_open:
            outcome = self.done("dump", "out.jsonl")
            self.assertEqual(still_open.read(), b"old", "it was written over, not replaced")
        self.assertEqual(outcome.text, "dumped 1 entry of 1 column family to out.jsonl\n")
        with open(old, "rb") as new:
            self.assertEqual(new.read(), self.done("dump").out)
        self.assertEqual(self.done("dump", "out.jsonl", "--json").json,
                         {"file": "out.jsonl", "entries": 1, "families": 1})
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])

    def test_follows_a_link_and_does_not_replace_a_device(self):
        self.put(a="1")
        os.symlink("real.jsonl", self.path("link.jsonl"))
        self.write("real.jsonl", b"old")
        self.done("dump", "link.jsonl")
        self.assertTrue(os.path.islink(self.path("link.jsonl")))
        with open(self.path("real.jsonl"), "rb") as file:
            self.assertEqual(file.read(), self.done("dump").out)
        self.done("dump", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_stops_quietly_when_nobody_reads_on(self):
        lines = b"".join(b'{"key":"%06d","value":"%s"}\n' % (i, b"x" * 50) for i in range(5000))
        self.done("load", input=lines)
        with subprocess.Popen([self.program.path, "dump", "--db", self.db], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")

    def test_fails_with_a_reason(self):
        self.refuses_wrong_input("dump")
        self.put(a="1")
        self.refuses_unknown_family("dump")
        self.refused(self.mayfly("dump", "absent/out.jsonl"), "absent/out.jsonl", "No such file")
        self.refused(self.mayfly("dump", self.folder), "is a directory")
        self.refused(self.mayfly("dump", self.db), "is the store itself")
        self.refused(self.mayfly("dump", "/dev/full"), "No space left")
        self.assertEqual(self.done("get", "a").text, "1\n")


class LoadTest(program.TestCase):
    def load(self, *lines: str, words: tuple = ()) -> program.Outcome:
        return self.mayfly("load", *words, input="".join(line + "\n" for line in lines).encode())

    def loaded(self, *lines: str, words: tuple = ()) -> dict:
        outcome = self.load(*lines, words=("--json", *words))
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""))
        return outcome.json

    def entries(self) -> list[dict]:
        return self.done("dump").json_lines[1:]

    def test_brings_back_all_that_was_dumped(self):
        self.done("cf create", "sessions")
        self.done("cf ttl", "sessions", "1h")
        self.done("put", "--cf", "sessions", "for ever\n", "\u00e9\"\\ \U0001f600")
        self.done("load", input=b'{"cf":"sessions","key":"no ttl","value":""}\n')
        self.done("put", "--hex", "00ff", "fe", "--ttl", "2100-01-01T00:00Z")
        dumped = self.done("dump").out
        self.db = self.path("other.db")
        outcome = self.done("load", input=dumped)
        self.assertEqual(outcome.text, "loaded 3 entries; created column family sessions\n")
        self.assertEqual(self.done("dump").out, dumped)
        self.assertEqual(self.done("ttl", "no ttl", "--cf", "sessions").text, "no ttl\n")

    def test_replaces_keys_or_keeps_them(self):
        self.put(a="old")
        line = '{"key":"a","value":"new"}'
        kept = self.loaded(line, '{"key":"b","value":"1"}', words=("--if-absent",))
        self.assertEqual((kept["loaded"], kept["kept"]), (1, 1))
        self.assertEqual(self.done("get", "a").text, "old\n")
        self.assertEqual(self.loaded(line, words=("--replace",))["loaded"], 1)
        self.assertEqual(self.done("get", "a").text, "new\n")
        self.refused(self.load(line, words=("--replace", "--if-absent")), "--replace")

    def test_leaves_out_what_has_expired_and_counts_it(self):
        outcome = self.load('{"key":"a","value":"1","deadline_ms":1000}', '{"key":"b","value":"2"}')
        self.assertEqual(outcome.text, "loaded 1 entry; 1 expired\n")
        self.assertEqual([entry["key"] for entry in self.entries()], ["b"])

    def test_takes_a_ttl_or_a_date_and_what_scan_prints(self):
        self.loaded('{"key":"a","value":"1","ttl":90.5}', '{"key":"b","value":"2","ttl":"15m"}',
                    '{"key":"c","value":"3","deadline":"2100-01-01T00:00Z"}',
                    '{"key":"d","value":"4","deadline_ms":null}', "")
        left = {key: self.done("ttl", key, "--json").json["ttl"] for key in "abcd"}
        self.assertTrue(80 < left["a"] <= 90.5 and 800 < left["b"] <= 900, left)
        self.assertEqual(left["d"], None)
        dumped = self.done("dump").out
        scanned = self.done("scan", "--json", "--ttl").out
        self.db = self.path("other.db")
        self.done("load", input=scanned)
        self.assertEqual(self.done("dump").out, dumped)

    def test_of_one_family_takes_only_that(self):
        lines = ['{"mayfly_dump":1,"families":[{"name":"default"},{"name":"x"},{"name":"y"}]}',
                 '{"cf":"x","key":"a","value":"1"}', '{"cf":"y","key":"b","value":"2"}']
        outcome = self.loaded(*lines, words=("--cf", "x"))
        self.assertEqual((outcome["loaded"], outcome["other_families"]), (1, 1))
        self.assertEqual(outcome["families_made"], ["x"])
        self.assertEqual(self.done("cf list").lines, ["x"])

    def test_a_bad_line_keeps_nothing_of_its_transaction_and_says_what_was_kept(self):
        good = ['{"key":"%d","value":"x"}' % i for i in range(4100)]
        self.refused(self.load(*good, '{"key":"bad",}'), "line 4101", "column 14",
                     "the 4096 lines before line 4097 were loaded")
        self.assertEqual(self.done("count").text, "4096\n")
        self.db = self.path("other.db")
        self.refused(self.load(*good[:10], "nonsense"), "line 11: column 1", "nothing was loaded")
        self.assertFalse(os.path.exists(self.db))
        self.refused(self.load(*good[:10], '{"key":"","value":"1"}'), "line 11", "key is empty")
        self.assertEqual(self.done("count").text, "0\n")

    def test_says_what_is_wrong_with_a_line(self):
        for line, parts in [
                ('{"key":"a","value":{"base64":"*"}}', ['"value"', "not valid base64"]),
                ('{"key":"a","value":{"hex":"00"}}', ['"value"', "base64"]),
                ('{"key":"a","value":5}', ['"value"', "not a number"]),
                ('{"key":"a"}', ['"value"', "missing"]),
                ('{"value":"a"}', ['"key"', "missing"]),
                ('{"key":"a","value":"b","deadline":"soon"}', ['"deadline"', "soon"]),
                ('{"key":"a","value":"b","deadlin_ms":5}', ['did you mean "deadline_ms"?']),
                ('{"key":"a","value":"b","deadline_ms":"5"}', ['"deadline_ms"', "integer"]),
                ('{"key":"a","value":"b","ttl":[]}', ['"ttl"', "not an array"]),
                ('["a"]', ["expected an object", "not an array"]),
                ('{"key":"a","value":"\\ud800"}', ["half of a surrogate pair"]),
                ('{"mayfly_dump":2}', ["version 2", "newer"]),
                ('{"cf":"%s","key":"a","value":"b"}' % ("x" * 300), ["line 1", "255"])]:
            with self.subTest(line=line):
                self.refused(self.load(line), "line 1", *parts)
        self.refused(self.mayfly("load", input=b'{"key":"\xff","value":"a"}'), "invalid UTF-8")
        self.assertEqual(self.entries(), [])

    def test_a_dry_run_checks_and_changes_nothing(self):
        good = '{"key":"a","value":"b"}'
        outcome = self.load(good, words=("--dry-run",))
        self.assertEqual(outcome.text, "dry run: would load 1 entry\n")
        self.assertFalse(os.path.exists(self.db))
        self.refused(self.load(good, "x", words=("--dry-run",)), "line 2")

    def test_fails_with_a_reason(self):
        self.refuses_wrong_input("load", "--if-absent", makes_file=True)
        self.refused(self.mayfly("load", "absent.jsonl"), "absent.jsonl", "No such file")
        self.refused(self.mayfly("load", self.folder), self.folder, "directory")
        self.put(a="1")
        line = b'{"key":"a","value":"2"}'
        self.refused(self.mayfly("load", "--read-only", input=line), "read-only")
        self.assertEqual(json.loads(self.done("get", "a", "--json").out)["value"], "1")

    def test_help_teaches_the_form(self):
        for command in ["dump", "load"]:
            self.assertIn("Examples:", self.program.run(command, "--help").text)


if __name__ == "__main__":
    unittest.main()
