#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Locks with leases: only one process does the work, and a crash of that one stops nobody for long.

A lock is a key with a TTL, put only if it is absent. A holder that lives renews it; one that
crashed does not, and then the expiry opens the lock: nobody has to find out who died.

A lease can end without its holder noticing: it was suspended, say. So each lease has a number,
greater than all before it. It is the value of the lock, by which renew and release make sure that
the lock is still theirs; and what the lock protects refuses a number that is out of date.
"""

import mayfly

LEASE = 10.0


class Lease:
    def __init__(self, db: mayfly.KVStore, name: str, number: int):
        self.db, self.key, self.number = db, f"lock:{name}", number

    @classmethod
    def acquire(cls, db: mayfly.KVStore, name: str) -> "Lease | None":
        """None while somebody else has the lock."""
        with db.transaction(write=True):
            number = db.increment(f"leases:{name}")
            taken = db.put_if_absent(f"lock:{name}", str(number), ttl=LEASE)
        return cls(db, name, number) if taken else None

    def is_mine(self) -> bool:
        return self.db.get(self.key) == str(self.number).encode()

    def renew(self) -> bool:
        """Whether the lease goes on. Not if it has ended, whose the lock may be now."""
        with self.db.transaction(write=True):  # in which nothing happens between two calls
            if mine := self.is_mine():
                self.db.touch(self.key, LEASE)
        return mine

    def release(self) -> bool:
        """Whether the lock was still held. Never takes it from somebody else."""
        with self.db.transaction(write=True):
            if mine := self.is_mine():
                self.db.delete(self.key)
        return mine


class Report:
    """What the lock protects; on another machine, perhaps."""

    def __init__(self):
        self.newest = 0
        self.text = ""

    def write(self, text: str, number: int) -> bool:
        if number < self.newest:
            return False
        self.newest, self.text = number, text
        return True


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
    clock, report = ManualClock(), Report()
    # A temporary store, since it has no path. With one all processes share the locks, and a write
    # waits for those of other processes, a second at most.
    with mayfly.KVStore(clock=clock, busy_timeout=1000) as db:
        ann = Lease.acquire(db, "report")
        claim("ann has the lock, bob has not", ann and Lease.acquire(db, "report") is None)
        clock.now += 8
        claim("ann renews her lease", ann.renew())
        clock.now += 8
        claim("so she has it 16 s later, too", Lease.acquire(db, "report") is None)

        clock.now += 2  # ann is suspended; ten seconds after she renewed it, her lease is over
        bob = Lease.acquire(db, "report")
        claim("bob gets the lock, with a greater number", bob and bob.number > ann.number)
        claim("he writes", report.write("by bob", bob.number))
        claim("ann wakes up: she can't renew", not ann.renew())
        claim("nor release what is now bob's", not ann.release())
        claim("nor write", not report.write("by ann", ann.number) and report.text == "by bob")
        claim("bob releases the lock", bob.release())
        claim("and it is free at once", Lease.acquire(db, "report") is not None)


if __name__ == "__main__":
    main()
