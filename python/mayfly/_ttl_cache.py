# SPDX-License-Identifier: Apache-2.0
"""ttl_cache: a decorator that memoizes calls of a function for a limited time."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any, Callable, NamedTuple, Optional

from ._cache import Cache

_ABSENT = object()


class CacheInfo(NamedTuple):
    """The result of cache_info(): as in functools.lru_cache, and how many entries expired."""

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
    """Memoizes the calls of a function for `ttl` seconds or a timedelta.

    As functools.lru_cache, and for `async def` too: there, a call waits for a running call with the
    same arguments. Exceptions are not memoized.

    >>> @mayfly.ttl_cache(ttl=30)
    ... def square(number):
    ...     return number * number
    >>> square(4), square(4), square.cache_info().hits
    (16, 16, 1)

    The function has `cache_info()`, `cache_clear()`, `cache_parameters()`, `cache` (the Cache) and
    `__wrapped__`. `maxsize` None means no limit, 0 memoizes nothing. The arguments must be
    hashable. With `typed`, 3 and 3.0 are different.
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
    """Replaces put() where nothing is memoized."""


class _Counted:
    """cache_info() and cache_clear(), which also resets the counts."""

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
    loads: dict[Any, asyncio.Future] = {}

    async def wrapper(*args, **keywords):
        key = _make_key(args, keywords, typed)
        value = cache.get(key, _ABSENT)
        if value is not _ABSENT:
            return value
        loop = asyncio.get_running_loop()
        load = loads.get(key)
        if load is not None and load.get_loop() is loop and not load.cancelled():
            return await asyncio.shield(load)
        # A task of its own: if the first caller is cancelled, the others still get the value.
        load = loop.create_task(_load(function, args, keywords, put, key))
        loads[key] = load
        load.add_done_callback(lambda done: _finish(loads, key, done))
        return await asyncio.shield(load)

    return wrapper


async def _load(function, args, keywords, put, key):
    value = await function(*args, **keywords)
    put(key, value)
    return value


def _finish(loads, key, load) -> None:
    if loads.get(key) is load:
        del loads[key]
    if not load.cancelled():
        load.exception()  # marks it as retrieved: there may be no caller left


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
