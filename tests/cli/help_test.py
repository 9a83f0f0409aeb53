#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""help, and what is said about words that are wrong."""

import unittest

import program


class HelpTest(program.TestCase):
    def test_help_shows_what_the_option_shows(self):
        for words in [(), ("put",), ("cf",), ("cf", "drop"), ("bench",), ("help",)]:
            with self.subTest(words):
                helped = self.program.run("help", *words)
                self.assertEqual((helped.code, helped.errors), (program.OK, ""))
                self.assertEqual(helped.text, self.program.run(*words, "--help").text)
                self.assertIn("Usage: " + " ".join(("mayfly", *words)), helped.text)

    def test_a_group_of_commands_shows_how_it_is_called(self):
        shown = self.program.run("cf")
        self.assertEqual(shown.code, program.OK)
        self.assertIn("Usage: mayfly cf ", shown.text)

    def test_what_is_no_command_has_no_help(self):
        self.refused(self.program.run("help", "pt"), "'pt' is not a command", "did you mean 'put'?")
        self.refused(self.program.run("help", "cf", "drp"), "'mayfly cf'", "did you mean 'drop'?")

    def test_a_mistyped_command_is_named_and_not_what_the_next_one_lacks(self):
        self.refused(self.program.run("hlep", "put"), "'hlep' is not a command",
                     "did you mean 'help'?")

    def test_names_of_other_tools_do_what_they_mean(self):
        self.done("set", "a", "1", "--ttl", "1h")
        self.done("SET", "b", "2")
        self.assertEqual(self.done("ls").lines, ["a", "b"])
        self.assertEqual(self.done("keys").lines, ["a", "b"])
        self.assertEqual(self.done("GET", "a").text, "1\n")
        self.assertEqual(self.done("incrby", "b", "3").text, "5\n")
        self.assertEqual(self.done("dbsize").text, "2\n")
        self.assertEqual(self.done("setnx", "b", "3").text, "already exists\n")
        self.done("rm", "a")
        self.done("delete", "b")
        self.not_found(self.mayfly("remove", "b"))
        for name in ["info", "stats", "status"]:
            self.assertIn("default", self.done(name).text)
        version = self.program.run("--version")
        self.assertEqual(self.program.run("version"), version)
        self.assertRegex(version.text, r"^mayfly \d")

    def test_what_is_written_in_another_way_here_is_suggested(self):
        for word, part in [("setex", "put KEY VALUE --ttl TIME"), ("decr", "incr KEY -1"),
                           ("flushall", "clear"), (".tables", "cf list"), ("select", "scan"),
                           ("HGETALL", "get KEY"), ("ping", "redis-cli"), ("save", "backup")]:
            with self.subTest(word):
                self.refused(self.mayfly(word, "x"), f"'{word}' is not a command", part)

    def test_what_a_new_user_types_gets_an_answer(self):
        self.put(a="1")
        for words, part in [
                (("app.db",), "mayfly shell --db app.db"),
                ((self.db,), f"mayfly shell --db {self.db}"),
                (("--dbb", "x", "get", "a"), "did you mean '--db'?"),
                (("put", "a", "b", "--TTL", "5m"), "did you mean '--ttl'?"),
                (("serve", "-p", "7000"), "two dashes"),
                (("serve", "7000"), "did you mean '--port 7000'?"),
                (("dump", "--db", self.db, "/nowhere/out"), "cannot open /nowhere/out:")]:
            with self.subTest(words):
                self.refused(self.program.run(*words), part)
        for word in ["-v", "-V"]:
            self.assertEqual(self.program.run(word), self.program.run("--version"))
        self.done("cf create", "x")
        self.assertEqual(self.done("cf ls").lines, ["x"])
        self.done("cf rm", "x")

    def test_one_name_is_listed_and_the_others_are_told_by_the_command(self):
        overview = self.program.run("--help").text
        self.assertRegex(overview, r"(?m)^  del  +Delete")
        self.assertNotIn("unlink", overview)
        self.assertIn("Aliases: rm, delete", self.program.run("help", "rm").text)

    def test_serve_shows_the_configuration_file_and_what_matters(self):
        text = self.program.run("serve", "--help").text
        for part in ["FILE is a Valkey or Redis configuration file", "--port", "--bind",
                     "--requirepass", "--dir",
                     "--save", "--appendonly", "--appendfsync", "--maxmemory ",
                     "--maxmemory-policy", "--replicaof", "--strict", "--any-port", "valkey.conf",
                     "--http-port", "--http-bind", "--expiry-log", "--ttl-policy",
                     "--notify-keyspace-events", "Examples:"]:
            self.assertIn(part, text)
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))

    def test_an_option_that_is_there_twice_is_said_to_be(self):
        self.refused(self.mayfly("put", "a", "b", "--ttl", "5m", "--ttl", "6m"),
                     "--ttl was given 2 times (use it once)")
        self.refused(self.mayfly("scan", "--limit", "1", "--limit", "2", "--limit", "3"),
                     "--limit was given 3 times")
        self.refused(self.mayfly("put", "a", "b", "--ttl"), "--ttl requires a value")


if __name__ == "__main__":
    unittest.main()
