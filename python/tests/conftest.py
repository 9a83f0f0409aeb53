# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: stores, and a clock that is moved by hand."""

import doctest

import pytest

import mayfly


class Clock:
    """Stands still until it is moved. In seconds, as time.time()."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now = round(self.now + seconds, 3)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "store.db")


@pytest.fixture
def db(path, clock):
    with mayfly.KVStore(path, clock=clock) as store:
        yield store


@pytest.fixture(params=["store", "family"])
def place(request, path, clock):
    """A store, and a column family: what holds for one holds for the other."""
    with mayfly.KVStore(path, clock=clock) as store:
        if request.param == "store":
            yield store
        else:
            with store.create_column_family("other") as family:
                yield family


def run_doctests(module, tmp_path, monkeypatch, **names):
    """Runs the examples of a module in an empty folder. Returns how many there were."""
    monkeypatch.chdir(tmp_path)
    globs = {"mayfly": mayfly, **names}
    result = doctest.testmod(module, extraglobs=globs, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    return result.attempted
