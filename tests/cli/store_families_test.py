#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cf list, cf create, cf drop and cf ttl, with the real program."""

import os
import unittest

from program import NOT_FOUND, OK, TestCase


class FamiliesTest(TestCase):
    def test_a_new_store_has_none_but_the_default_one(self):
        self.put(name="alice")
        self.assertEqual(self.done("cf list").text, "")
        self.assertEqual(self.done("cf list", "--json").text, "")
        self.assertEqual(self.done("get", "name", "--cf", "default").text, "alice\n")

    def test_create_makes_the_file_too(self):
        self.assertEqual(self.done("cf create", "sessions").text, "")
        self.assertEqual(self.done("cf create", "carts", "--json").json,
                         {"name": "carts", "created": True})
        self.assertEqual(self.done("cf list").lines, ["carts", "sessions"])

    def test_a_family_exists_once(self):
        self.done("cf create", "sessions")
        self.refused(self.mayfly("cf create", "sessions"), "sessions", "already exists")
        self.refused(self.mayfly("cf create", "default"), "default", "already exists")

    def test_names_that_are_none(self):
        self.refused(self.mayfly("cf create", ""), "name")
        self.refused(self.mayfly("cf create", "n" * 256), "255")
        self.refused(self.mayfly("cf create"), "NAME")
        self.done("cf create", "n" * 255)

    def test_json_tells_what_is_in_them(self):
        self.done("cf create", "sessions")
        self.done("put", "a", "x", "--cf", "sessions", "--ttl", "1h")
        self.done("put", "b", "x", "--cf", "sessions")
        self.put_short_lived("c", words=("--cf", "sessions"))
        self.done("cf ttl", "sessions", "90s")
        self.assertEqual(self.done("cf list", "--json", "--read-only").json_lines, [
            {"name": "sessions", "live": 2, "with_ttl": 1, "expired": 1, "default_ttl": 90}])

    def test_drop_takes_all_that_is_in_it(self):
        self.done("cf create", "sessions")
        self.done("put", "a", "x", "--cf", "sessions")
        self.assertEqual(self.done("cf drop", "sessions").text, "")
        self.assertEqual(self.done("cf list").text, "")
        self.refused(self.mayfly("get", "a", "--cf", "sessions"), "sessions", "cf create")
        self.done("cf create", "sessions")
        self.not_found(self.mayfly("get", "a", "--cf", "sessions"))
        self.assertEqual(self.done("cf drop", "sessions", "--json").json,
                         {"name": "sessions", "dropped": True})

    def test_to_drop_what_is_not_there_is_exit_code_2(self):
        self.put(name="alice")
        outcome = self.mayfly("cf drop", "nobody")
        self.assertEqual((outcome.code, outcome.text), (NOT_FOUND, ""))
        self.assertIn("nobody", outcome.errors)
        outcome = self.mayfly("cf drop", "nobody", "--json")
        self.assertEqual((outcome.code, outcome.json),
                         (NOT_FOUND, {"name": "nobody", "error": "not found"}))

    def test_the_default_family_cannot_be_dropped(self):
        self.put(name="alice")
        self.refused(self.mayfly("cf drop", "default"), "default")
        self.assertEqual(self.done("get", "name").text, "alice\n")

    def test_read_only_refuses_to_change(self):
        self.done("cf create", "sessions")
        for words in [("cf create", "more"), ("cf drop", "sessions"),
                      ("cf ttl", "sessions", "1h")]:
            self.refused(self.mayfly(*words, "--read-only"), "read-only")
        self.assertEqual(self.done("cf list", "--read-only").lines, ["sessions"])


class DefaultTtlTest(TestCase):
    def test_is_given_to_what_is_put_without_one(self):
        self.done("cf create", "sessions")
        self.assertEqual(self.done("cf ttl", "sessions").text, "no ttl\n")
        self.put_in("before")
        self.assertEqual(self.done("cf ttl", "sessions", "30m").text, "")
        self.assertEqual(self.done("cf ttl", "sessions").text, "30m\n")
        self.put_in("after")
        self.assertLessEqual(self.ttl("after"), 1800)
        self.assertIsNone(self.ttl("before"))
        self.assertEqual(self.done("cf ttl", "sessions", "none", "--json").json,
                         {"name": "sessions", "default_ttl": None})
        self.put_in("later")
        self.assertIsNone(self.ttl("later"))

    def put_in(self, key):
        self.done("put", key, "x", "--cf", "sessions")

    def ttl(self, key):
        return self.done("ttl", key, "--cf", "sessions", "--json").json["ttl"]

    def test_the_default_family_may_have_one(self):
        self.put(before="x")
        self.done("cf ttl", "default", "1.5h")
        self.assertEqual(self.done("cf ttl", "default", "--json").json,
                         {"name": "default", "default_ttl": 5400})
        self.put(after="x")
        self.assertRegex(self.done("ttl", "after").text, "remaining")

    def test_wrong_times_are_refused(self):
        self.done("cf create", "sessions")
        for time in ["0", "-5", "soon", "2100-01-01", ""]:
            with self.subTest(time):
                self.refused(self.mayfly("cf ttl", "sessions", time), time)
        self.assertEqual(self.done("cf ttl", "sessions").text, "no ttl\n")

    def test_a_family_that_is_not_there_is_exit_code_2(self):
        self.put(name="alice")
        self.not_found(self.mayfly("cf ttl", "nobody"))
        self.not_found(self.mayfly("cf ttl", "nobody", "1h"))


class WrongInputTest(TestCase):
    def test_every_command(self):
        for command, words in [("cf list", ()), ("cf create", ("more",)), ("cf drop", ("more",)),
                               ("cf ttl", ("more",))]:
            with self.subTest(command):
                self.refuses_wrong_input(command, *words, makes_file=command == "cf create")
                self.refused(self.mayfly(command, *words, "more", "words", "still"), "unexpected")
                self.assertIn(f"Examples:\n  mayfly {command}",
                              self.program.run(*command.split(), "--help").text)
        self.assertFalse(os.path.exists(self.db))

    def test_a_wrong_command_gets_a_suggestion(self):
        self.refused(self.program.run("cf", "creat", "x"), "creat", "did you mean 'create'?")
        self.assertEqual(self.program.run("cf").code, OK)


if __name__ == "__main__":
    unittest.main()
