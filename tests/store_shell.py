# SPDX-License-Identifier: Apache-2.0
"""Drives stores in other processes, a command at a time: see store_shell.cc for the commands."""

import os
import select
import shutil
import signal
import subprocess

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_shell")
PATIENCE_S = 60


class Shell:
    """A process. Its answers are text; those that are not "ok" are errors."""

    def __init__(self, program=PROGRAM, prepare=None):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=prepare)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.stdout.close()

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answers(self, seconds):
        """Whether there is an answer, or one comes in time."""
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def receive(self):
        if not self.answers(PATIENCE_S):
            raise AssertionError("the process does not answer")
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the process died with {self.process.wait()}")
        return line.rstrip("\n")

    def ask(self, command):
        self.send(command)
        return self.receive()

    def ok(self, command):
        """What comes after "ok"."""
        answer = self.ask(command)
        if answer.split(" ")[0] != "ok":
            raise AssertionError(f"{command}: {answer}")
        return answer[3:]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def public_program(folder):
    """A copy that users without any rights can run."""
    os.chmod(folder, 0o755)
    return shutil.copy(PROGRAM, folder)
