# SPDX-License-Identifier: Apache-2.0
"""ttl_cache: a decorator that memoizes calls of a function for a limited time."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from typing import Any, Callable, NamedTuple, Optional

from ._cache import Cache
from ._moments import Duration

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
    stale: Optional[Duration] = None,
    refresh_lease: Duration = 10,
    retry_after: Duration = 1,
) -> Callable:
    """Memoizes the calls of a function for `ttl` seconds or a timedelta.

    As functools.lru_cache, and for `async def` too: there, a call waits for a running call with the
    same arguments. Exceptions are not memoized.

    >>> @mayfly.ttl_cache(ttl=30)
    ... def square(number):
    ...     return number * number
    >>> square(4), square(4), square.cache_info().hits
    (16, 16, 1)

    With `stale`, a result stays for so long after its TTL. Then one caller calls the function anew,
    and the others, or all if the function raises, get the old result at once. See
    Cache.get_or_load(), also for `refresh_lease` and `retry_after`. Threads wait for a running call
    with the same arguments, too.

    The function has `cache_info()`, `cache_clear()`, `cache_parameters()`, `cache` (the Cache) and
    `__wrapped__`. `maxsize` None means no limit, 0 memoizes nothing. The arguments must be
    hashable. With `typed`, 3 and 3.0 are different.
    """
    if callable(ttl):  # @ttl_cache, without brackets
        return ttl_cache()(ttl)

    def decorate(function):
        # Without a stale time, a running call is waited for as long as it takes.
        lease = math.inf if stale is None else refresh_lease
        cache = Cache(1 if maxsize == 0 else maxsize, ttl, timer=timer, stale=stale,
                      refresh_lease=lease, retry_after=retry_after)
        if inspect.iscoroutinefunction(function):
            wrapper = _async_wrapper(function, cache, maxsize != 0, typed)
        elif stale is None or maxsize == 0:
            wrapper = _sync_wrapper(function, cache, maxsize != 0, typed)
        else:
            wrapper = _loading_wrapper(function, cache, typed)
        functools.update_wrapper(wrapper, function)
        counted = _Counted(cache, maxsize)
        wrapper.cache = cache
        wrapper.cache_clear = counted.clear
        wrapper.cache_info = counted.info
        wrapper.cache_parameters = lambda: {
            "ttl": ttl, "maxsize": maxsize, "typed": typed, "stale": stale}
        return wrapper

    return decorate


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


def _sync_wrapper(function, cache, keeps, typed):
    get, put, make_key, absent = cache.get, cache.put, _make_key, _ABSENT

    def wrapper(*args, **keywords):
        key = make_key(args, keywords, typed)
        value = get(key, absent)
        if value is absent:
            value = function(*args, **keywords)
            if keeps:
                put(key, value)
        return value

    return wrapper


def _loading_wrapper(function, cache, typed):
    """For results that become stale."""

    def wrapper(*args, **keywords):
        key = _make_key(args, keywords, typed)
        return cache.get_or_load(key, lambda _: function(*args, **keywords))

    return wrapper


def _async_wrapper(function, cache, keeps, typed):
    loads: dict[Any, _Load] = {}

    async def wrapper(*args, **keywords):
        key = _make_key(args, keywords, typed)
        old = cache.get(key, _ABSENT)
        loop = asyncio.get_running_loop()
        while True:
            if old is not _ABSENT and not cache._wants_load(key):
                return old
            load = loads.get(key)
            if load is None or load.task.cancelled() or not cache._is_loading(load.number):
                break
            if old is not _ABSENT:
                return old
            if load.task.get_loop() is not loop:
                break
            left = cache._lease_left(load.number)
            if (await asyncio.wait([load.task], timeout=left))[0]:
                return load.task.result()
            old = cache._peek(key, _ABSENT)
        # A task of its own: if the first caller is cancelled, the others still get the value.
        number = cache._begin_load(key, None, None)
        task = loop.create_task(_load(function, args, keywords, cache, number, key, keeps))
        load = loads[key] = _Load(number, task)
        task.add_done_callback(lambda _: _finish(loads, cache, key, load))
        try:
            return await asyncio.shield(task)
        except Exception:
            if old is _ABSENT:
                raise
            return old

    return wrapper


class _Load(NamedTuple):
    """A call that is running."""

    number: int  # as the cache knows it
    task: asyncio.Task


async def _load(function, args, keywords, cache, number, key, keeps):
    try:
        value = await function(*args, **keywords)
    except Exception:
        cache._load_failed(number, key)
        raise
    if keeps:
        cache._put_loaded(number, key, value, None, None)
    return value


def _finish(loads, cache, key, load) -> None:
    cache._end_load(load.number)
    if loads.get(key) is load:
        del loads[key]
    if not load.task.cancelled():
        load.task.exception()  # marks it as retrieved: there may be no caller left


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
