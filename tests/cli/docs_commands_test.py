#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents do not lie about the program: their ```console blocks are run, and compared.

    $ mayfly get session:42            a command; lines that begin with "> " belong to it
    alice                              what it must print, on both outputs
    $ mayfly get nobody
    mayfly: key 'nobody' not found ... "..." is any text; alone on a line, any lines
    $ echo $?                          after a command that fails this must come
    2

The blocks of a document are run by one bash, in a directory of their own, with `mayfly` in the
path. Ports are names: 6379, which redis-cli speaks to, and 7001 are servers of ours, 7002 is a
redis-server. A block that is not to be run has the comment <!-- no-run --> before it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "server"))

from mayfly_server import Mayfly, Redis  # noqa: E402

NO_RUN = "<!-- no-run -->"
DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
SERVERS = {"6379": Mayfly, "7001": Mayfly, "7002": Redis}
PATIENCE_S = 120
# What a redis-cli on a slow machine asks a second later can be a second less.
ATTEMPTS = 3

# Prints the exit code after a mark, and leaves $? as it was.
MARK = "\x1e"
AFTER_COMMAND = "{ __code=$?; printf '\\036%d\\n' $__code; (exit $__code); }\n"


class Command(NamedTuple):
    path: str
    line: int
    text: str
    output: list[str]

    def place(self) -> str:
        return f"{self.path}:{self.line}: $ {self.text}"


def console_blocks(text: str):
    """The lines of each block that is to be run, with their numbers."""
    lines, start, before, is_run = text.splitlines(), None, "", False
    for number, line in enumerate(lines, 1):
        if line.startswith("```") and start is None:
            start, is_run = number, line == "```console" and before != NO_RUN
        elif line.startswith("```"):
            if is_run:
                yield [(n, lines[n - 1]) for n in range(start + 1, number)]
            start, before = None, ""
        elif start is None and line.strip():
            before = line.strip()


def commands_of(path: str, text: str) -> list[Command]:
    found = []
    for block in console_blocks(text):
        for number, line in block:
            if line.startswith("$ "):
                found.append(Command(path, number, line[2:], []))
            elif line.startswith(">") and not found[-1].output:
                found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line[2:]}")
            else:
                found[-1].output.append(line)
    return found


def pattern_of(lines: list[str]) -> str:
    """A regular expression for the whole output."""
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n")
    return "".join(parts)


def with_ports(text: str, ports: dict[str, int]) -> str:
    for name, port in ports.items():
        text = re.sub(rf"\b{name}\b", str(port), text)
    return text


class Outcome(NamedTuple):
    code: int
    output: str


class Session:
    """A directory with servers that go by the ports that documents speak of."""

    def __init__(self, commands: list[Command]):
        self.commands = commands
        self.folder = tempfile.mkdtemp(prefix="mayfly-docs-")
        words = "\n".join(command.text for command in commands)
        needed = [name for name in SERVERS if re.search(rf"\b{name}\b", words)]
        if "redis-cli" in words and "6379" not in needed:
            needed.append("6379")
        self.servers = {name: SERVERS[name]() for name in needed}

    def __enter__(self):
        for server in self.servers.values():
            server.__enter__()
        self.ports = {name: server.port for name, server in self.servers.items()}
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        os.symlink(os.path.abspath(os.environ["MAYFLY"]), os.path.join(tools, "mayfly"))
        if "6379" in self.ports:  # as it speaks to somebody at a terminal
            speaks = f"exec {shutil.which('redis-cli')} --no-raw -p {self.ports['6379']} \"$@\""
            shim = os.path.join(tools, "redis-cli")
            pathlib.Path(shim).write_text(f"#!/bin/sh\n{speaks}\n", encoding="utf-8")
            os.chmod(shim, 0o755)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("MAYFLY")}
        self.environment.update(PATH=f"{tools}:{os.environ['PATH']}", TZ="UTC", LC_ALL="C.UTF-8",
                                HOME=self.work)
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            server.__exit__(*_)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self) -> list[Outcome]:
        script = "".join(f"{with_ports(command.text, self.ports)}\n{AFTER_COMMAND}"
                         for command in self.commands)
        path = os.path.join(self.folder, "script")
        pathlib.Path(path).write_text(script, encoding="utf-8")
        done = subprocess.run(["bash", path], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False)
        text = done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
        parts = re.split(rf"{MARK}(\d+)\n", text)
        return [Outcome(int(code), output) for output, code in zip(parts[0::2], parts[1::2])]


def problems(commands: list[Command]) -> list[str]:
    """What does not come out as it is written."""
    found = []
    with Session(commands) as session:
        outcomes = session.run()
        if len(outcomes) != len(commands):
            found.append(f"{commands[len(outcomes)].place()}: it did not come to an end")
        for i, (command, outcome) in enumerate(zip(commands, outcomes)):
            expected = [with_ports(line, session.ports) for line in command.output]
            output = outcome.output
            if output and not output.endswith("\n"):
                output += "\n"
            if not re.fullmatch(pattern_of(expected), output):
                written = "\n".join(expected)
                found.append(f"{command.place()}\nprints\n{output}and not\n{written}")
            is_told = i + 1 < len(commands) and commands[i + 1].text == "echo $?"
            if outcome.code != 0 and not is_told:
                found.append(f"{command.place()}: exit code {outcome.code}\n{outcome.output}")
    return found


class DocsCommandsTest(unittest.TestCase):
    maxDiff = None

    def test_what_the_documents_show_is_what_the_program_does(self):
        for path in DOCUMENTS:
            commands = commands_of(path, (ROOT / path).read_text(encoding="utf-8"))
            if not commands:
                continue
            with self.subTest(path):
                for _ in range(ATTEMPTS):
                    found = problems(commands)
                    if not found:
                        break
                self.assertEqual("\n\n".join(found), "")

    def test_compatibility_lists_every_command_of_the_server(self):
        text = (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"[A-Z][A-Z0-9_-]+", text.partition("## Differences")[0]))
        with Mayfly() as server:
            known = {name.decode().upper() for name in server.client().ask("COMMAND", "LIST")}
        self.assertGreater(len(known), 200)
        missing = {name for name in known if set(name.split("|")) - listed}
        self.assertEqual(missing, set())

    def test_the_guide_has_many_commands(self):
        text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
        self.assertGreater(len(commands_of("docs/cli.md", text)), 50, "they are not found")

    def test_a_wrong_line_in_a_document_is_found(self):
        text = "```console\n$ mayfly put --db a.db k v\n$ mayfly get --db a.db k\n{}\n```\n"
        self.assertEqual(problems(commands_of("x.md", text.format("v"))), [])
        self.assertEqual(problems(commands_of("x.md", text.format("..."))), [])
        self.assertEqual(len(problems(commands_of("x.md", text.format("w")))), 1)

    def test_a_failure_that_is_not_told_is_found(self):
        text = "```console\n$ mayfly get --db a.db k\nmayfly: ...\n{}```\n"
        self.assertEqual(len(problems(commands_of("x.md", text.format("")))), 1)
        self.assertEqual(problems(commands_of("x.md", text.format("$ echo $?\n1\n"))), [])

    def test_marked_blocks_and_other_languages_are_not_run(self):
        block = "```{}\n$ false\n```\n"
        self.assertEqual(len(commands_of("x.md", block.format("console"))), 1)
        self.assertEqual(commands_of("x.md", block.format("text")), [])
        self.assertEqual(commands_of("x.md", f"{NO_RUN}\n\n" + block.format("console")), [])


if __name__ == "__main__":
    unittest.main()
