#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ttl, expire, persist, touch, expiring and purge, with the real program."""

import os
import unittest

from program import NOT_FOUND, TestCase
from terminal import Terminal

HOUR_MS = 3_600_000
CHANGES = [("expire", ("1h",)), ("persist", ()), ("touch", ("1h",))]


class TtlTest(TestCase):
    def test_says_what_remains_in_seconds(self):
        self.done("put", "name", "alice", "--ttl", "30m")
        text = self.done("ttl", "name").text
        self.assertRegex(text, r"^1[78]\d\d\.\d{3}s remaining\n$")
        found = self.done("ttl", "name", "--json").json
        self.assertEqual(list(found), ["key", "ttl", "deadline_ms", "deadline"])
        self.assertLessEqual(found["ttl"], 1800)
        self.assertRegex(found["deadline"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_key_that_never_expires_has_none(self):
        self.put(name="alice")
        self.assertEqual(self.done("ttl", "name").text, "no ttl\n")
        self.assertEqual(self.done("ttl", "name", "--json").json,
                         {"key": "name", "ttl": None, "deadline_ms": None, "deadline": None})

    def test_absent_and_expired_keys_are_exit_code_2(self):
        self.put_short_lived("expired")
        for key in ["expired", "absent"]:
            outcome = self.mayfly("ttl", key, "--read-only")
            self.assertEqual((outcome.code, outcome.text), (NOT_FOUND, ""))
            self.assertIn(key, outcome.errors)
            outcome = self.mayfly("ttl", key, "--json")
            self.assertEqual((outcome.code, outcome.json),
                             (NOT_FOUND, {"key": key, "error": "not found"}))


class ChangeTest(TestCase):
    def deadline(self, key="name"):
        return self.done("ttl", key, "--json").json["deadline_ms"]

    def test_expire_gives_a_deadline_and_leaves_the_value(self):
        self.put(name="alice")
        self.assertEqual(self.done("expire", "name", "2100-01-01T00:00Z").text, "changed\n")
        found = self.done("get", "name", "--json").json
        self.assertEqual((found["value"], found["deadline_ms"]), ("alice", 4_102_444_800_000))
        self.assertEqual(self.done("expire", "name", "2100-01-01T00:00Z").text, "unchanged\n")

    def test_expire_removes_the_key_when_its_time_comes(self):
        self.put(name="alice")
        self.done("expire", "name", "20ms")
        self.wait_until_gone("name")
        self.not_found(self.mayfly("get", "name"))

    def test_conditions_of_expire(self):
        self.put(name="alice")
        dates = {"soon": "2100-01-01T00:00Z", "late": "2200-01-01T00:00Z"}
        for words, changed in [(("soon", "--xx"), False), (("soon", "--gt"), False),
                               (("soon", "--nx"), True), (("late", "--nx"), False),
                               (("late", "--lt"), False), (("late", "--gt"), True),
                               (("soon", "--gt"), False), (("soon", "--xx", "--lt"), True),
                               (("late", "--xx"), True)]:
            with self.subTest(words):
                before = self.deadline()
                outcome = self.done("expire", "name", dates[words[0]], *words[1:])
                self.assertEqual(outcome.text, "changed\n" if changed else "unchanged\n")
                self.assertEqual(self.deadline() != before, changed)

    def test_conditions_that_contradict_each_other_are_refused(self):
        self.put(name="alice")
        for words in [("--nx", "--xx"), ("--nx", "--gt"), ("--nx", "--lt"), ("--gt", "--lt")]:
            self.refused(self.mayfly("expire", "name", "1h", *words), "cannot be combined")
        self.assertIsNone(self.deadline())

    def test_persist_takes_the_deadline_away(self):
        self.done("put", "name", "alice", "--ttl", "1h")
        self.assertEqual(self.done("persist", "name").text, "changed\n")
        self.assertEqual(self.done("ttl", "name").text, "no ttl\n")
        self.assertEqual(self.done("persist", "name").text, "unchanged\n")

    def test_touch_only_puts_off(self):
        self.put(eternal="x")
        self.assertEqual(self.done("touch", "eternal", "1h").text, "unchanged\n")
        self.done("put", "name", "alice", "--ttl", "1h")
        before = self.deadline()
        self.assertEqual(self.done("touch", "name", "1m").text, "unchanged\n")
        self.assertEqual(self.deadline(), before)
        self.assertEqual(self.done("touch", "name", "3h").text, "changed\n")
        self.assertGreater(self.deadline(), before + HOUR_MS)

    def test_json_tells_the_new_deadline(self):
        self.put(name="alice")
        found = self.done("expire", "name", "2100-01-01T00:00Z", "--json").json
        self.assertEqual((found["key"], found["changed"], found["deadline_ms"], found["deadline"]),
                         ("name", True, 4_102_444_800_000, "2100-01-01T00:00:00.000Z"))
        found = self.done("touch", "name", "1h", "--json").json
        self.assertEqual((found["changed"], found["deadline_ms"]), (False, 4_102_444_800_000))
        found = self.done("persist", "name", "--json").json
        self.assertEqual((found["changed"], found["ttl"]), (True, None))

    def test_absent_and_expired_keys_are_exit_code_2(self):
        self.put_short_lived("expired")
        for command, words in CHANGES:
            for key in ["absent", "expired"]:
                with self.subTest(command=command, key=key):
                    self.not_found(self.mayfly(command, key, *words))
                    self.not_found(self.mayfly("get", key))

    def test_the_time_may_be_said_as_a_ttl_and_in_more_letters(self):
        self.put(name="alice")
        for command, words in [("expire", ("--ttl", "30min")), ("touch", ("1 hour",)),
                               ("touch", ("--ttl", "2 hours")), ("expire", ("2w",)),
                               ("touch", ("3weeks 1 day",))]:
            with self.subTest(command=command, words=words):
                self.assertEqual(self.done(command, "name", *words).text, "changed\n")
        self.assertTrue(21.9 < self.done("ttl", "name", "--json").json["ttl"] / 86400 <= 22)
        self.refused(self.mayfly("touch", "name", "1h", "--ttl", "2h"), "either TIME or --ttl TIME")
        self.refused(self.mayfly("touch", "name", "1", "hour"), "'hour'", "quote")

    def test_wrong_times_are_refused(self):
        self.put(name="alice")
        for command in ["expire", "touch"]:
            for time in ["0", "-5", "soon", "", "2020-01-01T00:00Z"]:
                with self.subTest(command=command, time=time):
                    part = f"'{time}'" if time else "empty"
                    self.refused(self.mayfly(command, "name", time), part)
            self.refused(self.mayfly(command, "name"), "TIME")
        self.assertIsNone(self.deadline())

    def test_they_work_on_bytes_and_families_and_not_read_only(self):
        self.done("cf create", "sessions")
        self.done("put", "--hex", "ff", "00", "--cf", "sessions")
        self.assertEqual(self.done("expire", "--hex", "ff", "1h", "--cf", "sessions").text,
                         "changed\n")
        self.not_found(self.mayfly("expire", "--hex", "ff", "1h"))
        for command, words in CHANGES:
            outcome = self.mayfly(command, "--hex", "ff", *words, "--cf", "sessions", "--read-only")
            self.refused(outcome, "read-only")


class ExpiringTest(TestCase):
    def setUp(self):
        super().setUp()
        for key, ttl in {"b": "30m", "a": "50m", "c": "5h", "d": "9d"}.items():
            self.done("put", key, "x", "--ttl", ttl)
        self.put(eternal="x")

    def keys(self, *words):
        return [line["key"] for line in self.done("expiring", *words, "--json").json_lines]

    def test_shows_those_of_the_next_hour_soonest_first(self):
        lines = self.done("expiring").lines
        self.assertEqual([line.split("\t")[0] for line in lines], ["b", "a"])
        self.assertRegex(lines[0], r"^b\tin 29m \d+s\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_ranges_of_time(self):
        self.assertEqual(self.keys("--within", "6h"), ["b", "a", "c"])
        self.assertEqual(self.keys("--within", "6h", "--limit", "1"), ["b"])
        self.assertEqual(self.keys("--limit", "0"), [])
        self.assertEqual(self.keys("--from", "40m"), ["a", "c", "d"])
        self.assertEqual(self.keys("--to", "40m"), ["b"])
        self.assertEqual(self.keys("--from", "40m", "--to", "1d"), ["a", "c"])
        self.assertEqual(self.keys("--within", "2100-01-01"), ["b", "a", "c", "d"])
        self.assertEqual(self.keys("--within", "1s"), [])

    def test_expired_ones_are_not_among_them(self):
        self.put_short_lived("gone")
        self.assertEqual(self.keys("--from", "2020-01-01", "--read-only"), ["b", "a", "c", "d"])

    def test_json_lines_are_whole(self):
        line = self.done("expiring", "--json").json_lines[0]
        self.assertEqual(list(line), ["key", "ttl", "deadline_ms", "deadline"])
        self.assertEqual(line["deadline_ms"],
                         self.done("ttl", "b", "--json").json["deadline_ms"])

    def test_a_summary_counts_them_all(self):
        text = self.done("expiring", "--within", "6h", "--summary").text
        self.assertIn("per interval of 15m", text)
        counts = [int(line.split()[-2]) for line in text.splitlines() if "█" in line]
        self.assertEqual(counts, [1, 1, 1])
        found = self.done("expiring", "--from", "0", "--histogram", "--json").json
        self.assertEqual(sum(part["count"] for part in found["stretches"]), 4)
        self.assertLessEqual(len(found["stretches"]), 24)
        starts = [part["from_ms"] for part in found["stretches"]]
        self.assertEqual(starts[1] - starts[0], found["stretch_ms"])

    def test_a_summary_of_nothing(self):
        self.assertIn("No key expires", self.done("expiring", "--within", "1s", "--summary").text)
        self.assertEqual(self.done("expiring", "--within", "1s", "--summary", "--json").json,
                         {"stretch_ms": None, "stretches": []})

    def test_a_summary_of_very_far_deadlines(self):
        self.done("put", "far", "x", "--ttl", "9999-01-01T00:00Z")
        found = self.done("expiring", "--from", "1s", "--summary", "--json").json
        self.assertLessEqual(len(found["stretches"]), 24)
        self.assertEqual(sum(part["count"] for part in found["stretches"]), 5)

    def test_keys_that_are_no_text_stay_on_their_line(self):
        self.done("put", "--hex", "0a09ff", "00", "--ttl", "1m")
        self.assertRegex(self.done("expiring", "--limit", "1").text, "^<hex:0a09ff>\tin ")
        self.done("put", "-", "x", "--ttl", "30s", input=b"two\nlines")
        self.assertRegex(self.done("expiring", "--limit", "1").text, "^<hex:74776f0a6c696e6573>\t")

    def test_wrong_ranges_are_refused(self):
        for words, part in [(("--within", "soon"), "soon"), (("--within", ""), "--within"),
                            (("--from", "x"), "'x'"), (("--to", "-1"), "'-1'"),
                            (("--limit", "-1"), "--limit"), (("--limit", "ten"), "'ten'"),
                            (("--from", "2h", "--to", "1h"), "later"), (("--within", "0"), "later"),
                            (("--within", "1h", "--to", "1h"), "either")]:
            with self.subTest(words):
                self.refused(self.mayfly("expiring", *words), part)


class PurgeTest(TestCase):
    def expired(self):
        return self.done("stat", "--json", "--read-only").json["expired"]

    def test_removes_what_has_expired_and_says_how_much(self):
        self.put(name="alice")
        self.put_short_lived("a", "b", "c")
        self.assertEqual(self.expired(), 3)
        self.assertEqual(self.done("purge").text, "3\n")
        self.assertEqual(self.expired(), 0)
        self.assertEqual(self.done("purge", "--json").json, {"removed": 0, "done": True})
        self.assertEqual(self.done("get", "name").text, "alice\n")

    def test_a_person_gets_words_and_not_a_bare_number(self):
        self.put_short_lived("a", "b")
        words = [self.program.path, "purge", "--all", "--db", self.db]
        for said in ("2 expired entries removed", "0 expired entries removed"):
            with Terminal(words, dict(os.environ)) as terminal:
                terminal.expect(said)
                self.assertEqual(terminal.end(), 0)

    def test_limits_leave_the_rest(self):
        self.put_short_lived("a", "b", "c")
        self.assertEqual(self.done("purge", "--limit", "2", "--json").json,
                         {"removed": 2, "done": False})
        self.assertEqual(self.done("purge", "--seconds", "0", "--json").json,
                         {"removed": 0, "done": False})
        self.assertEqual(self.expired(), 1)
        self.assertEqual(self.done("purge", "--limit", "9", "--seconds", "0.5", "--json").json,
                         {"removed": 1, "done": True})

    def test_one_family_or_all(self):
        self.done("cf create", "sessions")
        self.put_short_lived("a")
        self.put_short_lived("b", words=("--cf", "sessions"))
        self.assertEqual(self.done("purge", "--cf", "sessions").text, "1\n")
        self.put_short_lived("c", words=("--cf", "sessions"))
        self.assertEqual(self.done("purge", "--all").text, "2\n")
        self.refused(self.mayfly("purge", "--all", "--cf", "sessions"), "--all", "--cf")

    def test_limits_hold_for_all_families_together(self):
        self.done("cf create", "sessions")
        self.put_short_lived("a", "b")
        self.put_short_lived("c", "d", words=("--cf", "sessions"))
        self.assertEqual(self.done("purge", "--all", "--limit", "3", "--json").json,
                         {"removed": 3, "done": False})
        self.assertEqual(self.expired(), 1)

    def test_wrong_limits_are_refused(self):
        self.put(name="alice")
        for words in [("--limit", "-1"), ("--limit", "many"), ("--limit", ""), ("--limit", "1.5"),
                      ("--seconds", "-1"), ("--seconds", "long"), ("--seconds", "")]:
            with self.subTest(words):
                self.refused(self.mayfly("purge", *words), words[0])
        self.refused(self.mayfly("purge", "--read-only", "name"), "name")


class WrongInputTest(TestCase):
    def test_every_command(self):
        commands = [("ttl", ("name",)), ("expiring", ()), ("purge", ())]
        commands += [(command, ("name", *words)) for command, words in CHANGES]
        for command, words in commands:
            with self.subTest(command):
                self.refuses_wrong_input(command, *words)
        self.put(name="alice")
        for command, words in commands:
            with self.subTest(command):
                self.refuses_unknown_family(command, *words)
                self.assertIn("Examples:\n", self.program.run(command, "--help").text)


if __name__ == "__main__":
    unittest.main()
