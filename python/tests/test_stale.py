# SPDX-License-Identifier: Apache-2.0
"""Stale values: served after their TTL, while one caller loads the new one."""

import math
import random
import threading
from datetime import datetime, timedelta

import pytest

import mayfly


@pytest.fixture
def cache(clock):
    return mayfly.Cache(timer=clock)


class Loader:
    """Another thread that loads a key. Its loader is entered when this is made, and returns, or
    raises, when land() is called."""

    def __init__(self, cache, key, value, **life):
        self.entered, self.may_land, self.got = threading.Event(), threading.Event(), None

        def load(_):
            self.entered.set()
            self.may_land.wait()
            if isinstance(value, BaseException):
                raise value
            return value

        def ask():
            try:
                self.got = cache.get_or_load(key, load, **life)
            except BaseException as error:  # noqa: BLE001
                self.got = error

        self.thread = threading.Thread(target=ask)
        self.thread.start()
        self.entered.wait()

    def land(self):
        self.may_land.set()
        self.thread.join()
        return self.got


def fail(_):
    raise ConnectionError("down")


# --- What stale means

def test_a_value_is_fresh_then_stale_then_gone(cache, clock):
    for ttl in range(4):
        for stale in range(4):
            for age in range(9):
                cache.put("k", "v", ttl=ttl, stale=stale)
                clock.advance(age)
                is_there = age < ttl + stale
                assert cache.get("k") == ("v" if is_there else None)
                assert ("k" in cache) == is_there and len(cache) == is_there
                assert cache.is_stale("k") == (is_there and age >= ttl)
                if is_there:
                    assert cache.ttl("k") == ttl + stale - age


def test_stale_is_a_number_or_a_timedelta_and_ttl_may_be_a_datetime(cache, clock):
    cache.put("a", 1, 10, 0.5)
    cache.put("b", 1, timedelta(seconds=10), stale=timedelta(milliseconds=500))
    cache.put("c", 1, datetime.fromtimestamp(clock() + 10), stale=0.5)
    cache.get_or_load("d", str, 10, 0.5)
    clock.advance(10)
    assert all(cache.is_stale(key) and cache.ttl(key) == 0.5 for key in "abcd")
    cache.put("e", 1, ttl=1, stale=math.inf)
    clock.advance(1e9)
    assert list(cache) == ["e"] and cache.is_stale("e") and cache.ttl("e") is None


def test_a_cache_has_a_default_and_each_entry_may_have_its_own(clock):
    cache = mayfly.Cache(ttl=10, stale=5, timer=clock)
    cache["a"] = 1
    cache.put("b", 1, ttl=20)
    cache.put("c", 1, stale=7)
    cache.put("d", 1, stale=0)
    cache.put("e", 1, ttl=math.inf)
    cache.setdefault("f", 1)
    cache.get_or_load("g", str)
    assert [cache.ttl(key) for key in "abcdefg"] == [15, 25, 17, 10, None, 15, 15]


def test_expire_and_persist_take_the_stale_time_away(clock):
    cache = mayfly.Cache(ttl=10, stale=5, timer=clock)
    cache["a"] = cache["b"] = 1
    clock.advance(11)
    assert cache.expire("a", 3) and cache.persist("b")
    assert not cache.is_stale("a") and not cache.is_stale("b")
    assert cache.ttl("a") == 3 and cache.ttl("b") is None


def test_jitter_leaves_the_stale_time_as_it_is(clock):
    cache = mayfly.Cache(ttl=100, stale=50, jitter=0.2, timer=clock)
    for number in range(50):
        cache[number] = number
    assert all(130 <= cache.ttl(number) <= 170 for number in range(50))
    clock.advance(120)
    assert all(cache.is_stale(number) for number in range(50))


@pytest.mark.parametrize("life, error", [
    ({"stale": 5}, ValueError),                       # without a TTL
    ({"ttl": math.inf, "stale": 5}, ValueError),
    ({"ttl": 1, "stale": -1}, ValueError),
    ({"ttl": 1, "stale": math.nan}, ValueError),
    ({"ttl": 1, "stale": "long"}, TypeError),
    ({"ttl": 1, "stale": datetime(2030, 1, 1)}, TypeError),
])
def test_wrong_stale_times_are_refused_before_anything_is_loaded(cache, clock, life, error):
    with pytest.raises(error):
        cache.put("k", "v", **life)
    with pytest.raises(error):
        cache.get_or_load("k", lambda _: pytest.fail("loaded"), **life)
    cache.put("k", "old", ttl=0, stale=5)
    with pytest.raises(error):
        cache.get_or_load("k", lambda _: pytest.fail("loaded"), **life)
    assert cache.get_or_load("k", str.upper) == "K", "nothing is left of the load"


@pytest.mark.parametrize("options", [
    {"stale": 5}, {"ttl": 1, "stale": -1}, {"ttl": 1, "stale": 5, "sliding": True},
    {"refresh_lease": 0}, {"refresh_lease": math.nan}, {"retry_after": -1},
    {"retry_after": timedelta(seconds=-1)}, {"ttl": math.nan},
])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError):
        mayfly.Cache(**options)


def test_a_sliding_ttl_has_no_stale_time(clock):
    cache = mayfly.Cache(ttl=10, sliding=True, timer=clock)
    with pytest.raises(ValueError, match="slide"):
        cache.put("k", "v", stale=5)


# --- Loading

def test_one_caller_loads_and_the_others_get_the_old_value(cache, clock):
    cache.put("k", "old", ttl=10, stale=5)
    assert cache.get_or_load("k", fail) == "old", "it is fresh"
    clock.advance(10)
    loader = Loader(cache, "k", "new", ttl=10, stale=5)
    for _ in range(5):
        assert cache.get_or_load("k", fail) == "old" == cache["k"]
    assert loader.land() == "new" == cache.get_or_load("k", fail)
    assert cache.ttl("k") == 15 and not cache.is_stale("k")
    stats = cache.stats()
    assert (stats["loads"], stats["load_failures"]) == (1, 0)


def test_many_threads_load_a_stale_value_once(cache, clock):
    cache.put("k", "old", ttl=0, stale=5)
    loads, got, others = [], [], threading.Barrier(8)

    def load(_):
        loads.append(1)
        others.wait()  # until all others have got the old value
        return "new"

    def ask():
        value = cache.get_or_load("k", load, ttl=10)
        got.append(value)
        if value == "old":
            others.wait()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1 and sorted(got) == ["new"] + ["old"] * 7


def test_after_a_failure_the_old_value_is_served_and_the_source_left_alone(cache, clock):
    calls = []

    def load(key):
        calls.append(key)
        return fail(key)

    cache.put("k", "old", ttl=10, stale=5)
    clock.advance(10)
    for tries in (1, 2, 3):
        assert [cache.get_or_load("k", load) for _ in range(10)] == ["old"] * 10
        assert len(calls) == tries == cache.stats()["load_failures"]
        clock.advance(0.999)
        assert cache.get_or_load("k", load) == "old" and len(calls) == tries
        clock.advance(0.001)
    clock.advance(2)
    with pytest.raises(ConnectionError):
        cache.get_or_load("k", load)
    with pytest.raises(ConnectionError):
        cache.get_or_load("k", load)
    assert len(calls) == 5, "what is gone is tried every time"


def test_retry_after_is_an_option(clock):
    for retry_after, tries in ((0, 5), (timedelta(seconds=2), 3), (math.inf, 1)):
        cache = mayfly.Cache(timer=clock, retry_after=retry_after)
        cache.put("k", "old", ttl=0, stale=100)
        for _ in range(5):
            assert cache.get_or_load("k", fail) == "old"
            clock.advance(1)
        assert cache.stats()["load_failures"] == tries


def test_an_interrupt_is_no_failure_of_the_source(cache, clock):
    def interrupt(_):
        raise KeyboardInterrupt

    cache.put("k", "old", ttl=0, stale=5)
    with pytest.raises(KeyboardInterrupt):
        cache.get_or_load("k", interrupt)
    assert cache.get_or_load("k", str.upper) == "K"


def test_those_who_wait_for_a_thread_that_is_interrupted_load_themselves(cache):
    loader = Loader(cache, "k", SystemExit())
    got = []
    thread = threading.Thread(target=lambda: got.append(cache.get_or_load("k", str.upper)))
    thread.start()
    assert isinstance(loader.land(), SystemExit)
    thread.join()
    assert got == ["K"]


@pytest.mark.parametrize("loader", [str.upper, fail])
def test_nothing_is_left_of_a_load(cache, loader):
    cache.put("k", "old", ttl=0, stale=5)
    cache.get_or_load("k", loader)
    assert not cache._is_loading(1) and not cache._loads


@pytest.mark.parametrize("change, left", [
    (lambda cache: cache.put("k", "newer"), "newer"),
    (lambda cache: cache.pop("k"), None),
    (lambda cache: cache.__delitem__("k"), None),
    (lambda cache: cache.clear(), None),
    (lambda cache: cache.expire("k", 60), "old"),
    (lambda cache: cache.persist("k"), "old"),
    (lambda cache: cache.expire("other", 60), "new"),
    (lambda cache: cache.put("other", 1), "new"),
])
def test_what_is_done_meanwhile_is_kept(cache, change, left):
    cache.put("k", "old", ttl=0, stale=5)
    loader = Loader(cache, "k", "new", ttl=60)
    change(cache)
    assert loader.land() == "new" and cache.get("k") == left


def test_a_failure_says_nothing_of_what_was_put_meanwhile(cache):
    cache.put("k", "old", ttl=0, stale=5)
    loader = Loader(cache, "k", ConnectionError())
    cache.put("k", "newer", ttl=0, stale=5)
    assert loader.land() == "old" and cache.get_or_load("k", str.upper) == "K"


def test_a_loader_that_asks_for_its_own_stale_key_gets_the_old_value(cache):
    cache.put("k", "old", ttl=0, stale=5)
    assert cache.get_or_load("k", lambda key: cache.get_or_load(key, fail) + "er") == "older"


# --- The lease

@pytest.mark.parametrize("was_there", [True, False])
def test_when_the_lease_ends_the_next_caller_loads(clock, was_there):
    for lease, options in ((10, {}), (3, {"refresh_lease": timedelta(seconds=3)})):
        cache = mayfly.Cache(timer=clock, **options)
        if was_there:
            cache.put("k", "old", ttl=0, stale=100)
        loader = Loader(cache, "k", "late", ttl=60)
        clock.advance(lease - 0.001)
        if was_there:
            assert cache.get_or_load("k", fail) == "old"
        clock.advance(0.001)
        assert cache.get_or_load("k", lambda _: "next", ttl=60) == "next"
        assert loader.land() == "late" and cache["k"] == "next"


def test_what_comes_late_is_put_if_nobody_else_has_loaded(cache, clock):
    loader = Loader(cache, "k", "late")
    clock.advance(1000)
    assert loader.land() == "late" == cache["k"]


def test_one_who_waits_takes_over_when_the_lease_ends(cache, clock):
    loader = Loader(cache, "k", "late")
    clock.advance(9.99)
    got, waits = [], threading.Event()

    def wait():
        waits.set()
        got.append(cache.get_or_load("k", lambda _: "next"))

    thread = threading.Thread(target=wait)
    thread.start()
    waits.wait()
    assert not got
    clock.advance(0.01)
    thread.join()
    assert got == ["next"] and loader.land() == "late" and cache["k"] == "next"


def test_those_who_wait_get_what_the_one_brings_who_takes_over(cache, clock):
    """However the threads are scheduled: any of them may be the one."""
    first, got = Loader(cache, "k", "late"), []

    def ask():
        got.append(cache.get_or_load("k", lambda _: "next"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    cache.pop("k", None)  # from now on what the first one brings is not for those who ask
    ask()
    for thread in threads:
        thread.join()
    assert got == ["next"] * 5 and first.land() == "late" and cache["k"] == "next"


# --- Against a model

class Model:
    """What a cache with loads must do, as plainly as it can be said."""

    LEASE, RETRY, KEYS = 9, 4, "abc"

    def __init__(self, seed, clock):
        self.random, self.clock = random.Random(seed), clock
        self.cache = mayfly.Cache(timer=clock, refresh_lease=self.LEASE, retry_after=self.RETRY)
        self.entries, self.flights, self.values = {}, [], 0

    def alive(self, key):
        entry = self.entries.get(key)
        return entry if entry and self.clock() < entry["end"] else None

    def entry(self, value, ttl, stale):
        now = self.clock()
        return {"value": value, "end": now + ttl + stale, "rest": 0,
                "stale": now + ttl if stale else math.inf}

    def supersede(self, keys):
        for flight in self.flights:
            flight["is_over"] |= flight["key"] in keys

    def step(self, depth=3):
        key, life = self.random.choice(self.KEYS), {
            "ttl": self.random.randrange(12), "stale": self.random.randrange(16)}
        action = self.random.randrange(10)
        if action == 0:
            self.supersede(key)
            self.values += 1
            self.cache.put(key, self.values, **life)
            self.entries[key] = self.entry(self.values, **life)
        elif action == 1:
            self.supersede(key)
            assert (self.cache.pop(key, None) is not None) == bool(self.alive(key))
            self.entries.pop(key, None)
        elif action == 2 and self.random.random() < 0.2:
            self.supersede(self.KEYS)
            self.cache.clear()
            self.entries.clear()
        elif action < 5:
            self.clock.advance(self.random.randrange(8))
        elif depth:
            self.get_or_load(key, life, depth)
        for key in self.KEYS:
            entry = self.alive(key)
            assert self.cache.get(key) == (entry and entry["value"])
            assert self.cache.is_stale(key) == bool(entry and self.clock() >= entry["stale"])

    def get_or_load(self, key, life, depth):
        entry, now, landed = self.alive(key), self.clock(), []
        has_to = not entry or (now >= entry["stale"] and now >= entry["rest"])
        if has_to:
            for flight in self.flights:
                flight["is_over"] |= flight["key"] == key and now >= flight["lease"]
        is_open = any(f["key"] == key and not f["is_over"] for f in self.flights)

        def load(_):
            flight = {"key": key, "lease": self.clock() + self.LEASE, "is_over": False}
            self.flights.append(flight)
            landed.append(flight)
            for _ in range(self.random.randrange(5)):
                self.step(depth - 1)
            self.flights.remove(flight)
            if self.random.random() < 0.3:
                raise ConnectionError
            self.values += 1
            return self.values

        old = entry and entry["value"]
        try:
            got = self.cache.get_or_load(key, load, **life)
        except ConnectionError:
            got = None
        except RuntimeError:  # the loader of this very key asks
            assert is_open and not entry and not landed
            return
        assert bool(landed) == (has_to and not is_open)
        if not landed:
            assert got == old
            return
        entry = self.alive(key)
        if got == old:  # also if both are None: it failed
            if entry and not landed[0]["is_over"] and self.clock() >= entry["stale"]:
                entry["rest"] = self.clock() + self.RETRY
        elif not landed[0]["is_over"]:
            self.entries[key] = self.entry(got, **life)


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_a_model_whatever_loaders_do(clock, seed):
    model = Model(seed, clock)
    for _ in range(400):
        model.step()
    assert model.cache.stats()["loads"] > 50 and model.cache.stats()["load_failures"] > 10
