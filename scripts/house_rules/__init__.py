# SPDX-License-Identifier: Apache-2.0
"""The house rules, which scripts/tidy.py runs.

tree.py       the files of the repository, and what a problem is
cpp.py        just enough understanding of C++ to check it: comments, includes, functions
text.py       rules about a file as text: lengths, columns, licence line, first comment, markers
code.py       rules about what C++ and tests may say: clocks, sleeping, namespaces, ownership
structure.py  rules about how files hang together: modules, headers, sources in no target

A rule is a function from the tree to problems, and is listed in scripts/tidy.py. None has a list of
exceptions.
"""
