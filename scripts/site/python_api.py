# SPDX-License-Identifier: Apache-2.0
"""The API of the Python package as a page in Markdown, from its sources: nothing is imported."""

import ast
import copy
import inspect
import pathlib
import re

MODULES = ("aio", "dbm")  # that users import by name, beside the package itself
COLUMNS_MAX = 88


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def classes(package):
    """All classes of the package by the name that others use for them as a base."""
    known = {}
    for path in [*sorted(package.glob("*.py")), *package.glob("*.pyi")]:
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef):
                known.setdefault(node.name, node)
                known.setdefault(f"{path.stem}.{node.name}", node)
    return known


def exported(package):
    """The public names of the package in the order of __init__.py, with what defines them."""
    for node in parse(package / "__init__.py").body:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        path = package / f"{node.module}.py"
        tree = parse(path if path.exists() else path.with_suffix(".pyi"))
        known = {item.name: item for item in tree.body
                 if isinstance(item, (ast.ClassDef, ast.FunctionDef))}
        for alias in node.names:
            if not alias.name.startswith("_") and alias.name in known:
                yield alias.name, known[alias.name]


def methods(node, known, seen):
    """The public methods of a class and of its bases within the package, each once."""
    for item in node.body:
        is_function = isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
        is_public = is_function and (not item.name.startswith("_") or item.name == "__init__")
        if is_public and item.name not in seen:
            seen.add(item.name)
            yield item
    for base in node.bases:
        if ast.unparse(base) in known:
            yield from methods(known[ast.unparse(base)], known, seen)


def signature(node, owner=""):
    """The call as a user writes it; long lists of arguments have one per line."""
    name = owner if node.name == "__init__" else f"{owner}.{node.name}" if owner else node.name
    start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    result = ast.unparse(node.returns) if node.returns else "None"
    end = "" if result == "None" else f" -> {result}"
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f"{name}{end}"
    given = copy.deepcopy(node.args)
    if owner:
        del (given.posonlyargs or given.args)[:1]  # self
    arguments = ast.unparse(given)
    line = f"{start}{name}({arguments}){end}"
    if len(line) <= COLUMNS_MAX:
        return line
    parts = re.split(r", (?![^\[(]*[\])])", arguments)
    return f"{start}{name}(\n    " + ",\n    ".join(parts) + f"){end}"


def description(node):
    """A docstring as Markdown: examples, and what is indented, are code."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    out = []
    for part in text.split("\n\n"):
        if part.startswith(">>>"):
            out.append(f"```pycon\n{part}\n```")
        else:
            out.append(part.replace("<", "&lt;") if "`" not in part else part)
    return "\n\n".join(out)


def entry(name, node, known):
    lines = [f"### {name}", ""]
    if not isinstance(node, ast.ClassDef):
        return lines + [f"```python\n{signature(node)}\n```", "", description(node), ""]
    lines += [description(node), ""]
    if name.endswith("Error"):
        lines += [f"A subclass of {' and '.join(ast.unparse(base) for base in node.bases)}.", ""]
    for function in methods(node, known, set()):
        lines += [f"```python\n{signature(function, name)}\n```", "", description(function), ""]
    return lines


def page(package):
    package = pathlib.Path(package)
    known = classes(package)
    lines = ["# Python API", "", "The [guide](../docs/python.md) explains how to use it.", "",
             "## mayfly", "", description(parse(package / "__init__.py")), ""]
    for name, node in exported(package):
        lines += entry(name, node, known)
    for module in MODULES:
        tree = parse(package / f"{module}.py")
        lines += [f"## mayfly.{module}", "", description(tree), ""]
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
                lines += entry(node.name, node, known)
    return "\n".join(lines)
