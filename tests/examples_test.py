#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of Node against the real program, and that all languages have the same ones.

Those of C++ and C are tests by themselves (CMakeLists.txt), and those of Python run with the tests
of the package (python/tests). The packages are those of tests/node: an example finds them beside
itself, so it is run as a copy, next to a link to them.
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
ENDINGS = {"cpp": ".cc", "c": ".c", "python": ".py", "node": ".mjs"}


def node(path, around):
    return subprocess.run(["node", path], cwd=path.parent, env=around, capture_output=True,
                          text=True, check=False, timeout=60)


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

    def test_every_language_has_every_use_case(self):
        for language, ending in ENDINGS.items():
            stems = {path.stem for path in (EXAMPLES / language).glob("*" + ending)}
            self.assertLessEqual(USE_CASES, stems, language)

    def test_every_program_is_in_the_list(self):
        text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"\]\((\w+/\w+\.\w+)\)", text))
        programs = {path.relative_to(EXAMPLES).as_posix() for language, ending in ENDINGS.items()
                    for path in (EXAMPLES / language).glob("*" + ending)}
        self.assertEqual(listed, programs)


if __name__ == "__main__":
    unittest.main()
