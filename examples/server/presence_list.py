#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presence list: who is online, by a server, for all web servers at once.

The users who are online are one set, and each member has a deadline of its own (SADDEX). A browser
sends a heartbeat every 20 seconds, which puts the deadline off to a minute from then. A user whose
browser is closed, or whose network is gone, sends none, and a minute later is no member: nobody
looks for silent users, and SCARD is exact. Since it is a set, it can be intersected with others.
"""

import os
import time

import redis

ONLINE_S = 60
ONLINE = "example:online"


class Presence:
    def __init__(self, server: redis.Redis):
        self.server = server

    def heartbeat(self, user: str) -> bool:
        """Whether the user has just come online."""
        added = self.server.execute_command("SADDEX", ONLINE, "EX", ONLINE_S, "MEMBERS", 1, user)
        return added == 1

    def log_out(self, user: str) -> None:
        self.server.srem(ONLINE, user)

    def is_online(self, user: str) -> bool:
        return bool(self.server.sismember(ONLINE, user))

    def count(self) -> int:
        return self.server.scard(ONLINE)

    def friends_online(self, user: str) -> set[str]:
        return self.server.sinter(ONLINE, f"example:friends:{user}")

    def seconds_left(self, user: str) -> int:
        """Until the user counts as offline; -2 for one who is."""
        return self.server.execute_command("STTL", ONLINE, "MEMBERS", 1, user)[0]

    def be_silent(self, user: str) -> None:
        """Instead of waiting for a minute without a heartbeat: the deadline comes at once."""
        self.server.execute_command("SPEXPIRE", ONLINE, 1, "MEMBERS", 1, user)
        while self.is_online(user):
            time.sleep(0.002)


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    presence = Presence(server)
    server.delete(ONLINE)
    server.sadd("example:friends:ann", "bob", "cat", "dan")
    claim("ann, bob and cat come online", all(presence.heartbeat(u) for u in ("ann", "bob", "cat")))
    claim("ann's next heartbeat is no news", not presence.heartbeat("ann"))
    claim("two of ann's friends are online", presence.friends_online("ann") == {"bob", "cat"})
    presence.log_out("cat")
    claim("cat logs out", not presence.is_online("cat"))
    claim("bob has a minute", 0 < presence.seconds_left("bob") <= ONLINE_S)
    presence.be_silent("bob")
    claim("bob's browser is closed: a minute later he is gone", presence.seconds_left("bob") == -2)
    claim("one user is online, exactly", presence.count() == 1)
    claim("none of ann's friends is online", presence.friends_online("ann") == set())
    presence.be_silent("ann")
    claim("with the last member the key is gone", not server.exists(ONLINE))
    server.delete("example:friends:ann")


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
