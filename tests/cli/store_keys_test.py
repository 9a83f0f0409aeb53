#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""put, get, exists, del and set-if-absent, with the real program."""

import os
import unittest

from program import NOT_FOUND, OK, TestCase

BINARY = bytes(range(256))


class PutAndGetTest(TestCase):
    def test_what_was_put_is_got(self):
        self.assertEqual(self.done("put", "name", "alice").text, "")
        self.assertEqual(self.done("get", "name").text, "alice\n")
        self.put(name="bob")
        self.assertEqual(self.done("get", "name").text, "bob\n")

    def test_an_empty_value_is_a_value(self):
        self.done("put", "name", "")
        self.assertEqual(self.done("get", "name").text, "\n")
        self.assertEqual(self.done("get", "name", "--json").json["value"], "")

    def test_text_of_any_language_is_printed_as_it_is(self):
        self.done("put", "naïve", "日本語 🙂")
        self.assertEqual(self.done("get", "naïve").text, "日本語 🙂\n")
        self.assertEqual(self.done("get", "naïve", "--json").json["value"], "日本語 🙂")

    def test_words_in_front_of_the_command_and_the_environment_say_the_same(self):
        self.put(name="alice")
        self.assertEqual(self.program.run("--db", self.db, "get", "name").text, "alice\n")
        env = {"MAYFLY_DB": self.db}
        self.assertEqual(self.program.run("get", "name", env=env).text, "alice\n")
        before = self.program.run("--db", self.db, "--json", "get", "name")
        self.assertEqual(before.json["value"], "alice")
        self.assertEqual(self.done("get", "name", "--format", "json").json, before.json)

    def test_what_is_written_wins_over_the_environment(self):
        self.put(name="alice")
        env = {"MAYFLY_DB": self.path("other.db")}
        self.assertEqual(self.mayfly("get", "name", env=env).text, "alice\n")
        in_front = self.program.run("--db", self.db, "get", "name", env=env)
        self.assertEqual(in_front.text, "alice\n")
        self.assertEqual(self.mayfly("put", "more", "x", env=env).code, OK)
        self.assertFalse(os.path.exists(self.path("other.db")))

    def test_the_last_of_two_equal_options_counts(self):
        self.put(name="alice")
        outcome = self.program.run("get", "name", "--db", self.path("other.db"), "--db", self.db)
        self.assertEqual(outcome.text, "alice\n")

    def test_a_key_may_be_called_as_a_command_is(self):
        self.put(get="put", list="scan")
        self.assertEqual(self.done("get", "get").text, "put\n")
        self.assertEqual(self.done("get", "list").text, "scan\n")

    def test_words_that_begin_with_a_dash(self):
        self.done("put", "--", "--key", "-v")
        self.assertEqual(self.done("get", "--", "--key").text, "-v\n")
        self.done("put", "number", "-5")
        self.assertEqual(self.done("get", "number").text, "-5\n")

    def test_an_absent_key_is_exit_code_2(self):
        self.put(name="alice")
        for words in [(), ("--raw",), ("--out", self.path("out"))]:
            outcome = self.mayfly("get", "absent", *words)
            self.assertEqual((outcome.code, outcome.out), (NOT_FOUND, b""))
            self.assertIn("absent", outcome.errors)
        self.assertFalse(os.path.exists(self.path("out")))
        outcome = self.mayfly("get", "absent", "--json")
        self.assertEqual((outcome.code, outcome.err), (NOT_FOUND, b""))
        self.assertEqual(outcome.json, {"key": "absent", "error": "not found"})

    def test_families_have_keys_of_their_own(self):
        self.done("cf create", "sessions")
        self.done("put", "name", "alice", "--cf", "sessions")
        self.assertEqual(self.done("get", "name", "--cf", "sessions").text, "alice\n")
        self.not_found(self.mayfly("get", "name"))

    def test_read_only_reads_and_refuses_to_write(self):
        self.put(name="alice")
        self.assertEqual(self.done("get", "name", "--read-only").text, "alice\n")
        self.refused(self.mayfly("put", "name", "bob", "--read-only"), "read-only")
        self.refused(self.mayfly("del", "name", "--read-only"), "read-only")
        self.assertEqual(self.done("get", "name").text, "alice\n")

    def test_output_that_cannot_be_written_is_an_error(self):
        self.put(name="alice")
        with open("/dev/full", "wb") as full:
            outcome = self.mayfly_to(full, "get", "name")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn(b"cannot write to standard output", outcome.stderr)

    def test_options_of_snkv_are_accepted(self):
        self.done("put", "name", "alice", "--journal", "wal", "--cache-size", "9", "--page-size",
                  "4096", "--wal-limit", "7", "--full-mutex", "--sync", "full", "--timeout", "9")
        self.assertEqual(self.done("get", "name", "--sync", "off").text, "alice\n")


class BytesTest(TestCase):
    def test_hexadecimal_and_base64_words(self):
        self.done("put", "--hex", "00ff", "DEADbeef")
        self.assertEqual(self.done("get", "--hex", "00FF").text, "deadbeef\n")
        self.assertEqual(self.done("get", "--base64", "AP8=").text, "3q2+7w==\n")
        self.assertEqual(self.done("get", "--base64", "AP8", "--json").json["value"], "3q2+7w==")
        self.assertEqual(self.done("get", "--hex", "00ff", "--json").json["key"], "00ff")

    def test_what_is_no_text_is_shown_as_hex_and_in_json_as_base64(self):
        self.done("put", "blob", "@" + self.write("blob", b"\xff\x00"))
        self.assertEqual(self.done("get", "blob").text, "<hex:ff00>\n")
        self.assertEqual(self.done("get", "blob", "--json").json["value"], {"base64": "/wA="})

    def test_raw_bytes_go_in_and_come_out_unchanged(self):
        self.done("put", "blob", "-", input=BINARY)
        self.assertEqual(self.done("get", "blob", "--raw").out, BINARY)
        self.done("get", "blob", "--out", self.path("copy"))
        with open(self.path("copy"), "rb") as file:
            self.assertEqual(file.read(), BINARY)
        self.done("put", "again", "@" + self.path("copy"))
        self.assertEqual(self.done("get", "again", "--raw").out, BINARY)

    def test_large_values_and_long_keys(self):
        value = os.urandom(5_000_000)
        key = b"k" * 65_536
        self.done("put", "@" + self.write("key", key), "-", input=value)
        self.assertEqual(self.done("get", "@" + self.path("key"), "--raw").out, value)
        self.refused(self.mayfly("put", "-", "value", input=key + b"k"), "65537", "65536")

    def test_a_key_from_the_input(self):
        self.done("put", "-", "value", input=b"a\nb")
        self.assertEqual(self.done("get", "-", input=b"a\nb").text, "value\n")

    def test_words_that_would_mean_something_else(self):
        self.done("put", "@@handle", "@@value")
        self.assertEqual(self.done("get", "--literal", "@handle").text, "@value\n")
        self.done("put", "--literal", "-", "@")
        self.assertEqual(self.done("get", "--literal", "-").text, "@\n")

    def test_wrong_bytes_are_refused(self):
        self.put(name="alice")
        self.refused(self.mayfly("put", "--hex", "0", "00"), "'0'", "hexadecimal")
        self.refused(self.mayfly("put", "--hex", "00", "xy"), "'xy'")
        self.refused(self.mayfly("get", "--base64", "a*b"), "a*b", "base64")
        self.refused(self.mayfly("get", "--base64", "--hex", "00"), "--hex", "--base64")
        self.refused(self.mayfly("put", "name", "@" + self.path("absent")), "absent")
        self.refused(self.mayfly("put", "name", "@" + self.folder), self.folder)
        self.refused(self.mayfly("put", "-", "-", input=b"x"), "both")
        self.refused(self.mayfly("put", "", "value"), "1 to 65536 bytes")
        self.refused(self.mayfly("get", "name", "--out", self.path("no/where")), "no/where")
        self.assertEqual(self.done("get", "name").text, "alice\n")


class TtlTest(TestCase):
    def test_times_as_people_write_them(self):
        for ttl, seconds in {"90": 90, "90s": 90, "15m": 900, "2h30m": 9000, "7d": 604_800,
                             "1.5h": 5400, "1w": 604_800, "60000ms": 60}.items():
            with self.subTest(ttl):
                self.done("put", "name", "alice", "--ttl", ttl)
                found = self.done("get", "name", "--json").json
                self.assertLessEqual(found["ttl"], seconds)
                self.assertGreater(found["ttl"], seconds - 30)

    def test_a_date(self):
        self.done("put", "name", "alice", "--ttl", "2100-01-01T00:00:00Z")
        found = self.done("get", "name", "--json").json
        self.assertEqual(found["deadline_ms"], 4_102_444_800_000)
        self.assertEqual(found["deadline"], "2100-01-01T00:00:00.000Z")
        self.done("put", "name", "alice", "--ttl", "2100-01-01T02:00:00+02:00")
        self.assertEqual(self.done("get", "name", "--json").json["deadline_ms"], 4_102_444_800_000)

    def test_a_put_without_one_takes_the_ttl_away(self):
        self.done("put", "name", "alice", "--ttl", "1h")
        self.put(name="bob")
        found = self.done("get", "name", "--json").json
        self.assertEqual(found, {"key": "name", "value": "bob", "ttl": None, "deadline_ms": None,
                                 "deadline": None})

    def test_what_has_expired_is_not_found(self):
        self.put_short_lived("name")
        self.not_found(self.mayfly("get", "name", "--read-only"))
        self.not_found(self.mayfly("del", "name"))
        self.not_found(self.mayfly("get", "name"))

    def test_wrong_times_are_refused_and_store_nothing(self):
        for ttl in ["0", "-5", "soon", "5x", "2020-01-01T00:00Z", "2026-13-01", "", "nan", "5m 1h",
                    "1h "]:
            for command in ["put", "set-if-absent"]:
                with self.subTest(ttl=ttl, command=command):
                    self.refused(self.mayfly(command, "name", "alice", "--ttl", ttl), ttl)
        self.assertFalse(os.path.exists(self.db))


class SetIfAbsentTest(TestCase):
    def test_the_first_one_wins(self):
        self.assertEqual(self.done("set-if-absent", "lock", "a", "--ttl", "1h").text, "inserted\n")
        self.assertEqual(self.done("set-if-absent", "lock", "b").text, "already exists\n")
        found = self.done("get", "lock", "--json").json
        self.assertEqual(found["value"], "a")
        self.assertIsNotNone(found["ttl"])

    def test_an_expired_one_is_absent(self):
        self.put_short_lived("lock")
        self.assertEqual(self.done("set-if-absent", "lock", "b").text, "inserted\n")
        self.assertEqual(self.done("get", "lock").text, "b\n")

    def test_json(self):
        self.assertEqual(self.done("set-if-absent", "lock", "a", "--json").json,
                         {"key": "lock", "inserted": True})
        self.assertEqual(self.done("set-if-absent", "lock", "b", "--json").json,
                         {"key": "lock", "inserted": False})
        self.assertEqual(self.done("put", "lock", "c", "--json").json,
                         {"key": "lock", "stored": True})


    def test_the_exit_code_says_whether_it_was_set_if_that_is_wanted(self):
        self.assertEqual(self.done("set-if-absent", "lock", "a", "--exit-code").text, "inserted\n")
        outcome = self.mayfly("set-if-absent", "--exit-code", "lock", "b")
        self.assertEqual((outcome.code, outcome.text, outcome.errors),
                         (NOT_FOUND, "already exists\n", ""))
        outcome = self.mayfly("set-if-absent", "--exit-code", "lock", "b", "--json")
        self.assertEqual((outcome.code, outcome.json),
                         (NOT_FOUND, {"key": "lock", "inserted": False}))
        self.refused(self.mayfly("set-if-absent", "--exit-code", "lock", "b", "--ttl", "0"), "'0'")


class IncrTest(TestCase):
    def test_adds_to_a_number_and_an_absent_key_is_0(self):
        self.assertEqual([self.done("incr", *words).text for words in
                          [("n",), ("n", "5"), ("n", "+5"), ("n", "-12"), ("--", "n", "-1"),
                           ("n", "0")]],
                         ["1\n", "6\n", "11\n", "-1\n", "-2\n", "-2\n"])
        self.assertEqual(self.done("get", "n").text, "-2\n")
        self.assertEqual(self.done("incr", "n", "--json").json, {"key": "n", "value": -1})

    def test_a_ttl_is_for_a_key_that_is_made_and_stays(self):
        self.done("incr", "n", "--ttl", "1 hour")
        first = self.done("ttl", "n", "--json").json["deadline_ms"]
        self.done("incr", "n", "--ttl", "1m")
        self.done("incr", "n")
        self.assertEqual(self.done("ttl", "n", "--json").json["deadline_ms"], first)
        self.put(m="1")
        self.done("incr", "m", "--ttl", "1m")
        self.assertEqual(self.done("ttl", "m").text, "no ttl\n")

    def test_what_is_no_number_or_does_not_fit_is_refused_and_stays(self):
        self.put(text="word", most=2**63 - 1, least=-2**63)
        self.refused(self.mayfly("incr", "text"), "'text'", "not a 64-bit integer")
        self.refused(self.mayfly("incr", "most"), "'most'", "does not fit")
        self.refused(self.mayfly("incr", "least", "-1"), "'least'", "does not fit")
        for by in ["1.5", "x", "", "+-1", str(2**63)]:
            self.refused(self.mayfly("incr", "most", by), f"'{by}'", "64-bit integer")
        self.assertEqual(self.done("scan").lines,
                         [f"least\t{-2**63}", f"most\t{2**63 - 1}", "text\tword"])

    def test_is_refused_with_a_reason(self):
        self.refuses_wrong_input("incr", "n", makes_file=True)
        self.refused(self.mayfly("incr"), "KEY")
        self.refused(self.mayfly("incr", ""), "a key has 1 to")
        self.assertFalse(os.path.exists(self.db))
        self.put(a="1")
        self.refuses_unknown_family("incr", "n")
        self.refused(self.mayfly("incr", "a", "--read-only"), "read-only")
        self.assertIn("Examples:", self.program.run("incr", "--help").text)


class ExistsTest(TestCase):
    def test_says_it_in_words_and_by_exit_code(self):
        self.put(name="alice")
        self.assertEqual(self.done("exists", "name").text, "true\n")
        outcome = self.mayfly("exists", "absent")
        self.assertEqual((outcome.code, outcome.text, outcome.errors), (NOT_FOUND, "false\n", ""))
        self.assertEqual(self.done("exists", "name", "--json").json,
                         {"key": "name", "exists": True})
        outcome = self.mayfly("exists", "absent", "--json")
        self.assertEqual((outcome.code, outcome.json), (NOT_FOUND,
                                                        {"key": "absent", "exists": False}))


class DelTest(TestCase):
    def test_deletes_once(self):
        self.put(name="alice")
        self.assertEqual(self.done("del", "name").text, "")
        self.not_found(self.mayfly("del", "name"))
        self.not_found(self.mayfly("get", "name"))

    def test_json(self):
        self.put(name="alice")
        self.assertEqual(self.done("del", "name", "--json").json, {"key": "name", "deleted": True})
        outcome = self.mayfly("del", "name", "--json")
        self.assertEqual(outcome.json, {"key": "name", "error": "not found"})

    def test_a_prefix_deletes_what_begins_so_and_nothing_else(self):
        self.put(a1="x", a2="x", a="x", b1="x")
        self.put_short_lived("a3")
        self.assertEqual(self.done("del", "--prefix", "a").text, "3\n")
        self.assertEqual(self.done("list").lines, ["b1"])
        self.assertEqual(self.done("del", "--prefix", "a", "--json").json, {"deleted": 0})
        self.assertEqual(self.done("del", "--hex", "--prefix", "62", "--json").json, {"deleted": 1})

    def test_neither_or_both_of_key_and_prefix_is_refused(self):
        self.put(name="alice")
        for words in [(), ("name", "--prefix", "n"), ("",), ("--prefix", "")]:
            self.refused(self.mayfly("del", *words), "KEY", "--prefix")
        self.assertEqual(self.done("count").text, "1\n")

    def test_a_prefix_makes_no_file(self):
        self.refused(self.mayfly("del", "--prefix", "a"), "test.db")
        self.assertFalse(os.path.exists(self.db))


class WrongInputTest(TestCase):
    def test_every_command(self):
        for command, words, makes_file in [
                ("put", ("name", "alice"), True), ("set-if-absent", ("name", "alice"), True),
                ("get", ("name",), False), ("exists", ("name",), False), ("del", ("name",), False)]:
            with self.subTest(command):
                self.refuses_wrong_input(command, *words, makes_file=makes_file)
        self.put(name="alice")
        for command in ["put", "set-if-absent"]:
            self.refuses_unknown_family(command, "name", "alice")
        for command in ["get", "exists", "del"]:
            self.refuses_unknown_family(command, "name")

    def test_missing_and_superfluous_words(self):
        self.refused(self.mayfly("get"), "KEY")
        self.refused(self.mayfly("put", "name"), "VALUE")
        self.refused(self.mayfly("put", "name", "alice", "cooper"), "cooper", "quote")
        self.refused(self.mayfly("get", "name", "--ttl", "5"), "--ttl")
        self.refused(self.mayfly("put", "name", "alice", "--tll", "5"), "--tll", "--ttl")
        self.refused(self.mayfly("put", "name", "alice", "--sync", "maybe"), "--sync", "normal")
        self.refused(self.program.run("gett", "name"), "gett", "get")
        self.assertFalse(os.path.exists(self.db))

    def test_help_teaches_by_example(self):
        for command in ["put", "set-if-absent", "get", "exists", "del"]:
            outcome = self.program.run(command, "--help")
            self.assertEqual(outcome.code, OK)
            self.assertIn(f"Examples:\n  mayfly {command} --db app.db", outcome.text)


if __name__ == "__main__":
    unittest.main()
