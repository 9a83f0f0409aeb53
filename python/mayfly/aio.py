# SPDX-License-Identifier: Apache-2.0
"""The store for asyncio: the same methods, to be awaited.

Each store has one thread of its own, in which all of its calls are made, so that the event loop
never waits for the disk, and a transaction, which belongs to a thread, stays in one.

>>> import asyncio
>>> async def main():
...     async with aio.open("sessions.db") as db:
...         await db.put("session:42", "token", ttl=60)
...         async with db.transaction():
...             await db.increment("visits")
...         return await db.get("session:42"), [key async for key in db.keys()]
>>> asyncio.run(main())
(b'token', [b'session:42', b'visits'])
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable

from ._family import ColumnFamily
from ._mayfly import Error
from ._store import KVStore

__all__ = ["open", "AsyncKVStore", "AsyncColumnFamily"]

_PAGE = 256  # entries that are read in one go of the thread

# The transactions that a task is in. A task that is made inside of one, as asyncio.gather() and
# asyncio.wait_for() do, begins with a copy, and so is in it as well.
_INSIDE: contextvars.ContextVar[tuple] = contextvars.ContextVar("mayfly transactions", default=())


def _forwarded(name: str, of: type) -> Callable:
    """An async method that calls the method `name` in the thread of the store."""
    method = getattr(of, name)

    async def call(self, *args, **keywords):
        return await self._run(method, self._target, *args, **keywords)

    call.__name__ = name
    call.__qualname__ = f"{of.__name__}.{name}"
    call.__doc__ = f"As {of.__name__}.{name}(), to be awaited."
    return call


class _AsyncFamily:
    """The common base of AsyncKVStore and AsyncColumnFamily."""

    _target: Any

    async def _run(self, function, *args, **keywords):
        raise NotImplementedError

    async def count_live(self) -> int:
        """The number of live entries, as len() of a KVStore."""
        return await self._run(len, self._target)

    async def expiring(self, between, limit=None) -> list:
        """As KVStore.expiring(); a list."""
        return list(await self._run(self._target.expiring, between, limit))

    async def default_ttl(self):
        """The TTL in seconds of writes without one; None means no expiry."""
        return await self._run(getattr, self._target, "default_ttl")

    async def set_default_ttl(self, ttl) -> None:
        """Sets it: seconds, a timedelta, or None."""
        await self._run(setattr, self._target, "default_ttl", ttl)

    async def items(self, *, prefix=None, reverse: bool = False) -> AsyncIterator:
        """The pairs (key, value) of one moment, in byte order of the keys."""
        iterator = await self._run(self._target.iterator, prefix=prefix, reverse=reverse)
        try:
            while page := await self._run(_read_page, iterator):
                for item in page:
                    yield item
        finally:
            await self._run(iterator.close)

    async def keys(self, *, prefix=None, reverse: bool = False) -> AsyncIterator:
        """The keys of one moment, in byte order."""
        async with contextlib.aclosing(self.items(prefix=prefix, reverse=reverse)) as items:
            async for key, _ in items:
                yield key

    def __aiter__(self) -> AsyncIterator:
        return self.items()


def _read_page(iterator) -> list:
    return list(itertools.islice(iterator, _PAGE))


_DATA_METHODS = (
    "get", "put", "exists", "delete", "put_if_absent", "compare_and_set", "increment", "pop",
    "setdefault", "update", "put_many", "get_many", "delete_many", "clear", "count", "ttl",
    "deadline", "popitem", "expire", "expire_at", "persist", "touch", "purge_expired",
    "next_deadline", "ttl_histogram",
)
_STORE_METHODS = (
    "sync", "vacuum", "compact", "integrity_check", "checkpoint", "stats", "log_stats",
    "stats_reset", "backup", "list_column_families", "drop_column_family",
)
for _name in _DATA_METHODS:
    setattr(_AsyncFamily, _name, _forwarded(_name, KVStore))


class AsyncColumnFamily(_AsyncFamily):
    """A column family of an AsyncKVStore."""

    def __init__(self, store: "AsyncKVStore", target: ColumnFamily):
        self._store = store
        self._target = target

    async def _run(self, function, *args, **keywords):
        return await self._store._run(function, *args, **keywords)

    @property
    def name(self) -> str:
        """Its name."""
        return self._target.name

    async def close(self) -> None:
        """Closes it. A second time it does nothing."""
        await self._run(self._target.close)

    async def __aenter__(self) -> "AsyncColumnFamily":
        return self

    async def __aexit__(self, kind, error, trace) -> None:
        await self.close()


class AsyncKVStore(_AsyncFamily):
    """A KVStore whose methods are awaited. Made by open()."""

    def __init__(self, path=None, **config):
        self._path = path
        self._config = config
        self._target = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mayfly")
        self._turn = asyncio.Lock()
        self._holder = None

    async def _run(self, function, *args, **keywords):
        """Runs a function in the thread, unless a transaction of another task is under way."""
        if self._target is None:
            raise Error("the store is not open: use `async with`, or await it")
        if self._is_inside():
            return await self._submit(function, *args, **keywords)
        async with self._turn:
            return await self._submit(function, *args, **keywords)

    def _is_inside(self) -> bool:
        """Whether the transaction that is under way is that of this task."""
        return self._holder is not None and self._holder in _INSIDE.get()

    async def _submit(self, function, *args, **keywords):
        call = functools.partial(function, *args, **keywords)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except RuntimeError as error:
            if "shutdown" in str(error):
                raise Error("the store is closed") from None
            raise

    @contextlib.asynccontextmanager
    async def transaction(self, write: bool = True):
        """A transaction of this task: committed at its end, rolled back by an exception.

        Tasks that are made inside of it belong to it, such as those of asyncio.gather(). The calls
        of other tasks wait until it has ended.
        """
        if self._target is None:
            raise Error("the store is not open: use `async with`, or await it")
        if self._is_inside():
            raise Error("this task has a transaction open already")
        async with self._turn:
            before = _INSIDE.get()
            try:
                await self._submit(self._target.begin, write)
                self._holder = object()
                _INSIDE.set((*before, self._holder))
                yield self
                await asyncio.shield(self._submit(self._target.commit))
            except BaseException:
                # Also if it was cancelled while it began: the thread does one after the other.
                await asyncio.shield(self._submit(self._target.rollback))
                raise
            finally:
                self._holder = None
                _INSIDE.set(before)

    async def create_column_family(self, name: str) -> AsyncColumnFamily:
        """As KVStore.create_column_family()."""
        return AsyncColumnFamily(self, await self._run(self._target.create_column_family, name))

    async def open_column_family(self, name: str) -> AsyncColumnFamily:
        """As KVStore.open_column_family()."""
        return AsyncColumnFamily(self, await self._run(self._target.open_column_family, name))

    async def column_family(self, name: str) -> AsyncColumnFamily:
        """Opens a column family, or makes it if there is none of that name."""
        return AsyncColumnFamily(self, await self._run(self._target.column_family, name))

    async def close(self) -> None:
        """Closes it. A second time it does nothing."""
        if self._target is not None and not self._target.closed:
            await self._run(self._target.close)
        self._thread.shutdown(wait=False)

    async def _open(self) -> "AsyncKVStore":
        if self._target is None:
            try:
                self._target = await self._submit(KVStore, self._path, **self._config)
            except BaseException:
                self._thread.shutdown(wait=False)
                raise
        return self

    def __await__(self):
        return self._open().__await__()

    async def __aenter__(self) -> "AsyncKVStore":
        return await self._open()

    async def __aexit__(self, kind, error, trace) -> None:
        await self.close()


for _name in _STORE_METHODS:
    setattr(AsyncKVStore, _name, _forwarded(_name, KVStore))


def open(path=None, **config) -> AsyncKVStore:  # pylint: disable=redefined-builtin
    """A store for `async with`, or to be awaited; arguments as those of KVStore."""
    return AsyncKVStore(path, **config)
