#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of python3-redis does, against the server at $PORT. python_client_test.py runs it."""

import os
import threading
import unittest

import redis

PORT = int(os.environ["PORT"])


class PythonRedisTest(unittest.TestCase):
    def setUp(self):
        self.redis = redis.Redis(port=PORT, decode_responses=True)
        self.addCleanup(self.redis.close)
        self.redis.flushall()

    def test_strings(self):
        self.assertTrue(self.redis.set("a", "1", ex=100))
        self.assertIsNone(self.redis.set("a", "2", nx=True))
        self.assertEqual(self.redis.get("a"), "1")
        self.assertEqual(self.redis.incr("a", 5), 6)
        self.assertEqual(self.redis.incrbyfloat("a", 0.5), 6.5)
        self.assertEqual(self.redis.mget("a", "b"), ["6.5", None])
        self.assertEqual(self.redis.getex("a", persist=True), "6.5")
        self.assertEqual(self.redis.ttl("a"), -1)
        self.assertEqual(self.redis.append("a", "!"), 4)
        self.assertEqual(self.redis.getdel("a"), "6.5!")
        self.assertTrue(self.redis.mset({"x": 1, "y": 2}))
        self.assertEqual(sorted(self.redis.keys()), ["x", "y"])
        self.assertEqual(self.redis.delete("x", "y", "z"), 2)
        with self.assertRaises(redis.ResponseError):
            self.redis.set("s", "x") and self.redis.incr("s")

    def test_hashes(self):
        self.assertEqual(self.redis.hset("h", mapping={"a": 1, "b": "two"}), 2)
        self.assertEqual(self.redis.hgetall("h"), {"a": "1", "b": "two"})
        self.assertEqual(self.redis.hincrby("h", "a", 4), 5)
        self.assertEqual(self.redis.hmget("h", "a", "c"), ["5", None])
        self.assertEqual(dict(self.redis.hscan_iter("h")), {"a": "5", "b": "two"})
        self.assertEqual(self.redis.hdel("h", "a"), 1)
        self.assertEqual(self.redis.hrandfield("h", 2, withvalues=True), ["b", "two"])

    def test_field_expiry(self):
        ask = self.redis.execute_command
        self.assertEqual(ask("HSETEX", "h", "EX", 100, "FIELDS", 2, "a", 1, "b", 2), 1)
        self.assertEqual(ask("HEXPIRE", "h", 50, "FIELDS", 2, "a", "c"), [1, -2])
        self.assertEqual(ask("HTTL", "h", "FIELDS", 2, "a", "b"), [50, 100])
        self.assertEqual(ask("HPERSIST", "h", "FIELDS", 1, "a"), [1])
        self.assertEqual(ask("HGETEX", "h", "PX", 1, "FIELDS", 1, "b"), ["2"])
        self.assertEqual(ask("HGETDEL", "h", "FIELDS", 1, "a"), ["1"])

    def test_sets(self):
        self.assertEqual(self.redis.sadd("s", "a", "b", "c"), 3)
        self.assertEqual(self.redis.smembers("s"), {"a", "b", "c"})
        self.assertEqual(self.redis.smismember("s", ["a", "x"]), [1, 0])
        self.assertEqual(self.redis.sadd("t", "b", "c", "d"), 3)
        self.assertEqual(self.redis.sinter("s", "t"), {"b", "c"})
        self.assertEqual(self.redis.sintercard(2, ["s", "t"], limit=1), 1)
        self.assertEqual(self.redis.sunionstore("u", "s", "t"), 4)
        self.assertEqual(self.redis.sdiff("u", "t"), {"a"})
        self.assertTrue(self.redis.smove("s", "t", "a"))
        self.assertIn(self.redis.srandmember("s"), {"b", "c"})
        self.assertEqual(len(self.redis.spop("t", 2)), 2)
        names = {f"member:{number}" for number in range(1_000)}
        self.redis.sadd("many", *names)
        self.assertEqual(set(self.redis.sscan_iter("many", count=50)), names)
        self.assertEqual(self.redis.sort("s", alpha=True, desc=True), ["c", "b"])
        with self.assertRaises(redis.ResponseError):
            self.redis.set("text", "x") and self.redis.sadd("text", "a")

    def test_sorted_sets(self):
        self.assertEqual(self.redis.zadd("z", {"a": 1, "b": 2.5, "c": "inf"}), 3)
        self.assertEqual(self.redis.zadd("z", {"a": 0, "b": 3}, gt=True, ch=True), 1)
        self.assertEqual(self.redis.zadd("z", {"a": 9, "d": 4}, nx=True), 1)
        self.assertIsNone(self.redis.zadd("z", {"x": 1}, xx=True, incr=True))
        self.assertEqual(self.redis.zincrby("z", 0.25, "a"), 1.25)
        self.assertEqual(self.redis.zrange("z", 0, -1, withscores=True),
                         [("a", 1.25), ("b", 3.0), ("d", 4.0), ("c", float("inf"))])
        self.assertEqual(self.redis.zrange("z", 4, "-inf", byscore=True, desc=True, offset=1,
                                           num=1), ["b"])
        self.assertEqual(self.redis.zmscore("z", ["a", "x"]), [1.25, None])
        self.assertEqual((self.redis.zrank("z", "d"), self.redis.zrevrank("z", "d")), (2, 1))
        self.assertEqual(self.redis.zcount("z", "(1.25", "+inf"), 3)
        self.redis.zadd("y", {"a": 1, "b": 1})
        self.assertEqual(self.redis.zlexcount("y", "[a", "(b"), 1)
        self.assertEqual(self.redis.zunionstore("u", {"y": 2, "z": 1}, aggregate="MAX"), 4)
        self.assertEqual(self.redis.zscore("u", "a"), 2)
        self.assertEqual(self.redis.zinter(["y", "z"], withscores=True), [("a", 2.25), ("b", 4.0)])
        self.assertEqual(self.redis.zpopmin("z", 2), [("a", 1.25), ("b", 3.0)])
        self.assertEqual(self.redis.zmpop(2, ["nothing", "y"], min=True), ["y", [["a", "1"]]])
        scores = {f"member:{number}": number / 2 for number in range(1_000)}
        self.redis.zadd("many", scores)
        self.assertEqual(dict(self.redis.zscan_iter("many", count=50)), scores)

    def test_blocking_pops(self):
        self.assertIsNone(self.redis.bzpopmin("queue", timeout=0.01))
        with redis.Redis(port=PORT, decode_responses=True) as other:
            waiting = threading.Thread(target=lambda: served.append(other.bzpopmax("queue", 0)))
            served = []
            waiting.start()
            while self.redis.info("clients")["blocked_clients"] != 1:
                pass
            self.redis.execute_command("ZADDEX", "queue", "EX", 0, "MEMBERS", 1, 9, "too late")
            self.redis.zadd("queue", {"job": 1.5, "next": 1})
            waiting.join()
        self.assertEqual(served, [("queue", "job", 1.5)])
        self.assertEqual(self.redis.bzpopmin("queue"), ("queue", "next", 1.0))

    def test_member_expiry(self):
        ask = self.redis.execute_command
        for letter, score in (("S", ()), ("Z", (1,))):
            key = letter.lower()
            added = ask(f"{letter}ADDEX", key, "EX", 100, "MEMBERS", 2, *score, "a", *score, "b")
            self.assertEqual(added, 2)
            self.assertEqual(ask(f"{letter}EXPIRE", key, 50, "MEMBERS", 2, "a", "c"), [1, -2])
            self.assertEqual(ask(f"{letter}TTL", key, "MEMBERS", 2, "a", "b"), [50, 100])
            self.assertEqual(ask(f"{letter}PERSIST", key, "FIELDS", 1, "a"), [1])
            self.assertEqual(ask(f"{letter}PEXPIREAT", key, 1, "MEMBERS", 1, "b"), [2])
            self.assertEqual(ask(f"{letter}CARD", key), 1)
        self.assertEqual(ask("FIELDEXPIRE", "s", 50, "a"), [1])
        self.assertEqual(ask("TTL", "s", "a"), 50)

    def test_pipelines_and_transactions(self):
        with self.redis.pipeline(transaction=False) as pipe:
            for number in range(1_000):
                pipe.set(f"k{number}", number)
            self.assertTrue(all(pipe.execute()))
        with self.redis.pipeline() as pipe:
            self.assertEqual(pipe.incr("n").hset("h", "f", "v").get("k7").execute(), [1, 1, "7"])
        with self.redis.pipeline() as pipe:
            pipe.watch("n")
            value = int(pipe.get("n"))
            self.redis.set("n", 100)
            pipe.multi()
            pipe.set("n", value + 1)
            with self.assertRaises(redis.WatchError):
                pipe.execute()
        self.assertEqual(self.redis.transaction(
            lambda pipe: (pipe.get("n"), pipe.multi(), pipe.incr("n")), "n"), [101])

    def test_scan(self):
        names = {f"key:{number}" for number in range(2_000)}
        self.redis.mset({name: 1 for name in names})
        self.assertEqual(set(self.redis.scan_iter(count=50)), names)
        self.assertEqual(set(self.redis.scan_iter("key:1??", _type="string")),
                         {f"key:1{number:02}" for number in range(100)})

    def test_keyspace_notifications(self):
        self.redis.config_set("notify-keyspace-events", "KEA")
        with self.redis.pubsub(ignore_subscribe_messages=False) as events:
            events.psubscribe("__keyevent@0__:*")
            self.assertEqual(events.get_message(timeout=10)["type"], "psubscribe")
            self.redis.set("a", 1, px=500)
            self.redis.execute_command("HSETEX", "h", "PX", 500, "FIELDS", 1, "f", "v")
            seen = []
            while len(seen) < 7:
                message = events.get_message(timeout=10)
                seen.append((message["channel"].split(":")[1], message["data"]))
        self.assertEqual(seen[:4], [("set", "a"), ("expire", "a"), ("hset", "h"), ("hexpire", "h")])
        self.assertEqual(sorted(seen[4:]), [("del", "h"), ("expired", "a"), ("hexpired", "h")])
        self.redis.config_set("notify-keyspace-events", "")

    def test_locks(self):
        first = redis.lock.Lock(self.redis, "lock", timeout=1)
        second = redis.lock.Lock(self.redis, "lock", timeout=5, blocking_timeout=10)
        self.assertTrue(first.acquire())
        self.assertTrue(first.locked() and first.owned())
        self.assertTrue(second.acquire(), "after the TTL of the first")
        self.assertFalse(first.owned())
        self.assertRaises(redis.exceptions.LockNotOwnedError, first.release)
        second.release()
        self.assertFalse(second.locked())

    def test_administration(self):
        self.assertIn("expired_keys", self.redis.info())
        self.assertIn("db0", self.redis.info("keyspace") if self.redis.set("a", 1) else {})
        self.assertEqual(self.redis.config_get("maxmemory"), {"maxmemory": "0"})
        self.assertTrue(self.redis.client_setname("me"))
        self.assertTrue(any(row["name"] == "me" for row in self.redis.client_list()))
        self.assertEqual(self.redis.client_info()["name"], "me")
        self.assertIsInstance(self.redis.slowlog_get(), list)
        self.assertIsInstance(self.redis.time(), tuple)
        self.assertIn("get", self.redis.command())
        self.assertEqual(self.redis.object("encoding", "a"), "int")
        self.assertGreater(self.redis.memory_usage("a"), 0)


if __name__ == "__main__":
    unittest.main()
