# SPDX-License-Identifier: Apache-2.0
"""Transactions, and what snkv got wrong with them (A1, A2, ... are the numbers of the lessons)."""

import pytest

import mayfly


def test_commit_and_rollback_as_in_snkv(db):
    db.begin(write=True)
    db["a"] = "1"
    db.commit()
    db.begin(write=True)
    db["b"] = "2"
    del db["a"]
    db.rollback()
    assert dict(db) == {b"a": b"1"}


@pytest.mark.parametrize("start", ["begin", "transaction"])
def test_a_with_block_commits_or_undoes(db, start):
    with getattr(db, start)(write=True) as inside:
        assert inside is db and db.in_transaction
        db["a"] = "1"
    assert not db.in_transaction
    with pytest.raises(ValueError), getattr(db, start)(write=True):
        db["b"] = "2"
        raise ValueError
    assert not db.in_transaction and dict(db) == {b"a": b"1"}


def test_a_with_block_may_be_ended_within(db):
    with db.transaction():
        db["a"] = "1"
        db.rollback()
    assert len(db) == 0


def test_a_transaction_is_over_all_families(db):
    with db.create_column_family("x") as family:
        with pytest.raises(ValueError), db.transaction():
            db["a"] = family["a"] = "1"
            raise ValueError
        assert len(db) == len(family) == 0


def test_there_is_one_transaction_at_a_time(db):
    with db.transaction():
        with pytest.raises(mayfly.Error, match="already"):
            db.begin()
        db["a"] = "1"
    assert "a" in db
    db.commit()
    db.rollback()


def test_a_read_transaction_sees_one_moment_and_refuses_writes(db, path):
    db["a"] = "1"
    with mayfly.KVStore(path) as other, db.begin():
        other["a"] = "2"
        assert db["a"] == b"1"
        with pytest.raises(mayfly.ReadOnlyError):
            db["a"] = "3"
        assert db["a"] == b"1"
    assert db["a"] == b"2"


def test_two_writers_are_busy(db, path):
    with mayfly.KVStore(path) as other, db.transaction():
        with pytest.raises(mayfly.BusyError):
            other["a"] = "1"
        with pytest.raises(mayfly.BusyError):
            other.begin(write=True)


def test_bad_arguments_leave_a_transaction_as_it_was(db):
    with db.transaction():
        db["a"] = "1"
        db["text"] = "abc"
        for action in (lambda: db.put("", "v"), lambda: db.put("k", 5), lambda: db["none"],
                       lambda: db.increment("text"), lambda: db.put_many([("", "")])):
            with pytest.raises((mayfly.Error, TypeError)):
                action()
        db["b"] = "2"
    assert db["a"] == b"1" and db["b"] == b"2"


def test_an_iterator_of_a_transaction_sees_what_it_writes(db):
    with db.transaction():
        db["a"] = "1"
        with db.iterator() as it:
            it.first()
            db["b"] = "2"
            it.next()
            assert it.key == b"b"


# --- Lessons

@pytest.mark.parametrize("read", [
    lambda db: db.get("old"), lambda db: "old" in db, lambda db: db.ttl("old"),
    lambda db: list(db), lambda db: db.purge_expired(), lambda db: db.get_many(["old"]),
    lambda db: len(db), lambda db: db.iterator().seek("old").eof,
])
def test_a1_a2_meeting_an_expired_key_does_not_end_the_transaction(db, clock, read):
    db.put("old", "v", ttl=1)
    clock.advance(1)
    db.begin(write=True)
    db["new"] = "v"
    read(db)
    assert db.in_transaction
    db.rollback()
    assert "new" not in db


def test_a3_a10_what_was_rolled_back_leaves_nothing_behind(db):
    db.begin(write=True)
    family = db.create_column_family("x")
    family.put("k", "v", ttl=5)
    db.put("k", "v", ttl=5)
    db.rollback()
    with pytest.raises(mayfly.Error):
        family.put("k", "v")
    family.close()
    db.put("k", "v", ttl=5)
    with db.create_column_family("x") as again:
        assert len(again) == 0
        again.put("k", "v", ttl=5)
        assert again.ttl("k") == 5.0
    db.integrity_check()


def test_a4_rollback_restores_expiry(db, clock):
    db.put("k", "v", ttl=5)
    db.begin(write=True)
    db.put("k", "permanent")
    db.rollback()
    assert db.ttl("k") == 5.0
    clock.advance(5)
    assert db.get("k") is None


def test_a5_a_read_only_store_hides_what_has_expired(path, clock):
    with mayfly.KVStore(path, clock=clock) as db:
        db.put("k", "v", ttl=5)
    clock.advance(5)
    with mayfly.KVStore(path, clock=clock, read_only=True) as db:
        for _ in range(3):
            assert db.get("k") is None and db.ttl("k") == 0.0 and "k" not in db


def test_a6_a7_a8_all_handles_know_the_same_expiries(path, clock):
    with mayfly.KVStore(path, clock=clock) as one, mayfly.KVStore(path, clock=clock) as other:
        one.put("a", "1", ttl=5)
        one.put("b", "1", ttl=5)
        assert other.ttl("a") == 5.0
        other["b"] = "permanent"
        clock.advance(5)
        assert other.get("a") is None and one["b"] == b"permanent"
        one.purge_expired()
        assert other["b"] == b"permanent"


def test_a9_dropping_a_family_leaves_the_others_alone(db):
    families = [db.create_column_family(f"f{i}") for i in range(5)]
    for family in families:
        family.put("k", family.name, ttl=60)
    families[1].close()
    db.drop_column_family("f1")
    for family in families[2:]:
        assert family["k"] == family.name.encode() and family.ttl("k") == 60.0
        family["k"] = "more"


def test_a11_a12_two_handles_read_and_write_in_turn(path):
    with mayfly.KVStore(path) as one, mayfly.KVStore(path) as other:
        for number in range(100):
            one["n"] = str(number)
            assert other["n"] == b"%d" % number
            other["m"] = str(number)
            assert one["m"] == b"%d" % number


def test_d10_delete_of_an_expired_key_finds_nothing(db, clock):
    db.put("k", "v", ttl=1)
    clock.advance(1)
    with pytest.raises(mayfly.NotFoundError):
        db.delete("k")


def test_e11_a_write_in_a_read_transaction_is_refused_and_not_committed(db):
    db.begin()
    with pytest.raises(mayfly.ReadOnlyError):
        db.put("k", "v")
    db.rollback()
    assert "k" not in db


def test_time_stands_still_for_all_that_tell_it(path, clock):
    db = mayfly.KVStore(path, clock=clock)
    db.put("k", "v", ttl=5)
    for write in (False, True):
        with db.begin(write):
            clock.advance(10)
            assert db.ttl("k") == 5.0 == db.iterator().first().ttl
            assert [key for key, _ in db.expiring(6)] == [b"k"]
        clock.advance(-10)


def test_a_with_block_is_for_one_transaction(path):
    db = mayfly.KVStore(path)
    transaction = db.transaction()
    with transaction:
        db["a"] = "1"
    with pytest.raises(mayfly.Error, match="begin another"):
        with transaction:
            db["b"] = "2"
    assert dict(db) == {b"a": b"1"}
