# SPDX-License-Identifier: Apache-2.0
"""Runs the real program, as a shell would, and says what came of it.

    class GetTest(program.TestCase):
        def test_a_key_that_is_not_there_is_exit_code_2(self):
            self.assertEqual(self.mayfly("get", "absent").code, 2)
"""

import json
import os
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass
from typing import Any, Optional

OK, FAILED, NOT_FOUND = 0, 1, 2
PATIENCE_S = 60


@dataclass
class Outcome:
    """The exit code, and what was printed."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def errors(self) -> str:
        return self.err.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """The program of the environment variable MAYFLY."""

    def __init__(self, path: Optional[str] = None, folder: Optional[str] = None):
        self.path = os.path.abspath(path or os.environ["MAYFLY"])
        self.folder = folder  # where it runs

    def run(self, *words: Any, input: bytes = b"", env: Optional[dict] = None) -> Outcome:
        """`env` is what the environment has besides; MAYFLY_DB never comes from outside."""
        around = {name: value for name, value in os.environ.items() if name != "MAYFLY_DB"}
        done = subprocess.run([self.path, *(_word(word) for word in words)], input=input,
                              capture_output=True, timeout=PATIENCE_S, check=False,
                              cwd=self.folder, env=around | (env or {}))
        return Outcome(done.returncode, done.stdout, done.stderr)


def _word(word: Any) -> Any:
    return word if isinstance(word, bytes) else str(word)


class TestCase(unittest.TestCase):
    """Has a directory of its own, in which the program runs, and the path of a store in it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.db = os.path.join(self.folder, "test.db")
        self.program = Program(folder=self.folder)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, content: bytes) -> str:
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def mayfly(self, command: str, *words: Any, input: bytes = b"",
               env: Optional[dict] = None) -> Outcome:
        """A command on the test's store. (`command` may be two words: "cf list".)"""
        return self.program.run(*command.split(), "--db", self.db, *words, input=input, env=env)

    def mayfly_to(self, out: Any, command: str, *words: Any) -> subprocess.CompletedProcess:
        """The same, with the standard output to a file that is open."""
        return subprocess.run([self.program.path, *command.split(), "--db", self.db, *words],
                              stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)

    def done(self, command: str, *words: Any, input: bytes = b"") -> Outcome:
        """The same, and it must succeed without a complaint."""
        outcome = self.mayfly(command, *words, input=input)
        self.assertEqual((outcome.code, outcome.errors), (OK, ""), f"{command} {words}")
        return outcome

    def put(self, **values: Any) -> None:
        for key, value in values.items():
            self.done("put", key, value)

    def put_short_lived(self, *keys: str, words: tuple = ()) -> None:
        """Entries that have expired when this returns, and are still in the file."""
        for key in keys:
            self.done("put", key, "short", "--ttl", "20ms", *words)
        for key in keys:
            self.wait_until_gone(key, *words)

    def wait_until_gone(self, key: str, *words: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while self.mayfly("exists", key, "--read-only", *words).code == OK:
            self.assertLess(time.monotonic(), end, f"{key} does not expire")

    def refused(self, outcome: Outcome, *parts: str) -> None:
        """An error: exit code 1, nothing on the standard output, and a message with these parts."""
        self.assertEqual((outcome.code, outcome.text), (FAILED, ""), outcome.errors)
        self.assertTrue(outcome.errors.startswith("mayfly: "), outcome.errors)
        for part in parts:
            self.assertIn(part, outcome.errors)

    def not_found(self, outcome: Outcome) -> None:
        self.assertEqual(outcome.code, NOT_FOUND, outcome)

    def refuses_wrong_input(self, command: str, *words: Any, makes_file: bool = False) -> None:
        """What every command on a store must say about wrong words and wrong files."""
        run = lambda *more: self.program.run(*command.split(), *words, *more)  # noqa: E731
        garbage = self.write("garbage", b"This is not a store, but a letter to a friend.\n" * 200)
        plain = self.write("plain", b"")
        self.refused(run(), "--db")
        if not makes_file:
            self.refused(run("--db", self.path("absent.db")), "absent.db")
            self.assertFalse(os.path.exists(self.path("absent.db")))
        self.refused(run("--db", garbage), "garbage")
        self.refused(run("--db", self.folder), self.folder)
        self.refused(run("--db", os.path.join(plain, "test.db")), "test.db")
        self.refused(run("--db", self.db, "--jsom"), "--jsom", "did you mean '--json'?")
        self.refused(run("--db", self.db, "--timeout", "soon"), "--timeout", "soon")
        self.refused(run("--db", self.db, "--format", "xml"), "--format", "json")

    def refuses_unknown_family(self, command: str, *words: Any) -> None:
        """`self.db` must be there."""
        self.refused(self.mayfly(command, *words, "--cf", "nobody"), "nobody", "default")
