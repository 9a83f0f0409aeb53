# SPDX-License-Identifier: Apache-2.0
"""Just enough understanding of C++ to check it: what is code, what is included, what is a function.

It expects code that clang-format has laid out, and reads it without a compiler.
"""

import re
from typing import NamedTuple

NO_CODE = re.compile(
    r"""
    //[^\n]*                                                   # a comment to the end of the line
  | /\*.*?\*/                                                  # a comment
  | (?<!\w)(?:u8|u|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"   # a raw string
  | "(?:\\.|[^"\\\n])*"                                        # a string
  | (?<!\w)(?:u8|u|U|L)?'(?:\\.|[^'\\\n])+'                    # a character, but not 1'000
    """,
    re.DOTALL | re.VERBOSE,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]')


def spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank(text):
    """`text` with comments, and all but the quotes of strings, turned into spaces."""

    def blank_one(match):
        found = match.group()
        return spaces(found) if found[0] == "/" else '"' + spaces(found[1:-1]) + '"'

    return NO_CODE.sub(blank_one, text)


class Include(NamedTuple):
    line: int
    name: str
    quoted: bool  # "name", not <name>


def includes(text, code):
    """The includes of a file. `code` is blank(text)."""
    for number, (line, code_line) in enumerate(zip(text.splitlines(), code.splitlines()), 1):
        match = INCLUDE.match(line)
        if match and code_line.lstrip().startswith("#"):
            yield Include(number, match.group(2), match.group(1) == '"')


class Function(NamedTuple):
    line: int    # where its declaration begins
    length: int  # in lines, up to its closing brace
    title: str   # the first line of its declaration


def functions(code):
    """The functions of a file, from blank(text). Lambdas and local classes count with the function
    they are in; lambdas outside functions are functions."""
    text = DIRECTIVE.sub(lambda match: spaces(match.group()), code)
    head, parens, at = 0, 0, 0  # `head` is where the present declaration begins
    while match := re.compile(r"[{}();]").search(text, at):
        at = match.end()
        sign = match.group()
        if sign in "()":
            parens += 1 if sign == "(" else -1
        elif sign == "}" or (sign == ";" and parens == 0):
            head = at
        elif sign == "{":
            kind = classify(text[head : match.start()])
            if kind == "scope":
                head = at
                continue
            at = closing_brace(text, match.start()) + 1
            if kind == "function":
                yield describe(text, head, at)
                head = head if parens else at


def closing_brace(text, at):
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)


def describe(text, head, end):
    start = head + re.match(r"\s*(?:(?:public|protected|private)\s*:\s*)*", text[head:end]).end()
    first_line = text[start:end].partition("\n")[0].rstrip(" {")
    return Function(text.count("\n", 0, start) + 1, text.count("\n", start, end) + 1, first_line)


SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum|concept)\b|\bextern\s*"')
LAMBDA_WITHOUT_PARENS = re.compile(r"(?:^|[=,]|\breturn)\s*\[[^\]]*\]\s*(?:mutable\s*)?$")
# What may stand between the parameters of a function and its body. A member that is initialized
# with braces, as in `Slot() : id_{0} {`, has become `: id_@` by then.
AFTER_PARAMETERS = re.compile(
    r"(?:\s|\b(?:const|volatile|noexcept|override|final|mutable|try)\b|&|@"
    r"|\brequires\b.*|->.*|\[\[.*\]\]|[:,][^@]*@)*$",
    re.DOTALL,
)


def classify(head):
    """What a brace opens, by what stands before it in its declaration: a "scope" to look into, a
    "function", or a "value" (an initializer, or a requires-expression)."""
    head = collapse(collapse(head, r"\{[^{}]*\}", "@"), r"\([^()]*\)", "$")
    head = head.rpartition("(")[2].strip()  # inside an argument list, only the argument counts
    head = without_template_parameters(re.sub(r"\[\[.*?\]\]|\balignas\s*\$", " ", head))

    scope = SCOPE.search(head)
    if scope:
        name = re.split(r"(?<!:):(?!:)", head[scope.end() :])[0]  # without the base classes
        if scope.group() == "concept" or "$" not in name:
            return "scope"
    if re.search(r"\brequires\s*\$?\s*$", head):
        return "value"
    if "$" not in head:
        return "function" if LAMBDA_WITHOUT_PARENS.search(head) else "value"
    return "function" if AFTER_PARAMETERS.match(head.rpartition("$")[2]) else "value"


def collapse(text, innermost, sign):
    count = 1
    while count:
        text, count = re.subn(innermost, sign, text)
    return text


def without_template_parameters(head):
    while match := re.search(r"\btemplate\s*<", head):
        depth, at = 1, match.end()
        while depth and at < len(head):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[: match.start()] + head[at:]
    return head
