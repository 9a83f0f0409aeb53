# SPDX-License-Identifier: Apache-2.0
"""The files of the repository as the rules see them, and what a problem is."""

import ast
import functools
import os
import pathlib
from typing import NamedTuple

from house_rules import cpp

SKIPPED_FOLDERS = {"build", "node_modules", "__pycache__"}
SHOWN_HIDDEN_FOLDERS = {".ci"}
CPP = (".h", ".cc", ".c")
SCRIPTS = (".py", ".sh")
BUILD_FILES = ("CMakeLists.txt", "Makefile", ".cmake")


class Problem(NamedTuple):
    path: str
    line: int
    text: str  # what is wrong, and what would be right


class File:
    """A text file. `path` is relative to the root, with slashes."""

    def __init__(self, root, path):
        self.path = path
        self.text = (pathlib.Path(root) / path).read_text(encoding="utf-8", errors="replace")
        self.name = path.rsplit("/", 1)[-1]
        self.folders = path.split("/")[:-1]

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """C++ with comments and the insides of strings blanked; every line keeps its number."""
        return cpp.blank(self.text)

    @functools.cached_property
    def python(self):
        return ast.parse(self.text, self.path)

    @functools.cached_property
    def includes(self):
        return list(cpp.includes(self.text, self.code))

    @property
    def is_test(self):
        stem = self.name.partition(".")[0]
        return stem.endswith("_test") or "tests" in self.folders

    @property
    def include_name(self):
        """How others include this header: its path below include/, src/ or tests/.

        A header of a folder below tests/ is for the programs beside it.
        """
        if self.folders[:1] == ["bench"]:
            return self.path
        if self.folders[:1] == ["tests"]:
            return self.path.rsplit("/", 1)[1]
        below = self.folders[:1] in (["include"], ["src"])
        return self.path.split("/", 1)[1] if below else None

    def problem(self, line, text):
        return Problem(self.path, line, text)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.all = [File(root, path) for path in sorted(paths(root))]

    def ending(self, *endings):
        return [file for file in self.all if file.name.endswith(endings)]

    def find(self, path):
        return next((file for file in self.all if file.path == path), None)


def paths(root):
    wanted = CPP + SCRIPTS + BUILD_FILES + (".md", ".json")
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if is_ours(name)]
        for name in names:
            if name.endswith(wanted):
                yield (pathlib.Path(folder) / name).relative_to(root).as_posix()


def is_ours(folder):
    if folder.startswith("."):
        return folder in SHOWN_HIDDEN_FOLDERS
    return folder not in SKIPPED_FOLDERS
