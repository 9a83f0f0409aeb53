#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rate limiter: ten calls a minute for each user, by counters that reset themselves.

A counter is a key whose expiry is the end of its window. `increment` makes it with that TTL, or
adds to it and leaves the expiry alone. When the window is over the counter is gone, and the next
call begins a new one: nobody sets it back to zero, and nobody has to forget users who went away.
In a file it counts for all processes, and a restart does not hand out a second helping.
"""

import mayfly

LIMIT = 10
WINDOW = 60.0


class RateLimited(Exception):
    def __init__(self, seconds: float):
        super().__init__(f"try again in {seconds} s")
        self.seconds = seconds


class RateLimiter:
    def __init__(self, db: mayfly.KVStore):
        self.db = db

    def check(self, user: str) -> None:
        """Counts a call; RateLimited if it is one too many."""
        if self.db.increment(f"calls:{user}", ttl=WINDOW) > LIMIT:
            raise RateLimited(self.db.ttl(f"calls:{user}"))


class ManualClock:
    """Stands still until it is moved. A store that is given no clock asks the system."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def burst(limiter: RateLimiter, user: str) -> tuple[int, float]:
    """How many of twenty calls are allowed, and how long the others are told to wait."""
    allowed, wait = 0, 0.0
    for _ in range(20):
        try:
            limiter.check(user)
            allowed += 1
        except RateLimited as limit:
            wait = limit.seconds
    return allowed, wait


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main() -> None:
    clock = ManualClock()
    with mayfly.KVStore(clock=clock) as db:  # without a path: a temporary store
        limiter = RateLimiter(db)
        claim("of twenty calls ten are allowed", burst(limiter, "ann") == (10, 60.0))
        claim("bob has ten of his own", burst(limiter, "bob") == (10, 60.0))
        clock.now += 59
        claim("59 s later ann has to wait for one more", burst(limiter, "ann") == (0, 1.0))
        clock.now += 1
        claim("then she has ten again", burst(limiter, "ann") == (10, 60.0))
        clock.now += 60
        db.purge_expired()
        claim("no counter is left of those who went away", db.count() == 0)


if __name__ == "__main__":
    main()
