# SPDX-License-Identifier: Apache-2.0
"""Snapshot: a store as it was at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Iterator, Optional

from ._mayfly import NotFoundError
from ._moments import to_datetime

_ABSENT = object()


class Snapshot(Mapping):
    """A read-only view of one moment: nothing changes in it, and nothing expires.

    Any thread may use it, one at a time. As long as it is open the file can't reuse the space of
    what is removed; so close it, or use it in a `with` block.

    >>> db = mayfly.KVStore()
    >>> db["a"] = "1"
    >>> with db.snapshot() as then:
    ...     db["a"] = "2"
    ...     then["a"], db["a"]
    (b'1', b'2')
    """

    def __init__(self, handle, family: int = 0):
        self._handle = handle
        self._family = family

    def __getitem__(self, key) -> bytes:
        value = self._handle.get(self._family, key, _ABSENT)
        if value is _ABSENT:
            raise NotFoundError(key)
        return value

    def get(self, key, default=None):
        """The value of `key`, or `default`."""
        return self._handle.get(self._family, key, default)

    def __contains__(self, key) -> bool:
        return self._handle.deadline_ms(self._family, key) is not None

    def __len__(self) -> int:
        return self._handle.count(self._family)

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self.scan())

    def __reversed__(self) -> Iterator[bytes]:
        return (key for key, _ in self.scan(reverse=True))

    def scan(self, prefix=None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """The pairs (key, value), in byte order of the keys; only those with a prefix, if given."""
        page = self._handle.page(self._family, prefix, None, reverse)
        while page:
            yield from page
            page = self._handle.page(self._family, prefix, page[-1][0], reverse)

    def ttl(self, key) -> Optional[float]:
        """The seconds that `key` had left at the moment of the snapshot; None if unlimited."""
        expire_ms = self._deadline_ms(key)
        return (expire_ms - self._handle.now_ms()) / 1000 if expire_ms else None

    def deadline(self, key) -> Optional[datetime]:
        """When `key` was to expire; None if never."""
        expire_ms = self._deadline_ms(key)
        return to_datetime(expire_ms) if expire_ms else None

    def _deadline_ms(self, key) -> int:
        expire_ms = self._handle.deadline_ms(self._family, key)
        if expire_ms is None:
            raise NotFoundError(key)
        return expire_ms

    def column_family(self, name: str) -> "Snapshot":
        """Another column family at the same moment. It ends with this snapshot."""
        family = self._handle.family(name)
        if family < 0:
            raise NotFoundError(name)
        return Snapshot(self._handle, family)

    def close(self) -> None:
        """Ends it. A second time it does nothing."""
        self._handle.close()

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.close()

    def __reduce_ex__(self, protocol):
        raise TypeError("a Snapshot can't be pickled or copied")
