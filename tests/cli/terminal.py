# SPDX-License-Identifier: Apache-2.0
"""Runs the program on a pseudo terminal, as a person would, and waits for what it shows.

    with Terminal(["mayfly", "shell", "--db", "a.db"]) as terminal:
        terminal.expect("a.db> ")
        terminal.type("get key\r")
"""

import errno
import os
import pty
import re
import select
import time
from typing import Optional

PATIENCE_S = 60

CTRL_C, CTRL_D, TAB, UP = "\x03", "\x04", "\t", "\x1b[A"

# What moves the cursor or clears a line. What is typed comes back with some of these in it.
_CONTROLS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][0-9AB]?|\r|\x07")


class Terminal:
    """A program with a terminal of its own. Nothing depends on how long it takes."""

    def __init__(self, words: list[str], env: dict[str, str], folder: Optional[str] = None):
        self.process, self.screen = pty.fork()
        if self.process == 0:
            if folder is not None:
                os.chdir(folder)
            os.execve(words[0], words, env | {"TERM": "xterm"})
        self.seen = ""  # since what was expected last
        self.code: Optional[int] = None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.screen)  # which hangs up on a program that is still there
        if self.code is None:
            os.waitpid(self.process, 0)

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def expect(self, text: str) -> str:
        """Waits until the text is shown, and returns what came before it."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} did not come, but {self.seen!r}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def end(self) -> int:
        """Waits for the end of the program and returns its exit code."""
        end = time.monotonic() + PATIENCE_S
        while self._read(end - time.monotonic()):
            pass
        _, status = os.waitpid(self.process, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def _read(self, seconds: float) -> bool:
        if not select.select([self.screen], [], [], max(seconds, 0))[0]:
            return False
        try:
            piece = os.read(self.screen, 65536)
        except OSError as failure:  # how Linux says that nobody is at the other end
            if failure.errno != errno.EIO:
                raise
            return False
        self.seen += _CONTROLS.sub(b"", piece).decode(errors="replace")
        return piece != b""
