#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of python3-redis does with scripts: locks, which extend and release by Lua, scripts
that are registered, pipelines with both. python_programs_test.py runs it with a server at $PORT.
"""

import asyncio
import os
import threading
import unittest

import redis
import redis.asyncio
from redis.exceptions import LockError, LockNotOwnedError

PORT = int(os.environ["PORT"])


def connect():
    return redis.Redis(port=PORT, decode_responses=True)


class LockTest(unittest.TestCase):
    def setUp(self):
        self.redis = connect()
        self.addCleanup(self.redis.close)
        self.redis.flushall()

    def test_a_lock_that_is_held_is_refused_and_free_when_released(self):
        first, second = (self.redis.lock("door", timeout=60) for _ in range(2))
        self.assertTrue(first.acquire())
        self.assertTrue(first.locked() and first.owned())
        self.assertFalse(second.acquire(blocking=False))
        self.assertFalse(second.acquire(blocking_timeout=0.05))
        with self.assertRaises(LockError):
            second.release()
        first.release()
        self.assertFalse(self.redis.exists("door"))
        self.assertTrue(second.acquire(blocking=False))
        second.release()

    def test_a_lock_is_extended_and_reacquired(self):
        lock = self.redis.lock("door", timeout=10)
        self.assertTrue(lock.acquire())
        self.assertTrue(lock.extend(20))
        self.assertTrue(20_000 < self.redis.pttl("door") <= 30_000)
        self.assertTrue(lock.extend(5, replace_ttl=True))
        self.assertTrue(0 < self.redis.pttl("door") <= 5_000)
        self.assertTrue(lock.reacquire())
        self.assertTrue(5_000 < self.redis.pttl("door") <= 10_000)
        lock.release()

    def test_a_lock_that_was_lost_is_not_anothers(self):
        lost = self.redis.lock("door", timeout=0.2)
        self.assertTrue(lost.acquire())
        waiting = self.redis.lock("door", timeout=60, sleep=0.01, blocking_timeout=20)
        self.assertTrue(waiting.acquire(), "after the time of the first")
        self.assertFalse(lost.owned())
        for action in (lost.release, lambda: waiting.owned() and lost.extend(5)):
            with self.assertRaises(LockError):
                action()
        self.assertTrue(waiting.owned())
        waiting.release()
        taken = self.redis.lock("door", timeout=60)
        taken.acquire()
        self.redis.set("door", "another's")
        with self.assertRaises(LockNotOwnedError):
            taken.extend(5)
        with self.assertRaises(LockNotOwnedError):
            taken.reacquire()
        with self.assertRaises(LockNotOwnedError):
            taken.release()
        self.assertEqual(self.redis.get("door"), "another's")

    def test_one_of_many_holds_it_at_a_time(self):
        inside, most, total = 0, 0, 0

        def work():
            nonlocal inside, most, total
            with connect() as client, client.lock("door", timeout=60, sleep=0.002):
                inside += 1
                most = max(most, inside)
                client.ping()
                total += 1
                inside -= 1

        threads = [threading.Thread(target=work) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((most, total), (1, 10))

    def test_asyncio(self):
        async def main():
            client = redis.asyncio.Redis(port=PORT)
            async with client.lock("door", timeout=60) as lock:
                self.assertFalse(await client.lock("door").acquire(blocking=False))
                self.assertTrue(await lock.extend(10))
            self.assertFalse(await client.exists("door"))
            script = client.register_script("return redis.call('INCR', KEYS[1])")
            self.assertEqual(await script(keys=["n"]), 1)
            await client.close()

        asyncio.run(main())


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.redis = connect()
        self.addCleanup(self.redis.close)
        self.redis.flushall()
        self.redis.script_flush()

    def test_a_registered_script_is_loaded_when_it_is_missing(self):
        multiply = self.redis.register_script("""
            local value = redis.call('GET', KEYS[1])
            return tonumber(value) * tonumber(ARGV[1])""")
        self.redis.set("n", 7)
        self.assertEqual(multiply(keys=["n"], args=[6]), 42)
        self.assertEqual(self.redis.script_exists(multiply.sha), [True])
        self.redis.script_flush()
        self.assertEqual(multiply(keys=["n"], args=[2]), 14)

    def test_scripts_in_pipelines(self):
        add = self.redis.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
        for transaction in (True, False):
            self.redis.delete("n")
            with self.redis.pipeline(transaction=transaction) as pipe:
                for amount in range(100):
                    add(keys=["n"], args=[amount], client=pipe)
                pipe.get("n")
                self.assertEqual(pipe.execute()[-2:], [4950, "4950"])
        with self.redis.pipeline() as pipe:
            pipe.set("text", "x")
            pipe.eval("return redis.call('INCR', KEYS[1])", 1, "text")
            pipe.set("after", 1)
            replies = pipe.execute(raise_on_error=False)
        self.assertTrue(replies[0] and replies[2])
        self.assertIsInstance(replies[1], redis.ResponseError)

    def test_errors_are_of_their_classes(self):
        with self.assertRaises(redis.exceptions.NoScriptError):
            self.redis.evalsha("f" * 40, 0)
        for script in ("this is no Lua", "return redis.call('NO COMMAND')", "error('mine')",
                       "return redis.error_reply('MY own')", "return nothing"):
            with self.assertRaises(redis.ResponseError):
                self.redis.eval(script, 0)
        with self.assertRaises(redis.ResponseError):
            self.redis.script_kill()

    def test_functions(self):
        self.redis.function_flush()
        library = ("#!lua name=mine\nredis.register_function('double', "
                   "function(keys, args) return args[1] * 2 end)")
        self.assertEqual(self.redis.function_load(library), "mine")
        self.assertEqual(self.redis.fcall("double", 0, 21), 42)
        self.assertEqual(len(self.redis.function_list(library="mine")), 1)
        self.assertTrue(self.redis.function_delete("mine"))
        with self.assertRaises(redis.ResponseError):
            self.redis.fcall("double", 0, 21)


if __name__ == "__main__":
    unittest.main()
