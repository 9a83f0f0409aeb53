# SPDX-License-Identifier: Apache-2.0
"""Cache: a dict in memory whose entries expire."""

from __future__ import annotations

import threading
from collections.abc import ItemsView, KeysView, MutableMapping, ValuesView
from datetime import timedelta
from typing import Any, Callable, Hashable, Iterator, Optional

from . import _mayfly
from ._moments import TTL, Duration

_REQUIRED = object()
_ABSENT = object()


_LONGEST_WAIT = 3600.0  # seconds; then the lease is looked at again


def _seconds(time) -> float:
    return time.total_seconds() if isinstance(time, timedelta) else time


class _Keys(KeysView):
    def __iter__(self):
        return iter(self._mapping)


class _Values(ValuesView):
    def __iter__(self):
        return (value for _, value in self._mapping._entries())

    def __contains__(self, value):
        return any(value is found or value == found for found in self)


class _Items(ItemsView):
    def __iter__(self):
        return iter(self._mapping._entries())


class _Load:
    """A load in progress: one thread loads, others wait for it."""

    def __init__(self, number: int):
        self.number = number  # as the C++ class knows it
        self.done = threading.Event()
        self.is_replaced = False  # those who wait have to look again
        self.thread = threading.get_ident()
        self.value: Any = None
        self.error: Optional[BaseException] = None


class Cache(_mayfly.Cache):
    """A mapping in memory, in which any entry may have an expiry, and which may be bounded.

    >>> cache = mayfly.Cache(capacity=1000, ttl=60)
    >>> cache["a"] = 1                       # for a minute
    >>> cache.put("b", 2, ttl=5)             # for five seconds
    >>> cache["a"], cache.get("c"), len(cache)
    (1, None, 2)

    `capacity`: the most entries; None means no limit. When the cache is full, expired entries are
    removed first, then entries that were not read for long. `ttl`: for entries that are put without
    one; None means no expiry. `sliding`: a TTL counts from the last read. `jitter`: makes each TTL
    longer or shorter by up to this fraction (0.1 is 10 %), so that entries that are put together do
    not expire together. `listener(key, value, cause)` is called after each removal; `cause` is
    "expired", "replaced", "erased", "evicted" or "cleared". `timer`: for tests, a callable that
    returns seconds.

    `stale`: how long entries stay after their TTL. get() returns them then, too; get_or_load() lets
    one caller load the new value, who has `refresh_lease` seconds before the next caller loads. If
    the loader fails, no caller loads that key for `retry_after` seconds. Times are numbers of
    seconds or timedeltas.

    Threads may share it. len() is exact: expired entries are not counted, whether or not they have
    been removed. A put removes some expired entries; purge() removes all of them.
    """

    def __init__(
        self,
        capacity: Optional[int] = None,
        ttl=None,
        *,
        sliding: bool = False,
        jitter: float = 0.0,
        listener: Optional[Callable[[Any, Any, str], Any]] = None,
        timer: Optional[Callable[[], float]] = None,
        stale: Optional[Duration] = None,
        refresh_lease: Duration = 10,
        retry_after: Duration = 1,
    ):
        if capacity is not None and capacity <= 0:
            raise ValueError(f"capacity must be greater than 0, or None, not {capacity!r}")
        if ttl is not None and not _seconds(ttl) > 0:
            raise ValueError(f"the default TTL must be above 0 seconds, or None, not {ttl!r}")
        if stale is not None and (ttl is None or sliding):
            raise ValueError("stale needs a default TTL that does not slide")
        if not _seconds(refresh_lease) > 0:
            raise ValueError(f"refresh_lease must be above 0 seconds, not {refresh_lease!r}")
        if not _seconds(retry_after) >= 0:
            raise ValueError(f"retry_after must be at least 0 seconds, not {retry_after!r}")
        if listener is not None and not callable(listener):
            raise TypeError(f"listener must be callable, or None, not {listener!r}")
        if not 0 <= jitter < 1:
            raise ValueError(f"jitter must be at least 0 and less than 1, not {jitter!r}")
        super().__init__(
            capacity or 0, ttl, sliding, jitter, timer, listener, stale, refresh_lease, retry_after
        )
        self._capacity = capacity
        self._loads: dict = {}
        self._loads_lock = threading.RLock()  # comparing keys may run code that comes back here

    @property
    def capacity(self) -> Optional[int]:
        """The most entries that it holds; None means no limit."""
        return self._capacity

    def ttl(self, key: Hashable) -> Optional[float]:
        """The seconds that `key` has left; None if it never expires; KeyError if it is absent."""
        left_ms = self._ttl_ms(key)
        if left_ms == -2:
            raise KeyError(key)
        return None if left_ms == -1 else left_ms / 1000

    def purge(self, limit: Optional[int] = None) -> int:
        """Removes expired entries, at most `limit`, and returns how many."""
        return self._purge(-1 if limit is None else max(0, limit))

    def get_or_load(
        self,
        key: Hashable,
        loader: Callable[[Any], Any],
        ttl: Optional[TTL] = None,
        stale: Optional[Duration] = None,
    ):
        """The value of `key`; if there is none, what `loader(key)` returns, which is put.

        Threads that ask for the same key meanwhile wait for it. If `loader` raises, all of them get
        the exception, and nothing is put. If `key` is put, removed or given another expiry while
        `loader` runs, the loaded value is returned but not put: it may be older than that change.

        A value whose TTL is over is stale for `stale` seconds more. Then one caller loads the new
        value, and the others get the old one at once. If `loader` raises, its caller gets the old
        one, too, and no caller loads it for `retry_after` seconds (stats() counts load_failures).

        A caller that takes longer to load than `refresh_lease` is not waited for any more: the next
        caller loads, and what the first one brings is returned but not put.

        >>> cache = mayfly.Cache(ttl=60)
        >>> cache.get_or_load("answer", lambda key: 42)
        42
        >>> cache.get_or_load("page", str.upper, ttl=60, stale=30)
        'PAGE'
        """
        value = self.get(key, _ABSENT)
        if value is not _ABSENT and not self._wants_load(key):
            return value
        while True:
            with self._loads_lock:
                # Another thread may have loaded it since the first look.
                value = self._peek(key, _ABSENT)
                if value is not _ABSENT and not self._wants_load(key):
                    return value
                load = self._loads.get(key)
                is_mine = load is None or not self._is_loading(load.number)
                if is_mine:
                    load = self._begin(key, ttl, stale, load)
            if is_mine:
                return self._run_load(load, key, loader, ttl, stale, value)
            if value is not _ABSENT:
                return value
            if load.thread == threading.get_ident():
                raise RuntimeError(f"the loader of {key!r} calls get_or_load() for the same key")
            if not load.done.wait(self._lease_left(load.number)) or load.is_replaced:
                continue
            if load.error is not None:
                raise load.error
            return load.value

    def _begin(self, key, ttl, stale, earlier: Optional[_Load]) -> _Load:
        """Begins a load. One that was begun earlier is of no use to those who wait for it."""
        load = self._loads[key] = _Load(self._begin_load(key, ttl, stale))
        if earlier is not None:
            earlier.is_replaced = True
            earlier.done.set()
        return load

    def _lease_left(self, number: int) -> float:
        """How many seconds to wait for a load; 0 if its lease is over."""
        left_ms = self._lease_ms(number)
        return _LONGEST_WAIT if left_ms < 0 else min(left_ms / 1000, _LONGEST_WAIT)

    def _run_load(self, load: _Load, key, loader, ttl, stale, old):
        try:
            load.value = loader(key)
            self._put_loaded(load.number, key, load.value, ttl, stale)
            return load.value
        except Exception as error:
            load.error = error
            self._load_failed(load.number, key)
            if old is _ABSENT:
                raise
            return old
        except BaseException:  # such as KeyboardInterrupt: of this thread, not of those who wait
            load.is_replaced = True
            raise
        finally:
            self._end_load(load.number)
            with self._loads_lock:
                if self._loads.get(key) is load:
                    del self._loads[key]
            load.done.set()

    # --- The rest of a MutableMapping

    def __iter__(self) -> Iterator:
        return iter([key for key, _ in self._entries()])

    def keys(self) -> KeysView:
        """A view of the keys, in no order."""
        return _Keys(self)

    def values(self) -> ValuesView:
        """A view of the values."""
        return _Values(self)

    def items(self) -> ItemsView:
        """A view of the pairs (key, value)."""
        return _Items(self)

    def pop(self, key: Hashable, default: Any = _REQUIRED):
        """Removes `key` and returns its value; `default`, or KeyError, if it is absent."""
        value = self._pop(key, default)
        if value is _REQUIRED:
            raise KeyError(key)
        return value

    def popitem(self) -> tuple:
        """Removes some entry and returns it. KeyError if there is none."""
        for key, _ in self._entries():
            value = self._pop(key, _REQUIRED)
            if value is not _REQUIRED:
                return key, value
        raise KeyError("the cache is empty")

    def setdefault(self, key: Hashable, default: Any = None, ttl: Optional[TTL] = None):
        """The value of `key`; if there is none, `default` is put and returned."""
        return self._set_default(key, default, ttl)

    def update(self, other=(), /, *, ttl: Optional[TTL] = None, **entries) -> None:
        """Puts all of a mapping or of pairs, and the keywords."""
        pairs = other.items() if hasattr(other, "items") else other
        for key, value in [*pairs, *entries.items()]:
            self.put(key, value, ttl)

    def __repr__(self) -> str:
        return f"<mayfly.Cache of {len(self)} entries, capacity {self._capacity}>"

    def __reduce_ex__(self, protocol):
        raise TypeError("a Cache cannot be pickled or copied (use dict(cache.items()))")


MutableMapping.register(Cache)
