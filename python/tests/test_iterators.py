# SPDX-License-Identifier: Apache-2.0
"""Walking over keys: iterators, views and snapshots."""

import pytest

import mayfly

KEYS = ["a:1", "a:2", "b:1", "b:2", "c:1"]


@pytest.fixture
def full(place):
    for number, key in enumerate(KEYS):
        place[key] = str(number)
    return place


def keys_of(iterator):
    return [key.decode() for key, _ in iterator]


def test_each_kind_of_iterator_goes_its_way(full):
    assert keys_of(full.iterator()) == KEYS
    assert keys_of(full.iterator(reverse=True)) == KEYS[::-1] == keys_of(full.reverse_iterator())
    assert keys_of(full.iterator(prefix="b:")) == KEYS[2:4] == keys_of(full.prefix_iterator("b:"))
    assert keys_of(full.iterator(prefix="b:", reverse=True)) == KEYS[3:1:-1]
    assert keys_of(full.reverse_prefix_iterator(b"b:")) == KEYS[3:1:-1]


def test_after_seek_a_loop_begins_at_the_sought_key(full):
    assert keys_of(full.iterator().seek("b:1")) == KEYS[2:]
    assert keys_of(full.iterator().seek("b:15")) == KEYS[3:]
    assert keys_of(full.reverse_iterator().seek("b:15")) == KEYS[2::-1]
    assert keys_of(full.prefix_iterator("b:").seek("b:2")) == ["b:2"]
    assert keys_of(full.iterator().seek("z")) == []


def test_a_loop_begins_where_it_was_put_by_hand(full):
    assert keys_of(full.iterator().first()) == KEYS
    it = full.iterator().first()
    it.next()
    assert keys_of(it) == KEYS[1:]
    it = full.reverse_iterator().last()
    assert it.prev() is None
    assert keys_of(it) == KEYS[3::-1]


def test_a_loop_that_is_broken_off_goes_on_after_it(full):
    iterator = full.iterator()
    assert next(iterator) == (b"a:1", b"0")
    assert next(iterator) == (b"a:2", b"1")
    assert keys_of(iterator) == KEYS[2:]
    assert keys_of(iterator) == []


def test_walking_by_hand(full):
    with full.iterator() as it:
        assert it.eof
        found = []
        it.first()
        while not it.eof:
            found.append((it.key, it.value))
            assert it.item() == found[-1]
            assert it.next() is None
        assert [key.decode() for key, _ in found] == KEYS
        it.next()
        assert it.eof
        for ask in (lambda: it.key, lambda: it.value, it.item):
            with pytest.raises(mayfly.Error, match="not on an entry"):
                ask()


def test_last_and_prev_are_for_reverse_iterators(full):
    with full.iterator() as it:
        with pytest.raises(mayfly.Error, match="reverse"):
            it.last()
        with pytest.raises(mayfly.Error, match="reverse"):
            it.prev()


def test_an_empty_prefix_is_an_error(full):
    with pytest.raises(mayfly.Error, match="prefix"):
        full.prefix_iterator("")


def test_an_iterator_shows_ttl_and_skips_what_has_expired(place, clock):
    place.put_many([("a", "1", 5), ("b", "2", 50), ("c", "3")])
    clock.advance(5)
    with place.iterator() as it:
        it.first()
        assert (it.key, it.ttl) == (b"b", 45.0)
        it.next()
        assert it.ttl is None


def test_an_iterator_sees_one_moment(full, clock):
    full.expire("c:1", 5)
    it = full.iterator()
    full["a:3"] = "new"
    full.delete("b:1")
    clock.advance(10)
    assert keys_of(it) == KEYS


def test_a_closed_iterator_is_an_error(full):
    it = full.iterator()
    it.close()
    it.close()
    for action in (it.first, lambda: it.seek("a"), lambda: it.eof, lambda: it.key,
                   lambda: next(it)):
        with pytest.raises(mayfly.Error, match="closed"):
            action()


def test_deleting_while_walking_visits_every_key_once(full):
    for key, _ in full:
        full.delete(key)
    assert len(full) == 0


# --- Views

def test_views_are_those_of_a_mapping(full):
    assert [key.decode() for key in full.keys()] == KEYS
    assert [key.decode() for key in reversed(full.keys())] == KEYS[::-1]
    assert list(full.values()) == [b"0", b"1", b"2", b"3", b"4"]
    assert dict(full.items()) == {key.encode(): str(i).encode() for i, key in enumerate(KEYS)}
    assert (b"a:1", b"0") in full.items() and ("a:1", b"1") not in full.items()
    assert b"3" in full.values() and b"9" not in full.values()
    assert "a:1" in full.keys() and len(full.keys()) == 5
    assert dict(full) == dict(full.items())


# --- Snapshots

def test_a_snapshot_sees_one_moment(db, clock):
    db.put_many({"a": "1", "b": "2"}, ttl=60)
    db["c"] = "3"
    with db.snapshot() as then:
        db["a"] = "changed"
        del db["b"]
        db["d"] = "4"
        clock.advance(100)
        assert dict(then) == {b"a": b"1", b"b": b"2", b"c": b"3"} and len(then) == 3
        assert then["a"] == b"1" and then.get("d") is None and then.get("d", 5) == 5
        assert "b" in then and "d" not in then
        assert then.ttl("a") == 60.0 and then.ttl("c") is None and then.deadline("c") is None
        assert then.deadline("a").timestamp() == 1_000_060
        assert list(reversed(then)) == [b"c", b"b", b"a"]
        for action in (lambda: then["d"], lambda: then.ttl("d")):
            with pytest.raises(mayfly.NotFoundError):
                action()


def test_a_snapshot_has_all_column_families(db):
    with db.create_column_family("x") as family:
        family["k"] = "old"
        with db.snapshot() as then:
            family["k"] = "new"
            assert then.column_family("x")["k"] == b"old"
            with pytest.raises(mayfly.NotFoundError):
                then.column_family("y")


def test_a_snapshot_walks_over_more_than_a_page(db):
    db.put_many((f"k{i:04}", str(i)) for i in range(1000))
    with db.snapshot() as then:
        assert [value for _, value in then.scan()] == [str(i).encode() for i in range(1000)]
        assert [key for key, _ in then.scan(prefix="k09", reverse=True)] == [
            b"k%04d" % i for i in range(999, 899, -1)]


def test_a_snapshot_ends_with_its_store(path):
    db = mayfly.KVStore(path)
    then = db.snapshot()
    db.close()
    for action in (lambda: then.get("a"), lambda: len(then), lambda: list(then)):
        with pytest.raises(mayfly.Error, match="closed"):
            action()
    then.close()
    with pytest.raises(mayfly.Error):
        db.snapshot()


def test_eof_of_an_iterator_of_a_closed_store_is_an_error(path):
    db = mayfly.KVStore(path)
    it = db.iterator()
    db.close()
    with pytest.raises(mayfly.Error, match="closed"):
        it.eof  # noqa: B018
