# SPDX-License-Identifier: Apache-2.0
"""Cache: expiry, capacity, listeners, and Python objects that misbehave."""

import gc
import sys
import threading
import weakref
from datetime import timedelta

import pytest

import mayfly


@pytest.fixture
def cache(clock):
    return mayfly.Cache(timer=clock)


def test_keys_and_values_are_any_objects(cache):
    value = object()
    for key in (1, "a", b"a", (1, ("b", None)), 1.5, frozenset([1]), None, type, value):
        cache[key] = value
        assert cache[key] is value and key in cache
    assert len(cache) == 9
    with pytest.raises(TypeError, match="unhashable"):
        cache[[1]] = 2


def test_equal_keys_are_one_key(cache):
    cache[1] = "int"
    cache[1.0] = "float"
    cache[True] = "bool"
    assert dict(cache.items()) == {1: "bool"} and len(cache) == 1


def test_a_missing_key_is_a_key_error(cache):
    assert cache.get("k") is None and cache.get("k", 5) == 5 and cache.get("k", default=6) == 6
    for action in (lambda: cache["k"], lambda: cache.__delitem__("k"), lambda: cache.pop("k"),
                   lambda: cache.ttl("k"), cache.popitem):
        with pytest.raises(KeyError):
            action()
    assert cache.pop("k", None) is None and cache.expire("k", 5) is False


def test_entries_expire_exactly(cache, clock):
    cache.put("k", "v", ttl=1.5)
    cache.set("l", "w", timedelta(seconds=1))
    assert cache.ttl("k") == 1.5 and len(cache) == 2
    clock.advance(1)
    assert list(cache) == ["k"] and "l" not in cache and len(cache) == 1
    clock.advance(0.5)
    assert cache.get("k") is None and len(cache) == 0


def test_a_default_ttl_is_for_puts_without_one(clock):
    cache = mayfly.Cache(ttl=10, timer=clock)
    cache["a"] = 1
    cache.put("b", 2, float("inf"))
    cache.put("c", 3, 5)
    assert [cache.ttl(key) for key in "abc"] == [10.0, None, 5.0]
    assert cache.persist("a") is True and cache.ttl("a") is None


def test_a_sliding_ttl_counts_from_the_last_read(clock):
    cache = mayfly.Cache(ttl=10, sliding=True, timer=clock)
    cache["k"] = "v"
    for _ in range(5):
        clock.advance(9)
        assert cache.get("k") == "v"
    clock.advance(10)
    assert "k" not in cache


def test_jitter_spreads_ttls(clock):
    cache = mayfly.Cache(ttl=100, jitter=0.2, timer=clock)
    for number in range(50):
        cache[number] = number
    ttls = [cache.ttl(number) for number in range(50)]
    assert all(80 <= ttl <= 120 for ttl in ttls) and len(set(ttls)) > 10


def test_a_full_cache_evicts_what_has_expired_first(clock):
    cache = mayfly.Cache(3, timer=clock)
    cache.put("a", 1)
    cache.put("b", 2, ttl=1)
    cache.put("c", 3)
    clock.advance(1)
    cache["d"] = 4
    assert sorted(cache) == ["a", "c", "d"] and cache.stats()["evictions"] == 0
    cache.get("a")
    cache["e"] = 5
    assert "a" in cache and len(cache) == 3 and cache.stats()["evictions"] == 1


def test_a_listener_is_told_of_everything_that_goes(clock):
    told = []
    cache = mayfly.Cache(2, timer=clock, listener=lambda *args: told.append(args))
    cache["a"] = 1
    cache["a"] = 2
    del cache["a"]
    cache.put("b", 3, ttl=1)
    clock.advance(1)
    cache.purge()
    cache.update(c=4, d=5, e=6)
    cache.clear()
    assert told[:3] == [("a", 1, "replaced"), ("a", 2, "erased"), ("b", 3, "expired")]
    assert told[3][2] == "evicted" and {cause for _, _, cause in told[4:]} == {"cleared"}


def test_a_listener_may_use_the_cache_and_may_fail(clock, monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)

    def listener(key, value, cause):
        if value < 5:
            cache[key] = value + 1
        raise ValueError(key)

    cache = mayfly.Cache(timer=clock, listener=listener)
    cache["k"] = 0
    cache["k"] = 1
    assert cache["k"] == 5 or cache["k"] == 1
    assert cache.stats()["listener_failures"] == len(shown) > 0


def test_what_wrong_arguments_say():
    for wrong in ({"capacity": 0}, {"ttl": 0}, {"ttl": timedelta(0)}, {"jitter": 1}):
        with pytest.raises(ValueError):
            mayfly.Cache(**wrong)
    with pytest.raises(TypeError):
        mayfly.Cache().put("k", "v", ttl="soon")


def test_a_failing_timer_is_an_error_of_the_call():
    with pytest.raises(ZeroDivisionError):
        mayfly.Cache(timer=lambda: 1 / 0).get("k")


def test_stats_count(cache, clock):
    cache.put("a", 1, ttl=1)
    cache.get("a")
    cache.get("b")
    clock.advance(1)
    cache.get("a")
    stats = cache.stats()
    assert (stats["hits"], stats["misses"], stats["expirations"]) == (1, 2, 1)


def test_mapping_methods(cache):
    cache.update({"a": 1}, b=2)
    assert cache.setdefault("a", 9) == 1 and cache.setdefault("c", 3, ttl=5) == 3
    assert cache.ttl("c") == 5.0
    assert sorted(cache.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert sorted(cache.values()) == [1, 2, 3] and 2 in cache.values() and "a" in cache.keys()
    key, value = cache.popitem()
    assert key not in cache and value in (1, 2, 3)


def test_walking_is_safe_while_it_changes(cache):
    cache.update({number: number for number in range(1000)})
    for key in cache:
        del cache[key]
    assert len(cache) == 0


# --- Objects that misbehave

class Colliding:
    """All have the same hash, and comparing them runs a function."""

    def __init__(self, name, when_compared=lambda: None):
        self.name = name
        self.when_compared = when_compared

    def __hash__(self):
        return 42

    def __eq__(self, other):
        self.when_compared()
        return isinstance(other, Colliding) and self.name == other.name


def test_keys_with_the_same_hash_are_told_apart(cache):
    for name in "abcdef":
        cache[Colliding(name)] = name
    assert [cache[Colliding(name)] for name in "abcdef"] == list("abcdef")
    assert cache.get(Colliding("g")) is None and len(cache) == 6
    assert cache.stats()["hits"] == 6 and cache.stats()["misses"] == 1
    assert cache.pop(Colliding("c")) == "c" and Colliding("c") not in cache


def test_comparing_keys_may_change_the_cache(cache):
    def change():
        cache.clear()
        for number in range(100, 200):
            cache[number] = number

    cache[Colliding("a", change)] = 1
    assert cache.get(Colliding("b")) is None
    assert len(cache) == 100
    cache[Colliding("a", change)] = 1
    cache[Colliding("b")] = 2
    assert cache[Colliding("b")] == 2 and len(cache) == 101


def test_comparing_keys_that_always_change_the_cache_is_an_error(cache):
    def change():
        cache[Colliding(object())] = 1

    cache[Colliding("a", change)] = 1
    with pytest.raises((RuntimeError, RecursionError)):
        cache.get(Colliding("b"))


def test_comparing_keys_may_fail(cache):
    def fail():
        raise ZeroDivisionError

    cache[Colliding("a", fail)] = 1
    with pytest.raises(ZeroDivisionError):
        cache.get(Colliding("b"))
    assert len(cache) == 1


def test_a_value_may_use_the_cache_when_it_dies(cache):
    class Dying:
        def __del__(self):
            cache["last words"] = len(cache)
            cache.pop("other", None)

    cache["k"] = Dying()
    cache["other"] = 1
    cache["k"] = 2
    assert cache["last words"] == 2 and "other" not in cache
    cache["k"] = Dying()
    cache.clear()
    assert dict(cache.items()) == {"last words": 0}


def test_a_cache_in_a_cycle_is_collected():
    class Owner:
        pass

    owner = Owner()
    owner.cache = mayfly.Cache(listener=lambda *args: owner)
    owner.cache["me"] = owner
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_references_are_let_go():
    class Thing:
        pass

    cache = mayfly.Cache(capacity=5)
    things = [Thing() for _ in range(50)]
    references = [weakref.ref(thing) for thing in things]
    for number, thing in enumerate(things):
        cache.put(number, thing, ttl=100)
        cache.get(number)
    del things, thing
    assert sum(reference() is not None for reference in references) == 5
    del cache
    assert not any(reference() for reference in references)


# --- Threads and loading

def test_threads_share_a_cache():
    cache = mayfly.Cache(capacity=100, ttl=1000)
    failures = []

    def work(number):
        try:
            for i in range(2000):
                cache[(i * number) % 150] = i
                cache.get(i % 150)
                if i % 100 == 0:
                    list(cache.items()), len(cache), cache.purge()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(cache) <= 100


def test_get_or_load_loads_once(cache, clock):
    calls = []

    def load(key):
        calls.append(key)
        return key.upper()

    assert cache.get_or_load("a", load, ttl=5) == "A" == cache.get_or_load("a", load)
    clock.advance(5)
    assert cache.get_or_load("a", load) == "A" and calls == ["a", "a"]
    with pytest.raises(ZeroDivisionError):
        cache.get_or_load("b", lambda key: 1 / 0)
    assert cache.get_or_load("b", lambda key: None) is None and "b" in cache


def test_threads_that_load_the_same_key_share_one_load():
    cache, calls, loading, go_on = mayfly.Cache(), [], threading.Event(), threading.Event()
    results = []

    def load(key):
        calls.append(key)
        loading.set()
        go_on.wait()
        return 42

    def ask():
        results.append(cache.get_or_load("k", load))

    first = threading.Thread(target=ask)
    first.start()
    loading.wait()
    others = [threading.Thread(target=ask) for _ in range(5)]
    for thread in others:
        thread.start()
    go_on.set()
    for thread in [first, *others]:
        thread.join()
    assert results == [42] * 6 and calls == ["k"]


@pytest.mark.parametrize("change, left", [
    (lambda cache: cache.put("k", "newer"), "newer"),
    (lambda cache: cache.setdefault("k", "newer"), "newer"),
    (lambda cache: cache.pop("k", None), None),
    (lambda cache: cache.clear(), None),
    (lambda cache: cache.put("other", 1), "loaded"),
    (lambda cache: cache.get_or_load("other", str), "loaded"),
])
def test_a_loaded_value_never_replaces_what_was_done_meanwhile(cache, change, left):
    def load(_):
        change(cache)
        return "loaded"

    assert cache.get_or_load("k", load) == "loaded"
    assert cache.get("k") == left


def test_a_key_that_is_deleted_while_it_loads_is_loaded_anew_for_who_asks_then(cache):
    def load(_):
        cache.put("k", "changed")
        del cache["k"]
        thread = threading.Thread(target=lambda: found.append(cache.get_or_load("k", str.upper)))
        thread.start()
        thread.join()
        return "old"

    found = []
    assert cache.get_or_load("k", load) == "old" and found == ["K"] and cache["k"] == "K"


def test_what_another_thread_loaded_since_the_first_look_is_not_loaded_again():
    class Late(mayfly.Cache):
        def get(self, key, default=None):
            found = super().get(key, default)
            if not loads:
                loads.append(1)
                thread = threading.Thread(target=self.get_or_load, args=(key, load))
                thread.start()
                thread.join()
            return found

    loads = []

    def load(_):
        loads.append(2)
        return "loaded"

    assert Late().get_or_load("k", load) == "loaded" and loads == [1, 2]


@pytest.mark.parametrize("steps", [1, 2])
def test_setdefault_does_not_replace_what_was_put_meanwhile(clock, steps):
    """Every step asks the timer: so a put can be let in before each of them."""
    left = [steps]

    def timer():
        left[0] -= 1
        if left[0] == 0:
            cache.put("k", "other")
        return clock()

    cache = mayfly.Cache(timer=timer)
    said = cache.setdefault("k", "default")
    was_put, left[0] = left[0] <= 0, -1
    assert cache["k"] == ("other" if was_put else "default") and said in ("default", cache["k"])


def test_a_loader_that_asks_for_its_own_key_is_told_so(cache):
    with pytest.raises(RuntimeError, match="the same key"):
        cache.get_or_load("a", lambda key: cache.get_or_load("a", lambda key: 1))
    assert cache.get_or_load("a", lambda key: 2) == 2


def test_expire_needs_a_ttl(cache):
    cache.put("a", 1)
    with pytest.raises(TypeError, match="persist"):
        cache.expire("a", None)
