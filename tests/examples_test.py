#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples that use a server, against the real program; all languages have the same ones.

Those of C++ and C that use the library are tests by themselves (CMakeLists.txt), and those of
Python run with the tests of the package (python/tests). The packages of Node are those of
tests/node: an example finds them beside itself, so it is run as a copy, next to a link to them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
EXAMPLES = TESTS.parent / "examples"
sys.path[:0] = [str(TESTS / "server"), str(TESTS / "node")]

from mayfly_server import Mayfly, environment  # noqa: E402
from node_clients_test import install  # noqa: E402

USE_CASES = {"session_store", "freshness_cache", "rate_limiter", "one_time_tokens", "lease_locks",
             "idempotency_keys"}
SERVER_USE_CASES = {"presence_list", "last_hour_board"}
ENDINGS = {"cpp": ".cc", "c": ".c", "python": ".py", "node": ".mjs"}
COMPILERS = {".c": ["cc", "-std=c99"], ".cc": ["c++", "-std=c++20"]}
PYTHON = "/usr/bin/python3"  # which has Debian's python3-redis


def run(words, around):
    return subprocess.run(words, env=around, capture_output=True, text=True, check=False,
                          timeout=60)


def node(path, around):
    return run(["node", path], around)


def hiredis_flags():
    return subprocess.run(["pkg-config", "--cflags", "--libs", "hiredis"], check=True,
                          capture_output=True, text=True).stdout.split()


class ExamplesTest(unittest.TestCase):
    def copies_for_node(self):
        """The programs, in a folder with the packages."""
        install()
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(EXAMPLES / "node", folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("node_modules"))
        os.symlink(TESTS / "node" / "node_modules", folder / "node_modules")
        return sorted(folder.glob("*.mjs"))

    def test_those_of_node_hold_against_a_server(self):
        with Mayfly() as server:
            for path in self.copies_for_node():
                with self.subTest(path.name):
                    done = node(path, environment(server))
                    self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)
                    self.assertIn("  yes: ", done.stdout)
            left = [key.decode() for key in server.client().ask("KEYS", "*")]
            self.assertEqual(left, [], "a program that ends well leaves nothing behind")

    def test_those_of_node_say_in_a_line_that_there_is_no_server(self):
        with Mayfly() as server:
            nowhere = environment(server)
        for path in self.copies_for_node():
            with self.subTest(path.name):
                done = node(path, nowhere)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Aconnect ECONNREFUSED .*\n\Z")

    def commands_of_other_languages(self):
        """What runs each program of examples/server; those of C and C++ are compiled."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for path in sorted((EXAMPLES / "server").iterdir()):
            if path.suffix == ".py":
                yield path.name, [PYTHON, "-B", path]
                continue
            program = os.path.join(folder, path.name + ".out")
            subprocess.run([*COMPILERS[path.suffix], "-Wall", "-Wextra", "-Werror", path, "-o",
                            program, *hiredis_flags()], check=True)
            yield path.name, [program]

    def test_those_of_other_languages_hold_against_a_server(self):
        with Mayfly() as server:
            there = environment(server)
            for name, words in self.commands_of_other_languages():
                with self.subTest(name):
                    done = run(words, there)
                    self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)
                    self.assertIn("  yes: ", done.stdout)
                    again = run(words, {**there, "PORT": "1"})
                    self.assertEqual(again.returncode, 1)
                    self.assertRegex(again.stderr, r"\A.*Connection refused\.?\n\Z")
            self.assertEqual(server.client().ask("KEYS", "*"), [])

    def test_every_language_has_every_use_case(self):
        for language, ending in ENDINGS.items():
            stems = {path.stem for path in (EXAMPLES / language).glob("*" + ending)}
            self.assertLessEqual(USE_CASES, stems, language)
            place = "node" if language == "node" else "server"
            stems = {path.stem for path in (EXAMPLES / place).glob("*" + ending)}
            self.assertLessEqual(SERVER_USE_CASES, stems, language)

    def test_every_program_is_in_the_list(self):
        text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"\]\((\w+/\w+\.\w+)\)", text))
        programs = {path.relative_to(EXAMPLES).as_posix() for language, ending in ENDINGS.items()
                    for folder in (language, "server")
                    for path in (EXAMPLES / folder).glob("*" + ending)}
        self.assertEqual(listed, programs)


if __name__ == "__main__":
    unittest.main()
