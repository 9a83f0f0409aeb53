#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page that is dear to make, shared by many clients: when it becomes stale, one makes it anew.

`SET ... STALE` keeps a value for some time after its TTL. GETSTALE says whether it is fresh, and
gives one caller a token, a lease on making the new value; the others keep the old one. So a
thousand clients do not make one page at once, and a source that is down is not noticed at once.
`mayfly.Cache.get_or_load()` does the same within a process.
"""

import os
import threading
import time

import redis

POLL_SECONDS = 0.02


class StaleCache:
    def __init__(self, server: redis.Redis, lease_ms: int = 10_000):
        """`lease_ms`: how long a caller may take to load, before the next one does it, too."""
        self.server, self.lease_ms = server, lease_ms

    def get_or_load(self, key: str, load, ttl: float, stale: float) -> str:
        """The value; where there is none, or a stale one, one caller gets it from `load(key)`."""
        patience_ends = time.monotonic() + 3 * self.lease_ms / 1000
        while time.monotonic() < patience_ends:
            value, state, token = self.server.execute_command(
                "GETSTALE", key, "LEASE", self.lease_ms)
            if token is not None:
                return self._load(key, load, ttl, stale, value, token)
            if state != "missing":
                return value
            time.sleep(POLL_SECONDS)  # until another caller has stored it, or its lease has ended
        return load(key)  # for this caller alone: all others hang, or the server is a replica

    def _load(self, key, load, ttl, stale, old, token) -> str:
        try:
            value = load(key)
        except Exception:
            if old is not None:
                return old  # the lease is kept: until it ends, nobody asks a source that is down
            self.server.execute_command("DELLEASE", key, token)  # the next one tries at once
            raise
        # Nothing is stored if the lease has ended, because it took too long or the key was changed.
        self.server.execute_command("SET", key, value, "PX", int(ttl * 1000), "PSTALE",
                                    int(stale * 1000), "TOKEN", token)
        return value


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


class Source:
    """Counts how often it is asked. It may be down, and another client may come meanwhile."""

    def __init__(self):
        self.asked, self.is_down, self.meanwhile = 0, False, lambda: None

    def load(self, key: str) -> str:
        self.asked += 1
        number = self.asked
        self.meanwhile()
        if self.is_down:
            raise ConnectionError("the source is down")
        return f"{key}, edition {number}"


KEY = "example:page"


def make_stale(server: redis.Redis, value: str) -> None:
    server.execute_command("SET", KEY, value, "PX", 1, "PSTALE", 60_000)
    while server.execute_command("GETSTALE", KEY, "LEASE", 0)[1] == "fresh":  # takes no lease
        time.sleep(POLL_SECONDS)


def load_together(cache: StaleCache, source: Source) -> None:
    answers: list = []
    threads = [threading.Thread(target=lambda: answers.append(
        cache.get_or_load(KEY, source.load, ttl=60, stale=60))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claim("eight clients that miss a page make it once",
          answers == [f"{KEY}, edition 1"] * 8 and source.asked == 1)


def refresh(server: redis.Redis, cache: StaleCache, source: Source) -> None:
    make_stale(server, "old")
    source.asked, seen = 0, []
    source.meanwhile = lambda: seen.append(cache.get_or_load(KEY, source.load, 60, 60))
    new = cache.get_or_load(KEY, source.load, ttl=60, stale=60)
    claim("one client makes a stale page anew", new == f"{KEY}, edition 1" and source.asked == 1)
    claim("the others get the old one meanwhile", seen == ["old"])
    claim("then all get the new one", cache.get_or_load(KEY, source.load, 60, 60) == new)
    source.meanwhile = lambda: None


def fail(server: redis.Redis, cache: StaleCache, source: Source) -> None:
    make_stale(server, "old")
    source.asked, source.is_down = 0, True
    answers = {cache.get_or_load(KEY, source.load, ttl=60, stale=60) for _ in range(10)}
    claim("a source that is down is asked once, and the old page served",
          answers == {"old"} and source.asked == 1)
    server.delete(KEY)
    try:
        cache.get_or_load(KEY, source.load, ttl=60, stale=60)
        claim("without an old page it is an error", False)
    except ConnectionError:
        claim("without an old page it is an error", True)
    source.is_down = False
    page = cache.get_or_load(KEY, source.load, ttl=60, stale=60)
    claim("and the next client tries again", page == server.get(KEY))


def be_late(server: redis.Redis, cache: StaleCache, source: Source) -> None:
    server.delete(KEY)
    source.asked, others = 0, []

    def hang():
        source.meanwhile = lambda: None
        others.append(cache.get_or_load(KEY, source.load, ttl=60, stale=60))

    source.meanwhile = hang
    hasty = StaleCache(server, lease_ms=20)
    late = hasty.get_or_load(KEY, source.load, ttl=60, stale=60)
    claim("when the lease ends the next client makes it", others == [f"{KEY}, edition 2"])
    claim("what comes late is not stored", late != server.get(KEY) == others[0])


def main(server: redis.Redis) -> None:
    cache, source = StaleCache(server), Source()
    server.delete(KEY)
    load_together(cache, source)
    refresh(server, cache, source)
    fail(server, cache, source)
    be_late(server, cache, source)
    server.delete(KEY)


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
