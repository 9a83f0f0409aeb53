#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header with its plain comments as Doxygen's, for `make docs` (see Doxyfile).

    // The value of `key`, or null.       becomes   /// The value of `key`, or null.
    int size;  // in bytes                becomes   int size;  ///< in bytes

Every line keeps its number but for those of the opening comment, which describes the file and the
class that it names first ("Cache: a hash map ..."). Comments inside function bodies are left out.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from house_rules import cpp  # noqa: E402

SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern\s+")')
COMMENT = re.compile(r"^(\s*)//(.*)$")
CODE_INDENT = "   "


def escape(text):
    """Prose in which Doxygen sees no command, no tag and no emphasis that is not meant."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([\\@<>#%&])", r"\\\1", part) for part in parts[::2]]
    return re.sub(r"\b(docs/\w+)\.md\b", r"[\1.md](../\1.html)", "".join(parts))


def block(lines, indent="", sign="///"):
    """Doxygen's form of the texts of comment lines; those indented by three spaces are code."""
    out, in_code = [], False
    for i, text in enumerate(lines):
        is_code = text.startswith(CODE_INDENT) or (
            in_code and not text.strip() and "".join(lines[i + 1:i + 2]).startswith(CODE_INDENT))
        if is_code != in_code:
            out.append(f"{indent}{sign} ~~~{'{.cpp}' if is_code else ''}")
            in_code = is_code
        out.append(f"{indent}{sign}{' ' + text[3:] if is_code else escape(text)}".rstrip())
    return out + ([f"{indent}{sign} ~~~"] if in_code else [])


def scope_lines(code):
    """For each line whether it begins outside function bodies, by counting braces."""
    result, stack, statement = [], [], ""
    for line in code.splitlines():
        result.append(all(stack))
        if line.lstrip().startswith("#"):
            continue
        for char in line + "\n":
            if char == "{":
                is_scope = SCOPE.search(statement) and "(" not in statement.partition("requires")[0]
                stack.append(bool(is_scope))
                statement = ""
            elif char == "}":
                stack = stack[:-1]
                statement = ""
            elif char == ";":
                statement = ""
            else:
                statement += char
    return result


def opening(lines, code):
    """The Doxygen comments for the comment at the top of the file."""
    texts = [COMMENT.match(line)[2] for line in lines if "SPDX" not in line]
    name = re.match(r" (\w+)(?:<\w+>)?: ", texts[0]) if texts else None
    if name and re.search(rf"(?m)^(class|struct)\b[^;\n]*\b{name[1]}\b[^;]*$", code):
        brief = texts[:texts.index("")] if "" in texts else texts
        return ["/// \\file", *block(brief), "", f"/// \\class mayfly::{name[1]}", *block(texts)]
    return ["/// \\file", *block(texts)]


def convert(text):
    lines, code = text.splitlines(), cpp.blank(text)
    in_scope = scope_lines(code)
    top = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    out, i, trails = opening(lines[:top], code), top, False
    while i < len(lines):
        comment = COMMENT.match(lines[i])
        if not comment:
            cut = re.search(r"\s//\s", lines[i]) if in_scope[i] else None
            trails = bool(cut) and not code.splitlines()[i][cut.start():].strip()
            trails = trails and not lines[i].startswith(("#include", "}"))
            if trails:
                out.append(lines[i][:cut.start()] + " ///< " + escape(lines[i][cut.end():]))
            else:
                out.append(lines[i])
            i += 1
            continue
        end = i
        while end < len(lines) and COMMENT.match(lines[end]):
            end += 1
        texts = [COMMENT.match(line)[2] for line in lines[i:end]]
        followed = end < len(lines) and lines[end].strip() not in ("", "}", "};")
        if trails and in_scope[i]:  # goes on with the comment at the end of the line before
            out += [f"{comment[1]}///<{escape(text)}" for text in texts]
        elif in_scope[i] and followed and not texts[0].startswith((" ---", " NOLINT")):
            out += block(texts, comment[1])
        else:
            out += lines[i:end]
        trails = False
        i = end
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(convert(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
