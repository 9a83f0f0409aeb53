# SPDX-License-Identifier: Apache-2.0
"""A key-value store in a file, and a cache in memory, in which any entry may have an expiry.

>>> import mayfly
>>> with mayfly.KVStore("sessions.db") as db:
...     db.put("session:42", "token", ttl=60)      # seconds, timedelta or datetime
...     db["session:43", 30] = b"another"          # the same in brackets
...     db.get("session:42"), db.get("nobody")     # what has expired is not there
(b'token', None)

`KVStore` has the names and rules of the package snkv, so `import mayfly as snkv` runs code written
for that. `Cache` and `ttl_cache` are for memory, `mayfly.aio` is for asyncio.
"""

from . import _mayfly as _snkv  # noqa: F401, as programs for snkv know it
from ._cache import Cache
from ._constants import *  # noqa: F403
from ._family import TTL_BUCKETS, ColumnFamily, TtlHistogram
from ._mayfly import (
    AuthError,
    BusyError,
    CorruptError,
    Error,
    FullError,
    Iterator,
    LockedError,
    NotFoundError,
    ReadOnlyError,
    __version__,
)
from ._snapshot import Snapshot
from ._store import KVStore, Transaction
from ._ttl_cache import CacheInfo, ttl_cache

KeyValueStore = KVStore  # as the first versions of snkv called it

for _type in (Cache, ColumnFamily, Iterator, KVStore, Snapshot, Transaction, TtlHistogram):
    _type.__module__ = "mayfly"
