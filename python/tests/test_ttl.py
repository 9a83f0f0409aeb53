# SPDX-License-Identifier: Apache-2.0
"""Expiry: all that says how long, what is left of it, and who removes what has expired."""

import threading
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

import mayfly


@pytest.mark.parametrize("ttl, left", [
    (60, 60.0), (1.5, 1.5), (0.0005, 0.001), (0.14, 0.14), (Decimal("2.5"), 2.5), (True, 1.0),
    (timedelta(minutes=2), 120.0), (timedelta(microseconds=1), 0.001), (10**15, 1e15),
])
def test_a_ttl_is_a_number_of_seconds_or_a_timedelta(place, ttl, left):
    place.put("k", "v", ttl)
    assert place.ttl("k") == left


@pytest.mark.parametrize("ttl", [float("inf"), 10**30])
def test_more_time_than_there_is_means_never(place, ttl):
    place.put("k", "v", ttl)
    assert place.ttl("k") is None


def test_a_datetime_is_a_deadline(place, clock):
    moment = datetime.fromtimestamp(clock.now + 90, timezone.utc)
    for deadline in (moment, moment.astimezone(timezone(timedelta(hours=5))),
                     datetime.fromtimestamp(clock.now + 90)):  # without a zone: local time
        place.put("k", "v", ttl=deadline)
        assert place.ttl("k") == 90.0
        assert place.deadline("k") == moment


@pytest.mark.parametrize("wrong, kind", [("60", TypeError), (b"60", TypeError), ([], TypeError),
                                         (float("nan"), ValueError)])
def test_anything_else_is_refused(place, wrong, kind):
    with pytest.raises(kind, match="TTL"):
        place.put("k", "v", ttl=wrong)
    with pytest.raises(kind):
        place["k", wrong] = "v"
    assert "k" not in place


@pytest.mark.parametrize("ttl", [0, -1, -0.5, timedelta(seconds=-5), datetime(1970, 1, 3)])
def test_what_has_expired_already_is_stored_but_never_seen(place, ttl):
    place["k"] = "old"
    place.put("k", "v", ttl=ttl)
    assert place.get("k") is None and len(place) == 0 and list(place) == []
    assert place.put_if_absent("k", "v", ttl=ttl) is False


def test_a_key_is_gone_at_its_deadline_and_not_before(place, clock):
    place.put("k", "v", ttl=10)
    clock.advance(9.999)
    assert place["k"] == b"v" and place.ttl("k") == 0.001
    clock.advance(0.001)
    for gone in (place.get("k") is None, "k" not in place, len(place) == 0, not list(place),
                 not list(place.items())):
        assert gone
    with pytest.raises(mayfly.NotFoundError):
        place["k"]
    with pytest.raises(mayfly.NotFoundError):
        place.delete("k")


def test_ttl_says_zero_until_what_has_expired_is_removed(place, clock):
    place.put("k", "v", ttl=1)
    clock.advance(1)
    assert place.ttl("k") == 0.0 == place.ttl("k")
    place.put("other", "v")
    with pytest.raises(mayfly.NotFoundError):
        place.ttl("k")


def test_a_plain_put_makes_a_key_permanent(place):
    place.put("k", "v", ttl=1)
    place.put("k", "w")
    assert place.ttl("k") is None


def test_expire_changes_the_expiry_alone(place, clock):
    place["k"] = "v"
    assert place.expire("k", 10) is True and place.ttl("k") == 10.0
    assert place.expire("k", timedelta(minutes=1)) and place.ttl("k") == 60.0
    assert place.expire_at("k", clock.now + 5) and place.ttl("k") == 5.0
    assert place.expire_at("k", datetime.fromtimestamp(clock.now + 6)) and place.ttl("k") == 6.0
    assert place["k"] == b"v"
    assert place.expire("k", 0) is True
    with pytest.raises(mayfly.NotFoundError):
        place.expire("k", 10)
    with pytest.raises(TypeError):
        place.expire("k", None)


def test_expire_has_conditions(place):
    place["k"] = "v"
    assert place.expire("k", 10, "xx") is False
    assert place.expire("k", 10, "gt") is False  # a key without expiry has the latest of all
    assert place.expire("k", 10, "nx") is True and place.expire("k", 20, "nx") is False
    assert place.expire("k", 5, "gt") is False and place.expire("k", 15, "gt") is True
    assert place.expire("k", 20, "lt") is False and place.expire("k", 12, "lt") is True
    assert place.expire("k", 99, condition="xx") is True and place.ttl("k") == 99.0
    with pytest.raises(ValueError, match="'gt'"):
        place.expire("k", 1, "bigger")


def test_persist_removes_an_expiry(place):
    place.put("k", "v", ttl=5)
    assert place.persist("k") is True and place.persist("k") is False
    assert place.ttl("k") is None and place.deadline("k") is None
    with pytest.raises(mayfly.NotFoundError):
        place.persist("other")


def test_touch_only_puts_an_expiry_off(place):
    place.put("k", "v", ttl=10)
    place.touch("k", 5)
    assert place.ttl("k") == 10.0
    place.touch("k", timedelta(seconds=20))
    assert place.ttl("k") == 20.0
    place["p"] = "v"
    place.touch("p", 5)
    assert place.ttl("p") is None
    with pytest.raises(mayfly.NotFoundError):
        place.touch("other", 5)


def test_expiring_tells_what_is_about_to_go(place, clock):
    place.put_many([("a", "1", 30), ("b", "2", 10), ("c", "3", 300), ("d", "4"), ("e", "5", 1)])
    clock.advance(1)
    start = datetime.fromtimestamp(clock.now, timezone.utc)
    assert list(place.expiring(60)) == [
        (b"b", start + timedelta(seconds=9)), (b"a", start + timedelta(seconds=29))]
    keys = lambda *args: [key for key, _ in place.expiring(*args)]  # noqa: E731
    assert keys(timedelta(minutes=1)) == keys((None, 60)) == [b"b", b"a"]
    assert keys((9, 29)) == [b"b"] and keys((10, None)) == [b"a", b"c"]
    assert keys((start, start + timedelta(seconds=10))) == [b"b"]
    assert keys((None, None), 2) == [b"b", b"a"] and keys(60, 0) == []
    assert place.next_deadline() == start  # of the one that has expired
    place.purge_expired()
    assert place.next_deadline() == start + timedelta(seconds=9)


def test_the_histogram_tells_how_many_expire_when(place, clock):
    place.put_many([("a", "1", 1), ("b", "22", 10.001), ("c", "333", 10**9), ("d", "4"),
                    ("e", "5", 0.5), ("f", "66", 0.25)])
    clock.advance(0.5)
    plain = place.ttl_histogram()
    assert tuple(plain.entries) == mayfly.TTL_BUCKETS
    assert plain.entries == {**dict.fromkeys(mayfly.TTL_BUCKETS, 0), "1s": 1, "10s": 1, "later": 1}
    assert plain.bytes is None and plain.overdue_bytes is None
    assert plain.overdue == 2
    assert plain.oldest_overdue == datetime.fromtimestamp(clock.now - 0.25, timezone.utc)
    full = place.ttl_histogram(with_bytes=True)
    assert full.entries == plain.entries and full.overdue == 2 and full.overdue_bytes == 5
    assert {name: size for name, size in full.bytes.items() if size} == {
        "1s": 2, "10s": 3, "later": 4}
    place.purge_expired()
    assert place.ttl_histogram().overdue == 0 and place.ttl_histogram().oldest_overdue is None


def test_the_histogram_of_all_families_is_their_sum(db, clock):
    with db.create_column_family("other") as other:
        db.put("a", "1", 5)
        other.put("a", "1", 5)
        other.put("b", "1", 50)
        assert sum(db.ttl_histogram().entries.values()) == 1
        for place in (db, other):
            together = place.ttl_histogram(with_bytes=True, all_families=True)
            assert together.entries["10s"] == 2 and together.entries["1m"] == 1
            assert together.bytes["10s"] == 4


def test_purge_has_a_limit(place, clock):
    place.put_many({f"k{i}": "v" for i in range(1000)}, ttl=1)
    clock.advance(1)
    assert place.purge_expired(limit=0) == 0
    assert place.purge_expired(limit=10) == 10
    assert place.purge_expired(400) == 400
    assert place.count() == 590
    assert place.purge_expired(limit=300, seconds=1000) == 300
    assert place.purge_expired(seconds=1000) == 290
    assert place.purge_expired() == 0


def test_purge_has_a_budget_of_time(place, clock):
    place.put_many({f"k{i}": "v" for i in range(1000)}, ttl=1)
    clock.advance(1)
    assert place.purge_expired(seconds=0) == 256  # one step, then it looks at the time
    assert place.count() == 744


def test_purge_can_go_over_all_families(db, clock):
    with db.create_column_family("x") as family:
        family.put("a", "1", ttl=1)
        db.put("b", "2", ttl=1)
        clock.advance(1)
        assert db.purge_expired() == 1
        assert db.purge_expired(all_families=True) == 1


def test_a_family_has_a_default_ttl(place, path, clock):
    assert place.default_ttl is None
    place.default_ttl = 30
    assert place.default_ttl == 30.0
    place["k"] = "v"
    assert place.ttl("k") == 30.0
    place.put("own", "v", ttl=5)
    assert place.ttl("own") == 5.0
    place.default_ttl = timedelta(minutes=1)
    assert place.default_ttl == 60.0
    place.default_ttl = None
    place["k"] = "v"
    assert place.ttl("k") is None
    with pytest.raises(ValueError):
        place.default_ttl = 0


def test_increment_gives_a_ttl_to_a_key_that_it_makes(place, clock):
    assert place.increment("hits", ttl=60) == 1
    clock.advance(30)
    assert place.increment("hits", 5, ttl=60) == 6
    assert place.ttl("hits") == 30.0 and place["hits"] == b"6"
    clock.advance(30)
    assert place.increment("hits", -2) == -2
    place["text"] = "abc"
    with pytest.raises(mayfly.Error, match="64-bit integer"):
        place.increment("text")
    place["big"] = str(2**63 - 1)
    with pytest.raises(mayfly.Error, match="64 bits"):
        place.increment("big")


def test_compare_and_set_swaps_only_what_is_expected(place):
    assert place.compare_and_set("k", None, "1", ttl=9) is True
    assert place.compare_and_set("k", None, "2") is False
    assert place.compare_and_set("k", b"0", "2") is False
    assert place.compare_and_set("k", "1", "2") is True
    assert place["k"] == b"2" and place.ttl("k") == 9.0
    assert place.compare_and_set("missing", "1", "2") is False


def test_compare_and_set_moves_the_expiry_if_it_is_told_to(place):
    place.put("k", "1", ttl=9)
    assert place.compare_and_set("k", "1", "2", ttl=100) is True
    assert 99 < place.ttl("k") <= 100
    assert place.compare_and_set("k", "2", "3") is True
    assert 99 < place.ttl("k") <= 100


def test_a_default_ttl_is_rounded_up(place):
    place.default_ttl = 1.0004
    assert place.default_ttl == 1.001


def test_a_moment_in_seconds_is_rounded_up(place):
    place["k"] = "1"
    assert place.expire_at("k", 4_000_000_000.0004)
    assert place.deadline("k").microsecond == 1000


def test_a_failing_clock_is_shown_and_does_no_harm(path):
    seen = []
    hook, threading.excepthook = threading.excepthook, seen.append
    import sys
    unraisable, sys.unraisablehook = sys.unraisablehook, seen.append
    try:
        with mayfly.KVStore(path, clock=lambda: 1 / 0) as db:
            db.put("k", "v", ttl=5)
    finally:
        threading.excepthook, sys.unraisablehook = hook, unraisable
    assert seen and seen[0].exc_type is ZeroDivisionError


def test_never_and_long_ago_can_be_said_everywhere(place):
    place.put("k", "v", 60)
    assert place.expire_at("k", float("inf")) and place.ttl("k") is None
    place.default_ttl = 5
    place.default_ttl = float("inf")
    assert place.default_ttl is None
    place.default_ttl = 1e300
    assert place.default_ttl is None
    place.put("k", "v", 10**400)
    assert place.ttl("k") is None
    for past in (-(10**400), datetime.min):
        place.put("k", "v", past)
        assert place.get("k") is None
    place.put("k", "v", 1e-300)
    assert place.ttl("k") == 0.001


def test_what_is_no_time_is_a_type_error(place):
    place.put("k", "v", 60)
    with pytest.raises(TypeError, match="timedelta"):
        place.expire_at("k", timedelta(1))
    with pytest.raises(TypeError, match="seconds"):
        place.purge_expired(seconds="x")
    assert place.purge_expired(seconds=timedelta(seconds=1)) == 0


def test_keys_that_can_change_can_be_asked_for_together(place):
    place.put_many({"a": "1", "b": "2"})
    asked = [bytearray(b"a"), memoryview(b"b"), "c"]
    assert place.get_many(asked) == {b"a": b"1", b"b": b"2"}
