# SPDX-License-Identifier: Apache-2.0
"""ttl_cache: remembers what a function returned, for a while."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any, Callable, NamedTuple, Optional

from ._cache import Cache

_ABSENT = object()


class CacheInfo(NamedTuple):
    """What cache_info() returns, as that of functools.lru_cache, and how many had expired."""

    hits: int
    misses: int
    maxsize: Optional[int]
    currsize: int
    expired: int


def ttl_cache(
    ttl=60,
    maxsize: Optional[int] = 128,
    typed: bool = False,
    *,
    timer: Optional[Callable[[], float]] = None,
) -> Callable:
    """Remembers what a function returned for its arguments, for `ttl` seconds or a timedelta.

    As functools.lru_cache, and for `async def` too: there, calls that come while another with the
    same arguments is under way wait for that one. What is raised is not remembered.

    >>> @mayfly.ttl_cache(ttl=30)
    ... def square(number):
    ...     return number * number
    >>> square(4), square(4), square.cache_info().hits
    (16, 16, 1)

    The function has `cache_info()`, `cache_clear()`, `cache_parameters()`, `cache` (the Cache) and
    `__wrapped__`. `maxsize` None is no limit, 0 remembers nothing; the arguments must be hashable;
    with `typed`, 3 and 3.0 are different.
    """
    if callable(ttl):  # @ttl_cache, without brackets
        return ttl_cache()(ttl)

    def decorate(function):
        cache = Cache(1 if maxsize == 0 else maxsize, ttl, timer=timer)
        make = _async_wrapper if inspect.iscoroutinefunction(function) else _sync_wrapper
        put = _forget if maxsize == 0 else cache.put
        wrapper = functools.update_wrapper(make(function, cache, put, typed), function)
        counted = _Counted(cache, maxsize)
        wrapper.cache = cache
        wrapper.cache_clear = counted.clear
        wrapper.cache_info = counted.info
        wrapper.cache_parameters = lambda: {"ttl": ttl, "maxsize": maxsize, "typed": typed}
        return wrapper

    return decorate


def _forget(key, value) -> None:
    """What takes the place of put() where nothing is to be remembered."""


class _Counted:
    """cache_info() and cache_clear(), which also begins to count anew."""

    def __init__(self, cache: Cache, maxsize: Optional[int]):
        self._cache, self._maxsize = cache, maxsize
        self._before = (0, 0, 0)

    def _counts(self) -> tuple:
        stats = self._cache.stats()
        return stats["hits"], stats["misses"], stats["expirations"]

    def clear(self) -> None:
        self._cache.clear()
        self._before = self._counts()

    def info(self) -> CacheInfo:
        hits, misses, expired = (now - then for now, then in zip(self._counts(), self._before))
        return CacheInfo(hits, misses, self._maxsize, len(self._cache), expired)


def _sync_wrapper(function, cache, put, typed):
    get, make_key, absent = cache.get, _make_key, _ABSENT

    def wrapper(*args, **keywords):
        key = make_key(args, keywords, typed)
        value = get(key, absent)
        if value is absent:
            value = function(*args, **keywords)
            put(key, value)
        return value

    return wrapper


def _async_wrapper(function, cache, put, typed):
    flights: dict[Any, asyncio.Future] = {}

    async def wrapper(*args, **keywords):
        key = _make_key(args, keywords, typed)
        value = cache.get(key, _ABSENT)
        if value is not _ABSENT:
            return value
        loop = asyncio.get_running_loop()
        flight = flights.get(key)
        if flight is not None and flight.get_loop() is loop and not flight.cancelled():
            return await asyncio.shield(flight)
        # A task of its own: whoever asked first may be cancelled, the others still get the value.
        flight = loop.create_task(_load(function, args, keywords, put, key))
        flights[key] = flight
        flight.add_done_callback(lambda done: _land(flights, key, done))
        return await asyncio.shield(flight)

    return wrapper


async def _load(function, args, keywords, put, key):
    value = await function(*args, **keywords)
    put(key, value)
    return value


def _land(flights, key, flight) -> None:
    if flights.get(key) is flight:
        del flights[key]
    if not flight.cancelled():
        flight.exception()  # has been seen: nobody may be left to take it


_KEYWORDS = ("keywords",)  # stands before the keywords in a key; no argument is this object


def _make_key(args, keywords, typed):
    if not keywords and not typed:
        if len(args) == 1 and type(args[0]) in (str, int):
            return args[0]
        return args
    key = args
    if keywords:
        key += (_KEYWORDS, *keywords.items())
    if typed:
        key += tuple(type(value) for value in args)
        key += tuple(type(value) for value in keywords.values())
    return key
