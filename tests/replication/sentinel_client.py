# SPDX-License-Identifier: Apache-2.0
"""Asks Sentinel for the primary, and writes numbers to it until its input ends; says `safe N` when
a replica has N, too. Run by sentinel_test.py, with Debian's own Python, which has python3-redis.

    sentinel_client.py SENTINEL_PORT...
"""

import select
import sys

import redis
from redis.sentinel import MasterNotFoundError, Sentinel


def main():
    sentinel = Sentinel([("127.0.0.1", int(port)) for port in sys.argv[1:]], socket_timeout=1)
    primary = sentinel.master_for("mymaster", socket_timeout=1)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        number += 1
        try:
            # WAIT speaks of what the same connection has written.
            with primary.client() as connection:
                connection.execute_command("HSETEX", f"key:{number}", "EX", 10_000, "FIELDS", 1,
                                           "field", number)
                waited = connection.wait(1, 1000)
            if waited >= 1:
                print("safe", number, flush=True)
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError,
                redis.ResponseError, MasterNotFoundError) as error:
            print("failed", type(error).__name__, flush=True)
            select.select([sys.stdin], [], [], 0.05)


if __name__ == "__main__":
    main()
