# SPDX-License-Identifier: Apache-2.0
"""mayfly.dbm: the store for programs that use dbm."""

import os
import shelve
import subprocess
import sys
from collections.abc import MutableMapping

import pytest

import mayfly
from mayfly import dbm


def test_what_was_written_is_there_after_close(path):
    with dbm.open(path, "c") as db:
        for number in range(25_000):  # more than two groups
            db[str(number)] = str(number)
        del db["7"]
        assert db["24999"] == b"24999" and len(db) == 24_999
    with dbm.open(path) as db:
        assert db["0"] == b"0" and "7" not in db and len(db) == 24_999


def test_what_is_not_closed_is_kept_when_it_goes(path):
    db = dbm.open(path, "c")
    db["k"] = "v"
    del db
    with dbm.open(path) as db:
        assert db["k"] == b"v"


def test_others_see_what_was_synced(path):
    with dbm.open(path, "c") as db, mayfly.KVStore(path) as other:
        db["k"] = "1"
        assert "k" not in other
        with pytest.raises(mayfly.BusyError):
            other["k"] = "2"
        db.sync()
        assert other["k"] == b"1"
        other["k"] = "2"
        assert db["k"] == b"2"


def test_a_killed_process_leaves_what_was_synced(path):
    program = (f"import os\nfrom mayfly import dbm\ndb = dbm.open({path!r}, 'c')\n"
               "db['a'] = '1'\ndb.sync()\ndb['b'] = '2'\nos.kill(os.getpid(), 9)\n")
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    with dbm.open(path) as db:
        assert dict(db) == {b"a": b"1"}


def test_flags_are_those_of_dbm(path):
    with pytest.raises(dbm.error, match="does not exist"):
        dbm.open(path)
    with pytest.raises(dbm.error):
        dbm.open(path, "w")
    with dbm.open(path, "c", 0o600) as db:
        db["k"] = "v"
    assert os.stat(path).st_mode & 0o777 == 0o600
    with dbm.open(path, "w") as db:
        assert db["k"] == b"v"
    with dbm.open(path, "r") as db, pytest.raises(mayfly.ReadOnlyError):
        db["k"] = "w"
    with dbm.open(path, "n") as db:
        assert len(db) == 0
    with pytest.raises(ValueError):
        dbm.open(path, "x")


def test_walking_as_in_dbm(path):
    with dbm.open(path, "c") as db:
        assert db.firstkey() is None
        db.update({"a": "1", "b": "2", "c": "3"})
        found, key = [], db.firstkey()
        while key is not None:
            found.append(key)
            key = db.nextkey(key)
        assert found == [b"a", b"b", b"c"] == db.keys()
        assert db.nextkey("aa") == b"b"
        db.reorganize()
        assert db.get("a") == b"1" and db.setdefault("d", b"4") == b"4"


def test_a_loop_gives_keys_as_in_dbm(path):
    with dbm.open(path, "c") as db:
        db.update({"a": "1", "b": "2"})
        assert list(db) == [b"a", b"b"] and list(reversed(db)) == [b"b", b"a"]
        assert isinstance(db, MutableMapping)


def test_shelves_stand_on_it(path):
    with shelve.Shelf(dbm.open(path, "c")) as shelf:
        shelf["a"] = [1, {"b": 2}]
    with shelve.Shelf(dbm.open(path)) as shelf:
        assert shelf["a"] == [1, {"b": 2}] and list(shelf) == ["a"]


def test_entries_may_expire(path):
    with dbm.open(path, "c") as db:
        db["k", 60] = "v"
        assert 59 < db.ttl("k") <= 60


def test_transactions_are_refused(path):
    with dbm.open(path, "c") as db:
        for begin in (db.begin, db.transaction):
            with pytest.raises(mayfly.Error, match="KVStore"):
                begin()


def test_error_is_for_files_too_as_in_the_standard_module(tmp_path):
    with pytest.raises(dbm.error):
        dbm.open(tmp_path / "nowhere" / "q", "c")
