#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the manual pages and the help of every command: each is there, sound, and teaches."""

import os
import re
import shutil
import subprocess
import unittest

from program import TestCase

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVE_PAGE = os.path.join(ROOT, "share/man/mayfly-serve.1")


class ManualTest(TestCase):
    def commands(self, *above):
        """All commands below one, as lists of words: what its help lists."""
        text = self.program.run(*above, "--help").out.decode()
        listed = text.partition("Examples:")[0]
        for name in re.findall(r"^  ([a-z][a-z-]*)(?:, ?[a-z]+)*  +\S", listed, re.MULTILINE):
            yield [*above, name]
            yield from self.commands(*above, name)

    def test_every_command_has_help_with_an_example(self):
        commands = list(self.commands())
        self.assertGreater(len(commands), 30)
        for command in commands:
            with self.subTest(" ".join(command)):
                done = self.program.run(*command, "--help")
                self.assertEqual(done.code, 0)
                self.assertIn(b"mayfly " + command[0].encode(), done.out)
                for line in done.out.decode().splitlines():
                    self.assertLessEqual(len(line), 110, line)

    def test_every_command_has_a_manual_page_that_man_understands(self):
        folder = os.path.join(self.folder, "man1")
        done = self.program.run("manual", "--write", folder)
        self.assertEqual((done.code, done.err), (0, b""))
        pages = set(os.listdir(folder))
        wanted = {"-".join(["mayfly", *command]) + ".1" for command in self.commands()}
        self.assertEqual(pages, wanted - {"mayfly-serve.1"} | {"mayfly.1"})
        if not shutil.which("groff"):
            return  # no man on this machine; the pages are text all the same
        for page in pages:
            with open(os.path.join(folder, page), "rb") as file:
                shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], stdin=file,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(shown.stderr, b"", page)
            self.assertIn("SYNOPSIS", re.sub(".\b|\x1b\\[[0-9;]*m", "", shown.stdout.decode()))

    def test_the_page_of_serve_has_the_options_of_its_help_and_man_understands_it(self):
        with open(SERVE_PAGE, encoding="utf-8") as file:
            page = file.read()
        shown = set(re.findall(r"--[a-z][a-z-]+", page.replace("\\-", "-")))
        said = set(re.findall(r"(?m)^  (--[a-z-]+)", self.program.run("serve", "--help").text))
        self.assertGreater(len(said), 15)
        self.assertEqual(said - shown, set())
        self.assertLessEqual({"--expiry-log-values", "--expiry-log-max-entries"}, shown)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", SERVE_PAGE],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.stderr, b"")

    def test_the_page_of_an_unknown_command_is_refused_with_advice(self):
        done = self.program.run("manual", "expirring")
        self.assertEqual(done.code, 1)
        self.assertIn(b"did you mean 'expiring'?", done.err)

    def test_a_page_cannot_be_written_where_there_is_a_file(self):
        with open(os.path.join(self.folder, "file"), "w", encoding="utf-8"):
            pass
        done = self.program.run("manual", "--write", os.path.join(self.folder, "file"))
        self.assertEqual(done.code, 1)
        self.assertIn(b"file", done.err)


if __name__ == "__main__":
    unittest.main()
