# SPDX-License-Identifier: Apache-2.0
"""A cluster with Debian's python3-redis, run by Debian's own Python: what clients_test.py starts.

It says `ready` when it has begun, works until its input ends, and prints what it has seen as one
line of JSON, as tests/node/cluster_work.js does.
"""

import contextlib
import json
import logging
import os
import sys
import threading
import time

from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import (ClusterDownError, ConnectionError, RedisClusterException, RedisError,
                              ResponseError, TimeoutError)

PREFIX = os.environ.get("PREFIX", "python")
HAS_FIELD_DEADLINES = os.environ.get("PEER") != "redis"
SEEDS = [place.split(":") for place in os.environ["SEEDS"].split(",")]
SHARDS = int(os.environ.get("SHARDS", "3"))
WORKERS = 3
PATIENCE_S = 30
SCRIPT = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"


def connect(**options):
    return RedisCluster(startup_nodes=[ClusterNode(host, int(port)) for host, port in SEEDS],
                        socket_timeout=5, decode_responses=True,
                        **options)


def same(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}")


class Tally:
    def __init__(self):
        self.requests = 0
        self.errors = {}
        self.lost = []
        self.longest_ms = 0

    def note(self, what, ask):
        """The reply; None if it failed."""
        begin = time.monotonic()
        try:
            return ask()
        except (RedisError, RedisClusterException, OSError) as error:
            message = f"{what}: {type(error).__name__} {error}"
            self.errors[message] = self.errors.get(message, 0) + 1
            return None
        finally:
            self.requests += 1
            self.longest_ms = max(self.longest_ms, int((time.monotonic() - begin) * 1000))


class Worker(threading.Thread):
    """The only one who writes its key: what it reads is no older than what it knows to be safe."""

    def __init__(self, number, tally, is_over):
        super().__init__(daemon=True)
        self.key = f"{PREFIX}:{number}"
        self.tally = tally
        self.is_over = is_over
        self.client = connect()
        self.safe = self.last = 0

    def run(self):
        while not self.is_over.wait(0.002):
            self.last += 1
            if (self.tally.note("set", lambda: self.again(self.set_safe)) or 0) >= 1:
                self.safe = self.last
            seen = self.tally.note("get", lambda: self.again(self.read))
            if seen is not None and int(seen) < self.safe:
                self.tally.lost.append(f"{self.key} is {seen} after {self.safe} was safe")
            self.others()

    def read(self):
        return self.client.get(self.key) or 0

    def again(self, ask):
        """This version cannot ask for the map again once a node was down (it copies its lock): who
        uses it makes a new client. It hides MOVED, but not of a pipeline that it cannot send."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except (RedisClusterException, ConnectionError, TimeoutError, ClusterDownError):
                if time.monotonic() > end:
                    raise
                self.is_over.wait(0.05)
            with contextlib.suppress(RedisClusterException, RedisError):
                self.client = connect()

    def set_safe(self):
        """The pool of a node gives the connection back that was used last."""
        self.client.set(self.key, self.last)
        node = self.client.get_node_from_key(self.key)
        try:
            return self.client.get_redis_connection(node).execute_command("WAIT", 1, 900)
        except RedisError:
            return 0  # it has died meanwhile

    def others(self):
        tag, value = "{" + self.key + "}", self.last
        kinds = [self.hash, self.pipeline,
                 lambda: self.client.eval(SCRIPT, 1, tag + "s", value),
                 lambda: self.client.zadd(tag + "z", {f"m{value % 50}": value}),
                 lambda: self.client.xadd(tag + "x", {"n": value}, maxlen=100)]
        kind = kinds[value % len(kinds)]
        self.tally.note(getattr(kind, "__name__", "other"), lambda: self.again(kind))

    def hash(self):
        key, field = "{" + self.key + "}h", f"f{self.last % 20}"
        if HAS_FIELD_DEADLINES:
            self.client.execute_command("HSETEX", key, "PX", 60_000, "FIELDS", 1, field, self.last)
        else:
            self.client.hset(key, field, self.last)
        return self.client.hget(key, field)

    def pipeline(self):
        """Over all shards."""
        pipeline = self.client.pipeline()
        for number in range(10):
            pipeline.set(f"{self.key}:p{number}", self.last)
        return all(pipeline.execute())


def types(client):
    key = ("{" + PREFIX + ":types}").__add__
    same(client.set(key("s"), "v"), True)
    same(client.mget(key("s"), key("nothing")), ["v", None])
    same(client.mset_nonatomic({f"{PREFIX}:{n}:m": n for n in range(50)}), [True] * 50)
    same(client.mget_nonatomic([f"{PREFIX}:{n}:m" for n in range(50)]),
         [str(n) for n in range(50)])
    same(client.hset(key("h"), "f", "v"), 1)
    same(client.sadd(key("set"), "a", "b"), 2)
    same(client.zadd(key("z"), {"a": 1, "b": 2}), 2)
    same(client.rpush(key("l"), "a", "b"), 2)
    same(client.lrange(key("l"), 0, -1), ["a", "b"])
    if HAS_FIELD_DEADLINES:
        same(client.execute_command("HSETEX", key("e"), "PX", 50_000, "FIELDS", 1, "f", "v"), 1)
        same(client.execute_command("HPEXPIRE", key("e"), 60_000, "FIELDS", 1, "f"), [1])
    found = client.scan_iter(match=f"{PREFIX}:*:m", count=1000)
    same(len(set(found)), 50)
    try:
        client.mget("one", "two")
        raise AssertionError("keys of two slots were taken")
    except (RedisClusterException, ResponseError):
        pass
    same(len(client.get_primaries()), SHARDS)
    same(client.delete(*(f"{PREFIX}:{n}:m" for n in range(50))), 50)


def replicas(client):
    """Reads of replicas."""
    key = f"{PREFIX}:replicated"
    client.set(key, "v")
    reader = connect(read_from_replicas=True)
    end = time.monotonic() + 10
    while not all(reader.get(key) == "v" for _ in range(4)):
        if time.monotonic() > end:
            raise AssertionError("a replica does not have what was written")
    same(reader.set(key, "w"), True)
    reader.close()


def messages(client):
    subscriber = client.pubsub()
    subscriber.subscribe(f"{PREFIX}:news")
    same(subscriber.get_message(timeout=10)["type"], "subscribe")
    primaries = client.get_primaries()
    for number, node in enumerate(primaries):
        client.get_redis_connection(node).publish(f"{PREFIX}:news", number)
    heard = [subscriber.get_message(timeout=10)["data"] for _ in primaries]
    same(sorted(heard), [str(number) for number in range(len(primaries))])
    subscriber.close()


def main():
    logging.disable(logging.CRITICAL)
    client = connect()
    types(client)
    replicas(client)
    messages(client)
    tally, is_over = Tally(), threading.Event()
    workers = [Worker(number, tally, is_over) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    print("ready", flush=True)
    sys.stdin.read()
    is_over.set()
    for worker in workers:
        worker.join()
        seen = int(worker.again(worker.read))
        if seen < worker.safe:
            tally.lost.append(f"in the end, {worker.key} is {seen}; {worker.safe} was safe")
        if worker.safe == 0:
            raise AssertionError(f"{worker.key}: WAIT never said that a write is safe")
    print(json.dumps({"requests": tally.requests, "errors": tally.errors, "lost": tally.lost,
                      "longest_ms": tally.longest_ms}))


if __name__ == "__main__":
    main()
