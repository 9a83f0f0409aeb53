# SPDX-License-Identifier: Apache-2.0
"""The store for programs that use `dbm`: the same functions, and one writer at a time.

As with dbm.gnu, what is written is on disk for sure after sync() and close() only: writes are
committed together, some thousands at a time, which makes each of them ten times as fast as a
transaction of its own. Unlike with dbm.gnu, a crash leaves the file whole, as it was at a commit,
and any entry may have an expiry.

>>> from mayfly import dbm
>>> with dbm.open("words.db", "c") as words:
...     words["hello"] = "hallo"
...     words["soon", 60] = "gone"        # with a TTL of 60 seconds
...     words["hello"]
b'hallo'
>>> import shelve
>>> with shelve.Shelf(dbm.open("shelf.db", "c")) as shelf:
...     shelf["list"] = [1, 2, 3]
...     shelf["list"]
[1, 2, 3]
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import MutableMapping
from typing import Iterator, Optional

from ._mayfly import Error
from ._store import KVStore
from ._views import StoreKeys

error = (Error, OSError)  # both, as in the standard module
_GROUP = 10_000  # writes that are committed together


class Database(KVStore):
    """The result of open(): a KVStore whose writes are committed together.

    Use it in one thread. While a group of writes is under way nobody else can write to the file,
    and others see the file as it was before. So a second writer does not wait, as it would not
    with dbm.gnu: BusyError. begin() and transaction() are refused. As in dbm, and unlike with a
    KVStore, iterating gives keys.
    """

    def __init__(self, path, read_only: bool = False):
        super().__init__(path, read_only=read_only, busy_timeout=0)
        self._group_writes(0 if read_only else _GROUP)

    def __iter__(self) -> Iterator[bytes]:
        return iter(StoreKeys(self))

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(StoreKeys(self))

    def keys(self) -> list:  # a list, as in dbm
        """All keys, as a list."""
        return list(super().keys())

    def firstkey(self) -> Optional[bytes]:
        """The first key, or None: to begin a walk with."""
        return next(iter(self), None)

    def nextkey(self, key) -> Optional[bytes]:
        """The key after `key`, or None."""
        with self.iterator() as entries:
            entries.seek(key)
            if not entries.eof and entries.key == (key.encode() if isinstance(key, str) else key):
                entries.next()
            return None if entries.eof else entries.key

    def reorganize(self) -> None:
        """Makes the file as small as possible."""
        self._end_group()
        self.compact()

    def sync(self) -> None:
        """Commits what was written, and returns when it is on disk."""
        self._end_group()
        super().sync()

    def close(self) -> None:
        """Commits what was written, and closes the file."""
        if not self.closed:
            self._end_group()
        super().close()

    def begin(self, write: bool = False):
        """Raises Error: writes are grouped already. Open the file with KVStore instead."""
        raise Error("mayfly.dbm groups writes itself: open the file with mayfly.KVStore instead")


def open(file, flag: str = "r", mode: int = 0o666) -> Database:  # pylint: disable=redefined-builtin
    """Opens the file: "r" to read it, "w" to write, "c" to create it if absent, "n" to replace it.

    As in dbm, `mode` is for a file that is made.
    """
    if flag not in ("r", "w", "c", "n"):
        raise ValueError(f"a flag must be 'r', 'w', 'c' or 'n', not {flag!r}")
    path = os.fsdecode(file)
    if flag == "n":
        for name in (path, f"{path}-wal", f"{path}-undo"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(name)
    if flag in ("r", "w") and not os.path.exists(path):
        raise Error(f"{path!r} does not exist: the flag 'c' would make it")
    if flag in ("c", "n") and not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))
    return Database(path, read_only=flag == "r")


MutableMapping.register(Database)
