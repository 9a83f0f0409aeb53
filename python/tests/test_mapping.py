# SPDX-License-Identifier: Apache-2.0
"""A store as a dict, and many entries in one call."""

import threading
from collections import UserDict
from collections.abc import Mapping, MutableMapping

import pytest

import mayfly


def test_a_loop_gives_pairs_and_so_a_store_is_no_mapping_but_becomes_one(place):
    place.update({"b": "2", "a": "1"})
    pairs = [(b"a", b"1"), (b"b", b"2")]
    assert list(place) == pairs and list(reversed(place)) == pairs[::-1]
    assert not isinstance(place, Mapping)  # whose loops give keys
    for copy in (dict(place), dict(**mayfly.Cache()) | dict(place.items()), UserDict(place)):
        assert copy == dict(pairs)
    for other in (mayfly.KVStore(), mayfly.Cache()):
        other.update(place)
        assert dict(other.items()) == dict(pairs)


def test_caches_and_snapshots_are_mappings():
    assert isinstance(mayfly.Cache(), MutableMapping)
    assert isinstance(mayfly.KVStore().snapshot(), Mapping)


@pytest.mark.parametrize("name", [name for name in dir(MutableMapping) if name[0] != "_"])
def test_all_methods_of_a_mapping_are_there(name):
    for kind in (mayfly.KVStore, mayfly.ColumnFamily, mayfly.Cache):
        assert callable(getattr(kind, name))


def test_pop_removes_and_returns(place):
    place["k"] = "v"
    assert place.pop("k") == b"v"
    assert place.pop("k", None) is None and place.pop("k", default=3) == 3


def test_popitem_takes_the_first(place):
    place.update({"b": "2", "a": "1"})
    assert place.popitem() == (b"a", b"1") and place.popitem() == (b"b", b"2")
    with pytest.raises(KeyError):
        place.popitem()


def test_popitem_gives_each_entry_to_one_thread(path):
    taken, errors = [], []

    def pop_all():
        with mayfly.KVStore(path, sync_level=mayfly.SYNC_OFF, busy_timeout=60_000) as db:
            try:
                while True:
                    taken.append(db.popitem())
            except KeyError:
                errors.extend(db)  # raised before it was empty

    with mayfly.KVStore(path, sync_level=mayfly.SYNC_OFF) as db:
        db.put_many({f"k{i:03}": "v" for i in range(300)})
        threads = [threading.Thread(target=pop_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors and sorted(taken) == [(b"k%03d" % i, b"v") for i in range(300)]


def test_popitem_finds_and_removes_in_one_step(path):
    class Erasing(mayfly.KVStore):
        def pop(self, key, *default):
            super().pop(key, None)  # as another thread might, between two steps
            return super().pop(key, *default)

    with Erasing(path) as db:
        db.update({"a": "1", "b": "2"})
        assert db.popitem() == (b"a", b"1") and dict(db.items()) == {b"b": b"2"}


def test_setdefault_stores_even_if_the_key_goes_meanwhile(path):
    class Erasing(mayfly.KVStore):
        def get(self, key, default=None):
            self.pop(key, None)  # as another thread might, between two steps
            return super().get(key, default)

    with Erasing(path) as db:
        db["k"] = "old"
        assert db.setdefault("k", "new", ttl=60) == b"new" and db["k"] == b"new"


def test_setdefault_of_a_key_that_is_there_needs_no_write(path):
    with mayfly.KVStore(path) as db:
        db["k"] = "v"
    with mayfly.KVStore(path, read_only=True) as db:
        assert db.setdefault("k", "w") == b"v"
        with pytest.raises(mayfly.ReadOnlyError):
            db.setdefault("x", "w")


def test_setdefault_stores_only_what_is_missing(place):
    assert place.setdefault("k", "v", ttl=5) == b"v"
    assert place.setdefault("k", "w") == b"v" and place.ttl("k") == 5.0
    assert place.setdefault("e") == b"" == place["e"]
    assert place.setdefault("x", "v", ttl=0) == b"v" and "x" not in place


def test_update_takes_mappings_pairs_and_keywords(place):
    place.update({"a": "1"})
    place.update([("b", "2")], c="3", ttl=9)
    assert dict(place) == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert place.ttl("a") is None and place.ttl("c") == 9.0


def test_an_empty_store_is_false(place):
    assert not place
    place["k"] = "v"
    assert place


# --- Many at once

def test_put_many_takes_mappings_pairs_and_triples(place):
    place.put_many({"a": b"1", b"b": "2"}, ttl=10)
    place.put_many(zip(["c", bytearray(b"d")], [memoryview(b"3"), "4"]))
    place.put_many([("e", "5", 3), ["f", "6"], ("g", "7", None)], ttl=20)
    assert [place.ttl(key) for key in "abcdefg"] == [10, 10, None, None, 3, 20, None]
    assert list(place.values()) == [b"1", b"2", b"3", b"4", b"5", b"6", b"7"]


def test_of_two_items_with_one_key_the_later_wins(place):
    place.put_many([("k", str(i)) for i in range(100)] + [("a", "x")])
    assert place["k"] == b"99"


@pytest.mark.parametrize("bad", [("", "v"), ("k", bytes(10_485_761)), ("k",), 5, ("k", 5),
                                 ("k", "v", "soon"), ("k", "v", 1, 2)])
def test_put_many_stores_all_or_nothing(place, bad):
    with pytest.raises((mayfly.Error, TypeError, ValueError)):
        place.put_many([("good", "v"), bad, ("other", "v")])
    assert len(place) == 0


def test_put_many_of_what_fails_half_way_stores_nothing(place):
    def items():
        yield "a", "1"
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        place.put_many(items())
    assert len(place) == 0


def test_get_many_gives_what_is_there(place, clock):
    place.put_many({"a": "1", "b": "", "c": "3"})
    place.expire("c", 1)
    clock.advance(1)
    assert place.get_many(["a", b"b", "c", "d"]) == {"a": b"1", b"b": b""}
    assert place.get_many(iter(["a"])) == {"a": b"1"}
    assert place.get_many([]) == {}
    with pytest.raises(mayfly.Error):
        place.get_many(["a", ""])


def test_delete_many_counts(place):
    place.put_many({"a": "1", "b": "2", "c": "3"})
    assert place.delete_many(["a", "b", "x"]) == 2
    assert list(place.keys()) == [b"c"]
    assert place.delete_many([]) == 0


def test_many_are_part_of_an_open_transaction(db):
    db["a"] = "1"
    with pytest.raises(ZeroDivisionError), db.transaction():
        db.put_many({"b": "2"})
        db.delete_many(["a"])
        assert db.get_many("ab") == {"b": b"2"}
        raise ZeroDivisionError
    assert dict(db) == {b"a": b"1"}
