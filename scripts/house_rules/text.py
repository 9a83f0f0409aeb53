# SPDX-License-Identifier: Apache-2.0
"""Rules about a file as text: lengths, columns, licence line, first comment, markers, titles."""

import ast
import re

from house_rules import cpp
from house_rules.tree import BUILD_FILES, CPP, SCRIPTS

FILE_LINES = 400
TEST_LINES = 800
FUNCTION_LINES = 70
COLUMNS = 100
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# Written in two parts, so that this file does not break its own rule.
MARKERS = re.compile(r"\b(FIX" r"ME|TO" r"DO|XX" r"X)\b")


def file_length(tree):
    for file in tree.ending(*CPP, *SCRIPTS, *BUILD_FILES):
        limit = TEST_LINES if file.is_test else FILE_LINES
        if len(file.lines) > limit:
            yield file.problem(
                limit + 1, f"has {len(file.lines)} lines; {limit} is the limit: split it by idea"
            )


def function_length(tree):
    for file in tree.ending(*CPP):
        for function in cpp.functions(file.code):
            if function.length > FUNCTION_LINES:
                yield too_long(file, function.line, function.title, function.length)
    for file in tree.ending(".py"):
        for node in python_functions(file):
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES:
                yield too_long(file, node.lineno, f"def {node.name}", length)


def too_long(file, line, title, length):
    return file.problem(
        line, f"`{title}` has {length} lines; {FUNCTION_LINES} is the limit: name its parts"
    )


def python_functions(file):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(file.python) if isinstance(node, kinds)]


def columns(tree):
    for file in tree.ending(*CPP, *SCRIPTS, *BUILD_FILES):
        for number, line in enumerate(file.lines, 1):
            if len(line) > COLUMNS:
                yield file.problem(number, f"has {len(line)} columns; {COLUMNS} is the limit")


def licence(tree):
    for file in tree.ending(*CPP, *SCRIPTS):
        line = 2 if file.name.endswith(SCRIPTS) and file.text.startswith("#!") else 1
        sign = "//" if file.name.endswith(CPP) else "#"
        if file.lines[line - 1 : line] != [f"{sign} {LICENCE}"]:
            yield file.problem(line, f"the licence line is missing: `{sign} {LICENCE}`")


# A source that begins with its own header needs no comment: "the header has the contract".
def first_comment(tree):
    for file in tree.ending(*CPP, *SCRIPTS):
        top = [line for line in file.lines if line.strip()]
        top = [line for line in top if LICENCE not in line and not line.startswith("#!")]
        signs = ("//", "/*") if file.name.endswith(CPP) else ("#", '"""', 'r"""')
        if not top or (not top[0].startswith(signs) and not begins_with_own_header(file)):
            yield file.problem(1, "does not begin with a comment that says what the file is")


def begins_with_own_header(file):
    if not file.name.endswith(".cc") or not file.includes:
        return False
    header = file.includes[0].name.rsplit("/", 1)[-1]
    return header == file.name.removesuffix(".cc") + ".h"


def markers(tree):
    for file in tree.all:
        for number, line in enumerate(file.lines, 1):
            if match := MARKERS.search(line):
                yield file.problem(number, f"says {match.group()}: do it now, or open an issue")


def titles(tree):
    for file in tree.ending(".md"):
        for number in list(title_lines(file.lines))[1:]:
            yield file.problem(number, "a second title (H1): make it a section (##)")


def title_lines(lines):
    fence = None
    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*(```|~~~)", line)
        if mark and fence in (None, mark.group(1)):
            fence = None if fence else mark.group(1)
        elif not fence and re.match(r"#\s|=+\s*$", line):
            yield number
