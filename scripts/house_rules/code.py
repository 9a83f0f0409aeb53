# SPDX-License-Identifier: Apache-2.0
"""Rules about what C++ and tests may say: clocks, sleeping, namespaces, ownership, guards."""

import ast
import re

from house_rules.tree import CPP

CLOCK_FILE = "src/base/clock.cc"
SYSTEM_CLOCK = re.compile(
    r"\b(?:system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday"
    r"|timespec_get|ftime)\b"
    r"|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&)|\bstd::time\b|(?<![\w.>])clock\s*\(\s*\)"
)
# Alarm::sleep_until is ours, and obeys the manual clock: sleeping on one's own alarm is not meant.
CPP_SLEEP = re.compile(
    r"\bthis_thread\s*::\s*sleep_\w+|\bsleep_for\b|\b(?:usleep|nanosleep|clock_nanosleep)\s*\("
    r"|(?<![\w.>])sleep\s*\("
)
SHELL_SLEEP = re.compile(r"^[^#]*?(?<![\w-])sleep\s")
USING_NAMESPACE = re.compile(r"\busing\s+namespace\s+(?![\w:]*literals\s*;)[\w:]+")
SHARED = re.compile(r"\b(?:shared_ptr|make_shared|weak_ptr|enable_shared_from_this)\b")


def matches(file, pattern):
    for number, line in enumerate(file.code.splitlines(), 1):
        if match := pattern.search(line):
            yield number, match.group().strip()


def system_clock(tree):
    for file in tree.ending(*CPP):
        if file.path == CLOCK_FILE:
            continue
        for line, found in matches(file, SYSTEM_CLOCK):
            yield file.problem(line, f"{found}: only {CLOCK_FILE} asks the system; take a Clock")


def sleeping_test(tree):
    advice = "move a ManualClock, or wait for the event itself"
    for file in tree.all:
        if not file.is_test:
            continue
        for line, found in sleeps(file):
            yield file.problem(line, f"{found}: a test does not sleep: {advice}")


def sleeps(file):
    if file.name.endswith(CPP):
        yield from matches(file, CPP_SLEEP)
    elif file.name.endswith(".py"):
        for node in ast.walk(file.python):
            if isinstance(node, ast.Call) and re.search(r"\bsleep$", ast.unparse(node.func)):
                yield node.lineno, ast.unparse(node)
    elif file.name.endswith(".sh"):
        for number, line in enumerate(file.lines, 1):
            if SHELL_SLEEP.search(line):
                yield number, line.strip()


def using_namespace(tree):
    for file in tree.ending(*CPP):
        for line, found in matches(file, USING_NAMESPACE):
            yield file.problem(line, f"`{found}`: only namespaces of literals; qualify the names")


def shared_ownership(tree):
    for file in tree.ending(*CPP):
        for line, found in matches(file, SHARED):
            yield file.problem(line, f"{found}: one owner: a value, a unique_ptr or a reference")


def pragma_once(tree):
    for file in tree.ending(".h"):
        if not re.search(r"^#pragma once$", file.code, re.MULTILINE):
            yield file.problem(1, "has no `#pragma once`: add it below the first comment")
