#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""help, and what is said about words that are wrong."""

import unittest

import program


class HelpTest(program.TestCase):
    def test_help_shows_what_the_option_shows(self):
        for words in [(), ("put",), ("cf",), ("cf", "drop"), ("bench", "expiry"), ("help",)]:
            with self.subTest(words):
                helped = self.program.run("help", *words)
                self.assertEqual((helped.code, helped.errors), (program.OK, ""))
                self.assertEqual(helped.text, self.program.run(*words, "--help").text)
                self.assertIn("Usage: " + " ".join(("mayfly", *words)), helped.text)

    def test_a_group_of_commands_shows_how_it_is_called(self):
        for words in [("cf",), ("bench",)]:
            shown = self.program.run(*words)
            self.assertEqual(shown.code, program.OK)
            self.assertIn(f"Usage: mayfly {words[0]} ", shown.text)

    def test_what_is_no_command_has_no_help(self):
        self.refused(self.program.run("help", "pt"), "'pt' is not a command", "did you mean 'put'?")
        self.refused(self.program.run("help", "cf", "drp"), "'mayfly cf'", "did you mean 'drop'?")

    def test_a_mistyped_command_is_named_and_not_what_the_next_one_lacks(self):
        self.refused(self.program.run("hlep", "put"), "'hlep' is not a command",
                     "did you mean 'help'?")

    def test_an_option_that_is_there_twice_is_said_to_be(self):
        self.refused(self.mayfly("put", "a", "b", "--ttl", "5m", "--ttl", "6m"),
                     "--ttl was given 2 times; give it once")
        self.refused(self.mayfly("scan", "--limit", "1", "--limit", "2", "--limit", "3"),
                     "--limit was given 3 times")
        self.refused(self.mayfly("put", "a", "b", "--ttl"), "--ttl needs a value")


if __name__ == "__main__":
    unittest.main()
