#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Session store: a session ends half an hour after its last request, and outlives the program.

A session is a key with a TTL, and each request puts its expiry off (`touch`). So there is no "last
seen" to compare with the time and no job that looks for dead sessions: from its expiry on, a
session is not there. The expiry stands in the file as a moment, not as a duration, so that the time
for which the program was down counts as well.
"""

import json
import os
import tempfile
from datetime import timedelta

import mayfly

IDLE = timedelta(minutes=30)


class Sessions:
    def __init__(self, path: str, clock):
        self.db = mayfly.KVStore(path, clock=clock)

    def log_in(self, token: str, user: str) -> None:
        self.db.put(token, json.dumps({"user": user, "cart": []}), ttl=IDLE)

    def request(self, token: str) -> dict | None:
        """The session, or None if it has ended. This is what keeps it alive."""
        try:
            self.db.touch(token, IDLE)
            return json.loads(self.db[token])
        except mayfly.NotFoundError:
            return None

    def save(self, token: str, session: dict) -> None:
        """Keeps what was changed; a session that has ended meanwhile does not come back."""
        with self.db.transaction(write=True):
            if token in self.db:
                self.db.put(token, json.dumps(session), ttl=IDLE)

    def log_out(self, token: str) -> None:
        self.db.pop(token, None)

    def clean_up(self) -> int:
        """Gives back the space of sessions that nobody asks for. For a timer of yours: nothing but
        the size of the file depends on it."""
        return self.db.purge_expired()


class ManualClock:
    """Stands still until it is moved. A store that is given no clock asks the system."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, **duration) -> None:
        self.now += timedelta(**duration).total_seconds()


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(path: str) -> None:
    clock = ManualClock()
    sessions = Sessions(path, clock)
    for token, user in (("t1", "ann"), ("t2", "bob"), ("t3", "eve")):
        sessions.log_in(token, user)
    sessions.log_out("t3")
    claim("eve logs out", sessions.request("t3") is None)
    clock.advance(minutes=20)
    ann = sessions.request("t1")
    claim("ann is here after 20 minutes", ann == {"user": "ann", "cart": []})
    sessions.save("t1", ann | {"cart": ["apple"]})

    sessions.db.close()  # the program ends, and is started again ten minutes later
    clock.advance(minutes=10)
    sessions = Sessions(path, clock)
    claim("bob, who made no request, is gone after 30", sessions.request("t2") is None)
    claim("ann is not, nor is her cart", sessions.request("t1")["cart"] == ["apple"])
    clock.advance(minutes=29, milliseconds=59_999)
    claim("nor a millisecond before her time", sessions.request("t1") is not None)
    clock.advance(minutes=30)
    claim("then she is idle for 30 minutes, and gone", sessions.request("t1") is None)
    sessions.save("t1", ann)
    claim("what she saves too late is not kept", sessions.request("t1") is None)
    sessions.log_in("t4", "joe")
    clock.advance(minutes=30)
    claim("joe goes, too; one call cleans up",
          sessions.clean_up() > 0 and sessions.db.count() == 0)
    sessions.db.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(os.path.join(folder, "sessions.db"))
