#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One-time tokens: a code sent by mail is good for ten minutes, and for one use.

A token is a key with a TTL whose value says whom it is for; to redeem it is to `pop` it, which
reads and removes it in one step. Too old, used before and never issued are then the same thing, an
absent key, and there is one test for all three. No table of used tokens grows, and none is cleaned.
"""

import secrets
import threading
from datetime import timedelta

import mayfly

GOOD_FOR = timedelta(minutes=10)


def issue(db: mayfly.KVStore, user: str) -> str:
    """A new token. One that somebody else has now must not change hands: hence "if absent"."""
    while True:
        token = secrets.token_urlsafe(16)
        if db.put_if_absent(f"token:{token}", user, ttl=GOOD_FOR):
            return token


def redeem(db: mayfly.KVStore, token: str) -> str | None:
    """Whom the token is for, or None if it is not good. It is not a second time."""
    user = db.pop(f"token:{token}", None)
    return None if user is None else user.decode()


def redeemed_by_eight(db: mayfly.KVStore, token: str) -> list[str]:
    """Those of eight threads with the same token that get in."""
    winners = []

    def try_it():
        if user := redeem(db, token):
            winners.append(user)

    threads = [threading.Thread(target=try_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return winners


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
    # A temporary store, since it has no path. With one tokens outlive the program, and a write
    # waits for those of other processes, a second at most.
    with mayfly.KVStore(clock=clock, busy_timeout=1000) as db:
        token = issue(db, "ann")
        clock.now += 599.999
        claim("the last millisecond is early enough", redeem(db, token) == "ann")
        claim("the second use fails", redeem(db, token) is None)
        claim("so does a token that nobody issued", redeem(db, "0000") is None)
        token = issue(db, "bob")
        clock.now += 600
        claim("so does one that is ten minutes old", redeem(db, token) is None)
        token = issue(db, "joe")
        claim("of eight at once, one gets in", redeemed_by_eight(db, token) == ["joe"])
        claim("nothing is left behind", len(db) == 0)


if __name__ == "__main__":
    main()
