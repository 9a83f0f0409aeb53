#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When something expires, do something: a worker that reads the server's expiry log.

Each expiry is an entry of the stream `__expired__`. A consumer group gives each entry to one worker
and remembers it until it is acknowledged, so one who was away misses nothing, and what a worker
that crashed has not finished goes to another. Keyspace notifications cannot do that.

The log is an option of the server, `expiry-log yes`. This program turns it on, and off at the end.
"""

import os

import redis

LOG, GROUP = "__expired__", "carts"
IDLE_MS = 30_000  # a worker that has an entry for longer is taken for dead


class Worker:
    def __init__(self, server: redis.Redis, name: str):
        self.server, self.name = server, name
        try:
            server.xgroup_create(LOG, GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    def take(self, wait_ms=5_000, idle_ms=IDLE_MS) -> list:
        """Entries of workers that have crashed, else new ones."""
        lost = self.server.xautoclaim(LOG, GROUP, self.name, idle_ms, count=10)[1]
        if lost:
            return lost
        new = self.server.xreadgroup(GROUP, self.name, {LOG: ">"}, count=10, block=wait_ms)
        return new[0][1] if new else []

    def done(self, entry_id: str) -> None:
        """After the work: one who crashes before this does the work again."""
        self.server.xack(LOG, GROUP, entry_id)


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    server.config_set("expiry-log", "yes")
    ann, bob = Worker(server, "ann"), Worker(server, "bob")
    server.hset("example:cart", mapping={"milk": 2, "bread": 1})
    server.execute_command("HPEXPIRE", "example:cart", 20, "FIELDS", 1, "milk")
    [(entry, fields)] = ann.take()
    claim("the worker is told of the member that expired",
          (fields["key"], fields["member"]) == ("example:cart", "milk"))
    claim("each entry goes to one worker", bob.take(wait_ms=1) == [])
    claim("what a worker has not finished goes to another",
          bob.take(idle_ms=0) == [(entry, fields)])
    bob.done(entry)
    server.set("example:order", "7", px=20)
    [(entry, fields)] = bob.take()
    claim("a whole key has no member", fields["key"] == "example:order" and "member" not in fields)
    bob.done(entry)
    claim("nothing is left to do", server.xpending(LOG, GROUP)["pending"] == 0)
    try:
        server.delete(LOG)
        claim("clients cannot change the log", False)
    except redis.ResponseError:
        claim("clients cannot change the log", True)
    server.config_set("expiry-log", "no")
    server.delete(LOG, "example:cart")


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
