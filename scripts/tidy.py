#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the house rules: everything in CONTRIBUTING.md that a program can check.

    python3 scripts/tidy.py [--root DIR] [--no-compile]

Prints `file:line: rule: what is wrong, and what would be right` for each problem, and exits with 1
if there is any.
"""

import argparse
import pathlib
import sys

from house_rules import code, structure, text
from house_rules.tree import Tree

RULES = [
    text.file_length,
    text.function_length,
    text.columns,
    text.licence,
    text.first_comment,
    text.markers,
    text.titles,
    code.system_clock,
    code.sleeping_test,
    code.using_namespace,
    code.shared_ownership,
    code.pragma_once,
    structure.module_table,
    structure.module_includes,
    structure.dead_source,
    structure.crowded_folder,
    structure.lone_header,
]


def name_of(rule):
    return rule.__name__.replace("_", " ")


def check(root, rules):
    """The problems of the tree at `root`, as (rule, problem), sorted by file and line."""
    tree = Tree(root)
    problems = [(name_of(rule), problem) for rule in rules for problem in rule(tree)]
    return len(tree.all), sorted(problems, key=lambda found: (found[1], found[0]))


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Checks the house rules.")
    parser.add_argument("--root", default=here, help="the tree to check (default: this one)")
    parser.add_argument(
        "--no-compile", action="store_true", help="skip the rule that needs a compiler"
    )
    options = parser.parse_args()

    skipped = [structure.lone_header] if options.no_compile else []
    rules = [rule for rule in RULES if rule not in skipped]
    count, problems = check(options.root, rules)
    for rule, problem in problems:
        print(f"{problem.path}:{problem.line}: {rule}: {problem.text}")
    print(f"house rules: {count} files, {len(rules)} rules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
