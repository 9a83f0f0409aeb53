# SPDX-License-Identifier: Apache-2.0
"""Docstrings have examples that are true; stubs and module agree; every name says what it is."""

import ast
import importlib
import inspect
import pathlib
import pkgutil

import pytest

import mayfly
from conftest import run_doctests
from mayfly import _mayfly, aio

MODULES = sorted(info.name for info in pkgutil.iter_modules(mayfly.__path__)
                 if info.name != "_mayfly")
PACKAGE = pathlib.Path(mayfly.__file__).parent


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_are_true(name, tmp_path, monkeypatch):
    run_doctests(importlib.import_module(f"mayfly.{name}"), tmp_path, monkeypatch, aio=aio)


def test_examples_of_the_package_are_true(tmp_path, monkeypatch):
    assert run_doctests(mayfly, tmp_path, monkeypatch) > 0


@pytest.mark.parametrize("name", ["get", "put"])
def test_examples_of_cpp_methods_are_true(name, tmp_path, monkeypatch):
    class Holder:
        __doc__ = getattr(mayfly.KVStore, name).__doc__

    Holder.__module__ = __name__
    module = type(ast)("holder")
    module.__doc__ = Holder.__doc__
    assert run_doctests(module, tmp_path, monkeypatch) > 0


def public_members(kind):
    return [name for name in dir(kind)
            if not name.startswith("_") and name not in dir(type("Empty", (), {}))]


@pytest.mark.parametrize("kind", [
    mayfly.KVStore, mayfly.ColumnFamily, mayfly.Iterator, mayfly.Snapshot, mayfly.Cache,
    mayfly.Transaction, aio.AsyncKVStore, aio.AsyncColumnFamily,
], ids=lambda kind: kind.__name__)
def test_every_public_method_has_a_docstring(kind):
    assert kind.__doc__
    missing = [name for name in public_members(kind)
               if not inspect.getdoc(getattr(kind, name)) and name != "close"]
    assert missing == []


def stub_classes():
    tree = ast.parse((PACKAGE / "_mayfly.pyi").read_text())
    return {node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            for node in tree.body if isinstance(node, ast.ClassDef)}


def own_names(kind):
    ignored = {"__module__", "__doc__", "__new__", "__weakref__", "__dict__", "__reversed__"}
    return {name for name in vars(kind)
            if name not in ignored and "pybind" not in name}


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", ["Family", "Store", "Iterator", "Snapshot", "Cache"])
def test_the_stub_has_what_the_module_has(name):
    assert own_names(getattr(_mayfly, name)) == stub_classes()[name]


def test_the_stub_has_all_classes():
    kinds = {name for name, kind in vars(_mayfly).items() if inspect.isclass(kind)}
    assert kinds == set(stub_classes())


def test_the_version_is_that_of_the_project():
    assert mayfly.__version__.count(".") == 2
