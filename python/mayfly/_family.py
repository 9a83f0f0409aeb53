# SPDX-License-Identifier: Apache-2.0
"""The Python part of what a store and a column family have in common, and ColumnFamily.

The methods that are called most often are those of the C++ class itself.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Iterator as Iterable_
from typing import Mapping, NamedTuple, Optional

from . import _mayfly
from ._mayfly import Iterator, NotFoundError
from ._moments import END_OF_TIME_MS, TTL, Between, ceil_ms, to_datetime, to_range
from ._views import StoreItems, StoreKeys, StoreValues

#: The buckets of a TtlHistogram: what expires within a second, 10 seconds, a minute, and so on.
TTL_BUCKETS = ("1s", "10s", "1m", "10m", "1h", "1d", "1w", "later")

_REQUIRED = object()
_CONDITIONS = {None: 0, "nx": 1, "xx": 2, "gt": 4, "lt": 8}


class TtlHistogram(NamedTuple):
    """How many entries expire when. An entry counts in the first bucket that it fits into."""

    entries: dict[str, int]  # by the names of TTL_BUCKETS
    bytes: Optional[dict[str, int]]  # of keys and values; None unless asked for
    overdue: int  # entries that have expired and are not removed yet
    overdue_bytes: Optional[int]
    oldest_overdue: Optional[datetime]  # when the first of these expired


class FamilyMethods:
    """The methods of KVStore and ColumnFamily that are written in Python."""

    # --- Expiry

    def expire(self, key, ttl: TTL, condition: Optional[str] = None) -> bool:
        """Changes when `key` expires; a time that has passed removes it.

        With a condition only if the key has no expiry ("nx"), has one ("xx"), or the new one is
        later ("gt") or earlier ("lt"). Returns whether it was changed. NotFoundError if there is
        no such key.

        >>> db = mayfly.KVStore()
        >>> db["a"] = "1"
        >>> db.expire("a", 60), db.expire("a", 30, "gt")
        (True, False)
        """
        if condition not in _CONDITIONS:
            raise ValueError(f"condition must be 'nx', 'xx', 'gt' or 'lt', not {condition!r}")
        return self._expire(key, ttl, _CONDITIONS[condition])

    def expire_at(self, key, deadline: TTL, condition: Optional[str] = None) -> bool:
        """The same with a time: a datetime, or seconds since 1970 as time.time() returns them."""
        if isinstance(deadline, timedelta):
            raise TypeError("the time must be a datetime or seconds since 1970, not a timedelta")
        if not isinstance(deadline, datetime):
            is_never = deadline * 1000 >= END_OF_TIME_MS
            deadline = math.inf if is_never else to_datetime(ceil_ms(deadline))
        return self.expire(key, deadline, condition)

    def deadline(self, key) -> Optional[datetime]:
        """When `key` expires, as an aware datetime; None if never. NotFoundError if it is absent.

        >>> db = mayfly.KVStore(clock=lambda: 0)
        >>> db.put("a", "1", ttl=90)
        >>> db.deadline("a").isoformat()
        '1970-01-01T00:01:30+00:00'
        """
        expire_ms = self._deadline_ms(key)
        return to_datetime(expire_ms) if expire_ms else None

    def expiring(self, between: Between, limit: Optional[int] = None):
        """The entries that expire in a range of time, soonest first, as pairs (key, datetime).

        `between` is how far from now to look, or a pair: from when to when (the latter not
        included). Either may be seconds or a timedelta from now, or a datetime; None is now, or
        no end. Expired entries are left out.

        >>> db = mayfly.KVStore(clock=lambda: 1000)
        >>> db.put_many([("a", "1", 30), ("b", "2", 10), ("c", "3", 300)])
        >>> [key for key, when in db.expiring(60)]
        [b'b', b'a']
        >>> [key for key, when in db.expiring((20, None))]
        [b'a', b'c']
        """
        if limit is not None and limit <= 0:
            return iter(())
        from_ms, to_ms = to_range(between, self._now_ms())
        found = self._expiring(max(from_ms, 1), max(to_ms, 1), limit or 0)
        return iter([(key, to_datetime(expire_ms)) for key, expire_ms in found])

    def next_deadline(self) -> Optional[datetime]:
        """The earliest expiry in this column family, one that has passed included, or None."""
        expire_ms = self._next_deadline_ms()
        return to_datetime(expire_ms) if expire_ms else None

    def ttl_histogram(
        self, *, with_bytes: bool = False, all_families: bool = False
    ) -> TtlHistogram:
        """How many entries expire when, and how many are expired and not removed yet.

        Exact, and of one moment. It reads the expiry of each entry that has one; with `with_bytes`
        also where the value is, which takes longer.

        >>> db = mayfly.KVStore(clock=lambda: 1000)
        >>> db.put_many([("a", "1", 0.5), ("b", "2", 30), ("c", "3", 40), ("d", "4")])
        >>> db.ttl_histogram().entries
        {'1s': 1, '10s': 0, '1m': 2, '10m': 0, '1h': 0, '1d': 0, '1w': 0, 'later': 0}
        >>> db.ttl_histogram(with_bytes=True).bytes["1m"]
        4
        """
        buckets, overdue, oldest_ms = self._ttl_histogram(with_bytes, all_families)
        names = TTL_BUCKETS
        return TtlHistogram(
            entries={name: entries for name, (entries, _) in zip(names, buckets)},
            bytes={name: size for name, (_, size) in zip(names, buckets)} if with_bytes else None,
            overdue=overdue[0],
            overdue_bytes=overdue[1] if with_bytes else None,
            oldest_overdue=to_datetime(oldest_ms) if oldest_ms else None,
        )

    def purge_expired(
        self,
        limit: Optional[int] = None,
        seconds: Optional[float] = None,
        *,
        all_families: bool = False,
    ) -> int:
        """Removes expired entries from the file, oldest first, and returns how many.

        It stops after `limit` entries, or after about `seconds`. They are removed in small
        transactions, so that others can write in between. Reads do not depend on it: expired
        entries are never visible.
        """
        if limit is not None and limit <= 0:
            return 0
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        if seconds is not None and not isinstance(seconds, (int, float)):
            raise TypeError(f"seconds must be a number, a timedelta or None, not {seconds!r}")
        return self._purge(limit or 0, seconds, all_families)

    @property
    def default_ttl(self) -> Optional[float]:
        """The TTL in seconds of writes without one; None means no expiry.

        It is kept in the file. Assign seconds, a timedelta or None.
        """
        ttl_ms = self._get_default_ttl_ms()
        return None if ttl_ms == -1 else ttl_ms / 1000

    @default_ttl.setter
    def default_ttl(self, ttl) -> None:
        if ttl is None:
            self._set_default_ttl_ms(-1)
            return
        if isinstance(ttl, timedelta):
            ttl = ttl.total_seconds()
        if not ttl > 0:
            raise ValueError(f"the default TTL must be above 0 seconds, or None, not {ttl!r}")
        self._set_default_ttl_ms(-1 if ttl * 1000 >= END_OF_TIME_MS else max(ceil_ms(ttl), 1))

    # --- Iteration

    def iterator(self, *, reverse: bool = False, prefix=None) -> Iterator:
        """An Iterator over (key, value), of one moment, or of the transaction of this thread."""
        return Iterator(self, prefix, reverse)

    def prefix_iterator(self, prefix) -> Iterator:
        """An Iterator over the keys that begin with `prefix`."""
        return Iterator(self, prefix, False)

    def reverse_iterator(self) -> Iterator:
        """An Iterator from the last key to the first."""
        return Iterator(self, None, True)

    def reverse_prefix_iterator(self, prefix) -> Iterator:
        """An Iterator over the keys that begin with `prefix`, from the last to the first."""
        return Iterator(self, prefix, True)

    # --- Like a dict, but that it iterates over pairs, as snkv does

    def __iter__(self) -> Iterable_[tuple[bytes, bytes]]:
        return iter(StoreItems(self))

    def __reversed__(self) -> Iterable_[tuple[bytes, bytes]]:
        return reversed(StoreItems(self))

    def keys(self) -> StoreKeys:
        """A view of the keys, in byte order."""
        return StoreKeys(self)

    def values(self) -> StoreValues:
        """A view of the values."""
        return StoreValues(self)

    def items(self) -> StoreItems:
        """A view of the pairs (key, value)."""
        return StoreItems(self)

    def pop(self, key, default=_REQUIRED):
        """Removes `key` and returns its value, in one transaction.

        If it is not there, `default` is returned, or NotFoundError raised if there is none.
        """
        try:
            return self._pop(key)
        except NotFoundError:
            if default is _REQUIRED:
                raise
            return default

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes the first entry and returns it, in one transaction.

        NotFoundError if there is none.
        """
        item = self._pop_first()
        if item is None:
            raise NotFoundError("the store is empty")
        return item

    def setdefault(self, key, default=b"", ttl: Optional[TTL] = None) -> bytes:
        """The value of `key`; if there is none, `default` is stored and returned.

        It is looked for and stored in one transaction.
        """
        value = self.get(key)  # needs no lock, and can be done in a read-only store
        return self._set_default(key, default, ttl) if value is None else value

    def update(self, other=(), /, *, ttl: Optional[TTL] = None, **entries) -> None:
        """Stores all of a mapping or of pairs, and the keywords, in one transaction."""
        pairs = list(other.items() if isinstance(other, Mapping) else other)
        self.put_many(pairs + list(entries.items()), ttl)

    # --- Not supported

    def __reduce_ex__(self, protocol):
        name = type(self).__name__
        raise TypeError(f"a {name} can't be pickled or copied: open the file again instead")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.close()


class ColumnFamily(FamilyMethods, _mayfly.Family):
    """A key space of its own within a store: same methods, and transactions in common.

    >>> db = mayfly.KVStore()
    >>> with db.create_column_family("cache") as cache:
    ...     cache["item", 10] = "data"
    ...     len(cache), len(db)
    (1, 0)
    """

    def __init__(self, store, name: str, create: bool):
        super().__init__(store, name, create)
        self._name = name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def _db(self) -> "RawCalls":
        return RawCalls(self)

    def __repr__(self) -> str:
        return f"<mayfly.ColumnFamily {self._name!r}>"


class RawCalls:
    """The calls that take a moment in milliseconds, as snkv's own module has them."""

    def __init__(self, family):
        self._family = family

    def put_ttl(self, key, value, expire_ms: int) -> None:
        """Stores a value that expires at `expire_ms`; 0 is never."""
        self._family._put_at(key, value, expire_ms)

    def get_ttl(self, key) -> tuple[bytes, int]:
        """The value, and the milliseconds left or NO_TTL. NotFoundError if it is absent."""
        left = self._family.ttl(key)
        return self._family[key], -1 if left is None else round(left * 1000)
