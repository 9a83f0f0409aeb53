#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rate limiter with a sliding window by a script: at most ten calls in any minute.

A counter that expires with its window (rate_limiter.py) lets up to twice as many through around the
end of a window. Here each call is a member of a sorted set with its time as score. The script
removes the calls that are older than the window, counts the rest and adds the new call, or says how
long to wait. It is one step, so two calls at once cannot both take the last place.

The time is the server's (TIME), the same for all clients, and does not move inside a script. The
key gets a deadline one window after the last call, so users who went away cost no memory.
"""

import os
import time

import redis

LIMIT = 10
WINDOW_MS = 60_000

# Returns 0 if the call is allowed, else in how many milliseconds the next one is.
ALLOW = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = ARGV[1] * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  return math.ceil((oldest + window - now) / 1000)
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0
"""


class Limiter:
    def __init__(self, server: redis.Redis, window_ms: int = WINDOW_MS):
        self.script = server.register_script(ALLOW)
        self.window_ms = window_ms
        self.calls = 0

    def wait_ms(self, user: str) -> int:
        """0: the call is allowed."""
        self.calls += 1  # members must differ: with many processes, take a random name
        return self.script(keys=[f"example:calls:{user}"],
                           args=[self.window_ms, LIMIT, f"{os.getpid()}:{self.calls}"])


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    server.delete("example:calls:ann", "example:calls:bob")
    limiter = Limiter(server)
    waits = [limiter.wait_ms("ann") for _ in range(20)]
    claim("of twenty calls ten are allowed",
          waits[:LIMIT] == [0] * LIMIT and 0 not in waits[LIMIT:])
    claim("ann is told how long to wait", all(0 < wait <= WINDOW_MS for wait in waits[LIMIT:]))
    claim("bob has ten of his own", limiter.wait_ms("bob") == 0)
    claim("nothing is kept for longer than a window",
          0 < server.pttl("example:calls:ann") <= WINDOW_MS)

    server.delete("example:calls:ann", "example:calls:bob")
    limiter = Limiter(server, window_ms=1000)
    claim("the same with a window of a second",
          [limiter.wait_ms("ann") for _ in range(LIMIT)] == [0] * LIMIT)
    while wait := limiter.wait_ms("ann"):
        time.sleep(wait / 1000)
    claim("when the first call is as old as the window, there is a place again",
          server.zcard("example:calls:ann") <= LIMIT)
    while server.exists("example:calls:ann"):
        time.sleep(0.01)
    claim("a window after the last call the key is gone", not server.exists("example:calls:ann"))


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
