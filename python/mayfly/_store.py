# SPDX-License-Identifier: Apache-2.0
"""KVStore: a store in a file. See the package for an example."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Callable, Optional, Union

from . import _mayfly
from ._constants import JOURNAL_WAL, SYNC_FULL, SYNC_NORMAL, SYNC_OFF
from ._family import ColumnFamily, FamilyMethods, RawCalls
from ._snapshot import Snapshot

_NO_SYNC = -1  # in C: there 0 is also the value of an unset field
_LEAST, _MOST = -2**31, 2**31 - 1  # of an int in C, which refuses some of them

_open_stores: weakref.WeakSet = weakref.WeakSet()


def _abandon_all() -> None:
    _mayfly.forget_other_threads()
    for store in _open_stores:
        store._abandon()


os.register_at_fork(after_in_child=_abandon_all)
atexit.register(_mayfly.prepare_exit)


class Transaction:
    """The result of begin() and transaction(): a transaction that a `with` block ends."""

    def __init__(self, store: "KVStore"):
        self._store = store
        self._entered = False

    def __enter__(self) -> "KVStore":
        if self._entered:
            raise _mayfly.Error("the transaction already had its `with` block (begin another one)")
        self._entered = True
        return self._store

    def __exit__(self, kind, error, trace) -> None:
        if self._store.closed:
            return  # closing has rolled it back
        if kind is None:
            self._store.commit()
        else:
            self._store.rollback()


class KVStore(FamilyMethods, _mayfly.Store):
    """Keys and values of bytes in one file, in which any key may have an expiry.

    >>> with mayfly.KVStore("sessions.db") as db:
    ...     db.put("session:42", "token", ttl=1800)
    ...     db["session:43", 60] = b"another"
    ...     db["session:42"], len(db)
    (b'token', 2)

    `path` None is a temporary store, gone when it is closed. Keywords: `sync_level` (SYNC_...),
    `read_only`, `busy_timeout` (how many milliseconds a writer waits for another one, before it
    raises BusyError; 0 is not at all), `wal_size_limit` (a checkpoint after about this many small
    commits: segments of the log get so many times 4096 bytes, 64 KiB to 1 GiB; 0 means 32 MiB),
    `clock` (for tests: a callable that returns seconds since 1970). `journal_mode`, `cache_size`,
    `page_size` and `full_mutex` are accepted and have no effect.
    """

    def __init__(
        self,
        path: Union[str, bytes, os.PathLike, None] = None,
        *,
        journal_mode: int = JOURNAL_WAL,
        sync_level: int = SYNC_NORMAL,
        read_only: bool = False,
        busy_timeout: int = 5000,
        clock: Optional[Callable[[], float]] = None,
        cache_size: int = 0,
        page_size: int = 0,
        wal_size_limit: int = 0,
        full_mutex: bool = False,
    ):
        del journal_mode, cache_size, page_size, full_mutex
        if clock is not None and not callable(clock):
            raise TypeError(f"clock must be callable, or None, not {clock!r}")
        for what, value in (("busy_timeout", busy_timeout), ("wal_size_limit", wal_size_limit)):
            if not isinstance(value, int):
                raise TypeError(f"{what} must be a whole number, not {value!r}")
            if not _LEAST <= value <= _MOST:
                raise ValueError(f"{what} must be from 0 to {_MOST}, not {value!r}")
        if read_only not in (False, True):
            raise TypeError(f"read_only must be True or False, not {read_only!r}")
        if not isinstance(sync_level, int) or not _LEAST <= sync_level <= _MOST:
            raise ValueError(
                f"sync_level must be SYNC_OFF, SYNC_NORMAL or SYNC_FULL, not {sync_level!r}")
        if not isinstance(path, (str, bytes, os.PathLike, type(None))):
            raise TypeError(f"path must be a str, bytes, os.PathLike or None, not {path!r}")
        name = None if path is None else os.fsencode(path)
        if name is not None and b"\0" in name:
            raise ValueError("embedded null byte")  # as open() says it
        super().__init__(
            name,
            _NO_SYNC if sync_level == SYNC_OFF else sync_level,
            bool(read_only),
            busy_timeout,
            wal_size_limit,
            clock,
        )
        self._path = path
        _open_stores.add(self)

    @property
    def path(self):
        """Where the file is; None if the store is temporary."""
        return self._path

    # --- Transactions

    def begin(self, write: bool = False) -> Transaction:
        """Begins a transaction of this thread, which lasts until commit() or rollback().

        With `write` all that this thread writes takes effect together, at the commit, or not at
        all; without, it reads the store as it is now. What it returns can be used in a `with`
        block, as that of transaction() can.
        """
        self._begin(write)
        return Transaction(self)

    def transaction(self, write: bool = True) -> Transaction:
        """Begins a transaction for a `with` block, which commits it; an exception rolls it back.

        >>> db = mayfly.KVStore()
        >>> with db.transaction():
        ...     db["a"] = "1"
        ...     db["b"] = "2"
        >>> with db.transaction():
        ...     db["c"] = "3"
        ...     raise ValueError
        Traceback (most recent call last):
        ValueError
        >>> list(db.keys())
        [b'a', b'b']
        """
        return self.begin(write)

    def snapshot(self) -> Snapshot:
        """The store as it is now, to be read for as long as you keep it. Close it soon.

        It has what was committed: not what an open transaction has written.
        """
        return Snapshot(_mayfly.Snapshot(self))

    # --- Column families

    def create_column_family(self, name: str) -> ColumnFamily:
        """Makes a column family. Error if there is one of that name."""
        return ColumnFamily(self, name, True)

    def open_column_family(self, name: str) -> ColumnFamily:
        """Opens a column family. NotFoundError if there is none of that name."""
        return ColumnFamily(self, name, False)

    def default_column_family(self) -> ColumnFamily:
        """The column family that the methods of the store itself are about."""
        return ColumnFamily(self, "default", False)

    def column_family(self, name: str) -> ColumnFamily:
        """Opens a column family, or makes it if there is none of that name."""
        try:
            return self.open_column_family(name)
        except _mayfly.NotFoundError:
            return self.create_column_family(name)

    # --- Maintenance

    def backup(self, path) -> None:
        """Writes a compact copy of this moment to `path`, which must not exist.

        It has what was committed: not what an open transaction has written.
        """
        self._backup(os.fsencode(path))

    @classmethod
    def open_encrypted(cls, path, password) -> "KVStore":
        """Raises Error: stores are not encrypted."""
        raise _mayfly.Error("stores are not encrypted: encrypt the disk, or the values")

    def is_encrypted(self) -> bool:
        """False: stores are not encrypted."""
        return False

    def reencrypt(self, password) -> None:
        """Raises Error: stores are not encrypted."""
        raise _mayfly.Error("stores are not encrypted: there is no password to change")

    def remove_encryption(self) -> None:
        """Raises Error: stores are not encrypted."""
        raise _mayfly.Error("stores are not encrypted: there is nothing to remove")

    @property
    def _db(self) -> RawCalls:
        return RawCalls(self)

    def __repr__(self) -> str:
        state = "closed " if self.closed else ""
        place = "temporary" if self._path is None else repr(self._path)
        return f"<mayfly.KVStore {state}{place}>"

Clock = Callable[[], float]
