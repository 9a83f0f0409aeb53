#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys: a request that is sent twice, since the answer was lost, is done once.

The client names each request; the answer is kept under that name for a day, the longest that a
client tries again. Its expiry is all the housekeeping there is: without it, either answers would
pile up forever or a job would have to find the old ones.

What the request changes and its answer are written in one transaction. So a crash leaves both or
neither, and there is no moment at which a request is half done.
"""

import contextlib
import functools
from datetime import timedelta
from typing import Callable

import mayfly

WINDOW = timedelta(days=1)


def idempotent(work: Callable[..., str]) -> Callable[..., str]:
    """Makes `work(db, ...)` a function `(db, request, ...)` that works once for each request."""

    @functools.wraps(work)
    def once(db: mayfly.KVStore, request: str, *arguments) -> str:
        with db.transaction(write=True):  # undone if the block raises
            before = db.get(f"answer:{request}")
            if before is not None:
                return before.decode()
            answer = work(db, *arguments)
            db.put(f"answer:{request}", answer, ttl=WINDOW)
            return answer

    return once


@idempotent
def charge(db: mayfly.KVStore, amount: int, crash: bool = False) -> str:
    balance = db.increment("balance", -amount)
    if crash:
        raise RuntimeError("the power is cut")
    return f"charged {amount}, left {balance}"


class ManualClock:
    """Stands still until it is moved. A store that is given no clock asks the system."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main() -> None:
    clock = ManualClock()
    # A temporary store, since it has no path. With one a crash loses nothing, and a write
    # waits for those of other processes, a second at most.
    with mayfly.KVStore(clock=clock, busy_timeout=1000) as db:
        db["balance"] = "100"
        first = charge(db, "r1", 30)
        claim("the first request is done", first == "charged 30, left 70")
        clock.now += 60
        claim("another one, too", charge(db, "r2", 5) == "charged 5, left 65")
        claim("the first, sent again, gets its answer", charge(db, "r1", 30) == first)
        claim("and is not done again", db["balance"] == b"65")

        with contextlib.suppress(RuntimeError):
            charge(db, "r3", 30, True)
        claim("a crash undoes all of a request", db["balance"] == b"65")
        claim("so that it can be sent again", charge(db, "r3", 30) == "charged 30, left 35")

        clock.now += WINDOW.total_seconds() - 60
        claim("a day later the name means nothing", charge(db, "r1", 30) == "charged 30, left 5")
        clock.now += WINDOW.total_seconds()
        db.purge_expired()
        claim("and only the balance is left", db.count() == 1)


if __name__ == "__main__":
    main()
