#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lock by scripts: taken in one command, extended and released in one script each.

The lock is a key with a TTL. Its value is a token of the holder. Only who has the token may extend
or release it: between a GET and a DEL of two separate commands the lock could expire, and somebody
else take it, so a script does both. While a script runs, no other command does, and nothing
expires.

A script is sent once. Later calls name it by its SHA1 (EVALSHA); redis-py sends it again if the
server answers NOSCRIPT, after a restart, say. redis.lock.Lock of redis-py does what is shown here.
"""

import os
import secrets
import time

import redis

LEASE_MS = 10_000
DOOR = "example:door"

EXTEND = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""

RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


class Lock:
    def __init__(self, server: redis.Redis, name: str):
        self.server = server
        self.name = name
        self.token = secrets.token_hex(16)
        self.extend_script = server.register_script(EXTEND)
        self.release_script = server.register_script(RELEASE)

    def acquire(self, lease_ms: int = LEASE_MS) -> bool:
        return bool(self.server.set(self.name, self.token, px=lease_ms, nx=True))

    def extend(self, lease_ms: int = LEASE_MS) -> bool:
        """False: it is not ours any more. Stop the work."""
        return self.extend_script(keys=[self.name], args=[self.token, lease_ms]) == 1

    def release(self) -> bool:
        return self.release_script(keys=[self.name], args=[self.token]) == 1


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    server.delete(DOOR)
    ann, bob = Lock(server, DOOR), Lock(server, DOOR)
    claim("ann takes the lock", ann.acquire())
    claim("bob is refused", not bob.acquire())
    claim("bob cannot release or extend what is not his", not bob.release() and not bob.extend())
    claim("ann extends it", ann.extend(60_000) and server.pttl(DOOR) > LEASE_MS)
    claim("ann releases it, and bob takes it", ann.release() and bob.acquire(50))
    while server.exists(DOOR):  # bob crashes here, say: he does not extend it
        time.sleep(0.002)
    claim("it is free when the lease is over", ann.acquire())
    claim("bob is told that he has lost it", not bob.extend())
    server.script_flush()  # as a restart does
    claim("a script that the server has lost is sent again", ann.release())
    claim("nothing is left", not server.exists(DOOR))


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
