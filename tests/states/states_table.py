# SPDX-License-Identifier: Apache-2.0
"""Reads table.txt and commands.txt, which say what each state allows.

Run as a program it prints the table that docs/server.md shows.
"""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CELL = re.compile(r"^(?P<names>[^:]+): (?P<outcome>.*?)"
                  r"(?: \| redis: (?P<redis>.*?), because (?P<why>.+))?$")


def lines_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n")


class Sample:
    """A command, as it is tried."""

    def __init__(self, line):
        self.kind, rest = line.split(None, 1)
        before, rest = re.fullmatch(r"(?:\[(.*)\] )?(.*)", rest.strip()).groups()
        self.before = [request.split() for request in (before or "").split(" ; ") if request]
        self.words = rest.split()

    def name_among(self, containers):
        """As COMMAND LIST has it: get, client|list."""
        first = self.words[0].lower()
        return f"{first}|{self.words[1].lower()}" if first in containers else first

    def words_for(self, follow):
        """The request, for a server that follows this one: a host and a port, or NO ONE."""
        return [part for word in self.words for part in (follow if word == "{follow}" else [word])]

    def __str__(self):
        return f"{self.kind}: {' '.join(self.words)}"


class Cell:
    def __init__(self, outcome, redis=None):
        self.mayfly = outcome
        self.redis = redis or outcome

    def of(self, server_name):
        return self.mayfly if server_name == "mayfly" else self.redis


class State:
    def __init__(self, name, title):
        self.name = name
        self.title = title
        self.cells = {}  # class or command: Cell

    def add(self, line):
        match = CELL.match(line)
        if match is None:
            raise AssertionError(f"table.txt: no cell: {line}")
        cell = Cell(match["outcome"], match["redis"])
        for name in match["names"].split(", "):
            self.cells[name] = cell

    def cell(self, kind, command):
        """An exception by the name of the command is meant for its plain use only."""
        return self.cells[kind if kind.startswith(("exec-", "script-")) else
                          command if command in self.cells else kind]


def read_samples():
    return [Sample(line) for line in lines_of("commands.txt")]


def read_states():
    states = {}
    for line in lines_of("table.txt"):
        if header := re.fullmatch(r"\[(\S+)\] (.*)", line):
            state = states[header[1]] = State(*header.groups())
        else:
            state.add(line)
    return states


def leaf_commands(names):
    """COMMAND LIST without containers, whose subcommands have requests of their own."""
    containers = {name.partition("|")[0] for name in names if "|" in name}
    leaves = {name for name in names if name not in containers}
    return containers - {"command"}, leaves | {"command"}


def check_complete(states, samples, command_names):
    """Everything that is missing or too much, as texts."""
    containers, commands = leaf_commands(command_names)
    kinds = {sample.kind for sample in samples}
    visited = {name_of(sample, containers) for sample in samples}
    faults = [f"commands.txt has no request of {name}" for name in sorted(commands - visited)]
    faults += [f"commands.txt: no such command: {name}" for name in sorted(visited - commands)]
    for state in states.values():
        faults += [f"[{state.name}] has no cell for {kind}"
                   for kind in sorted(kinds - set(state.cells))]
        faults += [f"[{state.name}] names {name}, which is neither class nor command"
                   for name in sorted(set(state.cells) - kinds - commands)]
    return faults


def name_of(sample, containers):
    """COMMAND alone is a command, and the container of others."""
    if len(sample.words) > 1 and sample.words[0].lower() in containers | {"command"}:
        return sample.name_among(containers | {"command"})
    return sample.words[0].lower()


COLUMNS = ("read", "write", "frees", "admin", "maintain", "pubsub", "publishing", "exec-read",
           "exec-write", "replication", "connection", "script-read", "script-write")


def short(outcome):
    """`runs`, or the code of an error."""
    word = outcome.split()[0]
    return f"`{word}`" if word.isupper() else word


def as_markdown(states):
    """The table as docs/server.md shows it: a row for each state, exceptions left aside."""
    lines = ["| state | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for state in states.values():
        cells = (short(state.cells[kind].mayfly) for kind in COLUMNS)
        lines.append(f"| {state.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(read_states()), end="")
