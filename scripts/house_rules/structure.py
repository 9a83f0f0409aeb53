# SPDX-License-Identifier: Apache-2.0
"""Rules about how files hang together: modules, headers that stand alone, sources in no target."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sysconfig
import tempfile

from house_rules.tree import CPP, Problem

TABLE = "scripts/modules.json"
FOLDER_FILES = 30
# Each file in these is a program, or, in tests/fuzz, the main() of several.
PROGRAM_FOLDERS = ("examples/c", "examples/cpp", "examples/server", "tests", "tests/cluster",
                   "tests/costs", "tests/fuzz", "tests/memory")
BUILD = "CMakeLists.txt"
MODULE_CALL = re.compile(r"^[ \t]*mayfly_module\(\s*(\w+)([^)]*)\)", re.MULTILINE)


class Modules:
    """The module table: what each module may use, and whose each public header is."""

    def __init__(self, tree):
        file = tree.find(TABLE)
        self.rows = json.loads(file.text) if file else {}
        self.owner = {name: module for module, row in self.rows.items() for name in row["headers"]}

    def reach(self, module):
        """All modules that `module` may use, itself included."""
        reached, open_ = set(), [module]
        while open_:
            name = open_.pop()
            if name not in reached:
                reached.add(name)
                open_ += self.rows.get(name, {"may_use": []})["may_use"]
        return reached

    def of_include(self, name):
        """The module of an included file, or None if it is not one of ours."""
        folder = name.partition("/")[0]
        return self.owner.get(name) or (folder if folder in self.rows else None)

    def of_file(self, file):
        """The module of a file in include/ or src/, or None."""
        if file.folders[:1] == ["include"]:
            return self.owner.get(file.include_name)
        if file.folders[:1] == ["bench"]:
            return "bench"
        return file.folders[1] if file.folders[:1] == ["src"] and file.folders[1:] else None


def module_table(tree):
    """The table has a row for each module, and a module for each public header."""
    modules = Modules(tree)
    for file in tree.ending(".h"):
        if file.folders[:1] == ["include"] and file.include_name not in modules.owner:
            text = f"is in no module: add {file.include_name} to one in {TABLE}"
            yield file.problem(1, text)
    for name in modules.owner:
        if not tree.find(f"include/{name}"):
            yield Problem(TABLE, 1, f"names {name}, which does not exist: remove it")
    for line, name, used in module_calls(tree):
        for other in sorted(used - modules.reach(name)):
            yield Problem(BUILD, line, f"{name} may not depend on {other}, by {TABLE}")
        if name not in modules.rows:
            yield Problem(BUILD, line, f"the module {name} is not in {TABLE}: add what it may use")


def module_calls(tree):
    """The line, the name and the modules depended on, of each mayfly_module() in the build."""
    file = tree.find(BUILD)
    text = re.sub(r"#[^\n]*", "", file.text) if file else ""
    for match in MODULE_CALL.finditer(text):
        used = set(re.findall(r"\bmayfly_(\w+)", match.group(2)))
        yield text.count("\n", 0, match.start()) + 1, match.group(1), used


def module_includes(tree):
    modules = Modules(tree)
    for file in tree.ending(*CPP):
        for include in file.includes:
            beside = file.folders[:1] == ["tests"] and tree.find(
                "/".join([*file.folders, include.name]))
            if not beside and (text := include_problem(modules, file, include)):
                yield file.problem(include.line, text)


def include_problem(modules, file, include):
    """Why `file` may not include this, or None. Public headers in no module are module_table's."""
    name = include.name
    own, other = modules.of_file(file), modules.of_include(name)
    if not other:
        if include.quoted and not name.startswith("mayfly/"):
            return f'"{name}" is not ours: write "module/file.h", or <...> for what is not'
        return None
    if name not in modules.owner and file.folders[:1] in (["include"], ["examples"]):
        return f"{name} is private: what users see includes public headers only"
    if own and other not in modules.reach(own):
        return f"{own} may not use {other} ({name}): see {TABLE} for what it may"
    return None


def dead_source(tree):
    """Every source is in a target, and every header is included by another file."""
    table, modules = Modules(tree), {name for _, name, _ in module_calls(tree)}
    for file in tree.ending(".cc", ".c"):
        module = table.of_file(file)
        if module in modules or "/".join(file.folders) in PROGRAM_FOLDERS:
            continue
        yield file.problem(1, f"is in no target: put it in src/MODULE, and MODULE in {BUILD}")
    included = {
        include.name
        for file in tree.ending(*CPP)
        for include in file.includes
        if include.name != file.include_name
    }
    for file in tree.ending(".h"):
        if file.include_name not in included:
            yield file.problem(1, "is included by no other file: remove it, or use it")


def crowded_folder(tree):
    """A folder shows one level of the architecture, and so has few files."""
    folders = collections.defaultdict(list)
    for file in tree.all:
        if file.folders[:1] in (["src"], ["include"], ["bench"], ["tests"]):
            folders["/".join(file.folders)].append(file)
    for name, files in folders.items():
        if len(files) > FOLDER_FILES:
            text = f"{name} has {len(files)} files; {FOLDER_FILES} is the limit: split it by part"
            yield files[0].problem(1, text)


# What nearly every header brings in. Reading it once makes the rule four times as fast.
COMMON = """#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
"""


def lone_header(tree):
    """Every header compiles by itself, and twice over.

    Private ones may take the standard library's for granted here, public ones nothing at all. What
    its own source includes before all else has been compiled so when we get here.
    """
    headers = [file for file in tree.ending(".h")
               if file.include_name and not is_first_of_its_source(tree, file)]
    with tempfile.TemporaryDirectory() as folder:
        common = pathlib.Path(folder) / "common.h"
        common.write_text(COMMON)
        subprocess.run([*compiler(), "-x", "c++-header", common, "-o", f"{common}.gch"], check=True)
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            errors = pool.map(lambda file: compile_alone(tree, file, common), headers)
            for file, error in zip(headers, errors):
                if error:
                    yield file.problem(1, f"does not compile alone: {error}; include what it uses")


def is_first_of_its_source(tree, file):
    """Whether src/m/x.cc begins with its header m/x.h, which the build then compiles alone."""
    source = pathlib.Path(tree.root, file.path).with_suffix(".cc")
    if not file.path.startswith("src/") or not source.exists():
        return False
    first = re.search(r'^#include (.*)', source.read_text(encoding="utf-8"), re.MULTILINE)
    return first is not None and first.group(1) == f'"{file.include_name}"'


def compiler():
    return [os.environ.get("CXX", "g++"), "-std=c++20"]


def python_paths(file):
    """Where Python.h is, for the one module that needs it: in Debian's package, or beside us."""
    if file.folders[:2] != ["src", "python"]:
        return []
    debian = sorted(pathlib.Path("/usr/include").glob("python3.*/Python.h"))
    return ["-isystem", str(debian[-1].parent) if debian else sysconfig.get_paths()["include"]]


def compile_alone(tree, file, common):
    is_public = file.path.startswith("include/")
    before = [] if is_public else ["-include", str(common)]
    beside = [f"-I{'/'.join(file.folders)}"] if file.folders[:1] == ["tests"] else []
    paths = ["-Iinclude", "-Isrc", "-I.", *beside, *python_paths(file)]
    command = [*compiler(), "-fsyntax-only", *before, *paths, "-x", "c++", "-"]
    source = f'#include "{file.include_name}"\n' * 2
    done = subprocess.run(
        command, input=source, cwd=tree.root, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return errors[0] if errors else f"{compiler()[0]} failed"
