#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts and functions over real connections: those that take long, those that are in the way of a
crash, and very many of them.

    MAYFLY=build/release/mayfly python3 tests/server/scripting_test.py
"""

import hashlib
import threading
import unittest

from mayfly_server import Mayfly, Redis
from resp_client import Client, Closed, Failure, await_that, pause, request

FOREVER = "while true do end"
WRITE_TEN = "for i = 1, 10 do redis.call('SET', 'k' .. i, ARGV[1]) end return 'OK'"
LIBRARY = ("#!lua name=tens\n"
           "redis.register_function('write_ten', function(keys, args)\n"
           "  for i = 1, 10 do redis.call('SET', 'k' .. i, args[1]) end return 'OK' end)\n")
SCRIPTS = 100_000
ROUNDS = 5  # of crashes
BUSY = "BUSY Mayfly is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."


class ScriptingCase(unittest.TestCase):
    def start(self, *options, kind=Mayfly):
        return self.enterContext(kind(*options))

    def run_long(self, server, code, *words):
        """A client whose script runs for long; it is busy when this returns."""
        client = server.client()
        client.send("EVAL", code, *(words or (0,)))
        with server.client() as other:
            await_that(lambda: str(other.ask("PING")).startswith("BUSY"), "the script is busy")
        return client


class BusyTest(ScriptingCase):
    def setUp(self):
        self.server = self.start("--busy-reply-threshold", "50")
        self.other = self.server.client()

    def test_others_get_busy_until_it_is_killed(self):
        busy = self.run_long(self.server, FOREVER)
        self.assertEqual(self.other.ask("GET", "k"), Failure(BUSY))
        self.assertEqual(self.other.ask("FUNCTION", "KILL"), Failure(BUSY))
        self.assertEqual(self.other.ok("CLIENT", "SETNAME", "me"), "OK")
        with Client(self.server.port) as fresh:  # connections are accepted meanwhile
            self.assertEqual(fresh.ask("GET", "k"), Failure(BUSY))
        self.assertEqual(self.other.ask("SCRIPT", "KILL"), "OK")
        reply = busy.receive()
        self.assertIsInstance(reply, Failure)
        self.assertIn("Script killed by user with SCRIPT KILL", str(reply))
        self.assertEqual(busy.ask("PING"), "PONG")
        self.assertEqual(self.other.ask("PING"), "PONG")
        self.assertEqual(self.other.ask("SCRIPT", "KILL"),
                         Failure("NOTBUSY No scripts in execution right now."))

    def test_replies_before_a_busy_script_are_in_order(self):
        busy = self.server.client()
        busy.write(request("SET", "k", "v") + request("CLIENT", "REPLY", "SKIP")
                   + request("EVAL", FOREVER, 0) + request("GET", "k"))
        await_that(lambda: str(self.other.ask("PING")).startswith("BUSY"), "the script is busy")
        self.other.ok("SCRIPT", "KILL")
        self.assertEqual(busy.receive(), "OK")
        self.assertEqual(busy.receive(), b"v")

    def test_one_that_has_written_cannot_be_killed(self):
        self.run_long(self.server, "redis.call('SET', 'k', 1) while true do end")
        reply = self.other.ask("SCRIPT", "KILL")
        self.assertTrue(str(reply).startswith("UNKILLABLE"), reply)
        self.assertEqual(self.other.ask("SHUTDOWN"), Failure(BUSY))
        self.other.send("SHUTDOWN", "NOSAVE")
        with self.assertRaises(Closed):
            self.other.receive()
        self.server.process.wait(20)
        self.server.ended = True
        self.assertEqual(self.server.process.returncode, 0)

    def test_the_caller_goes_away(self):
        busy = self.run_long(self.server, "redis.call('INCR', 'k') local n = 0 "
                             "for i = 1, 3e8 do n = n + i end redis.call('INCR', 'k')")
        busy.close()
        await_that(lambda: self.other.ask("GET", "k") == b"2", "the script has ended")
        self.assertEqual(self.other.info("connected_clients"), 1)

    def test_clients_come_and_go_meanwhile(self):
        busy = self.run_long(self.server, FOREVER)
        for _ in range(50):
            clients = [Client(self.server.port) for _ in range(10)]
            for client in clients:
                client.send("GET", "k")
            for number, client in enumerate(clients):
                if number % 2:
                    self.assertEqual(client.receive(), Failure(BUSY))
                client.close()
        self.other.ok("SCRIPT", "KILL")
        self.assertIsInstance(busy.receive(), Failure)
        await_that(lambda: self.other.info("connected_clients") == 2, "they are gone")

    def test_functions_are_killed_too(self):
        self.other.ok("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() "
                      "while true do end end)")
        busy = self.server.client()
        busy.send("FCALL", "f", 0)
        await_that(lambda: str(self.other.ask("PING")).startswith("BUSY"), "the function is busy")
        stats = self.other.ok("FUNCTION", "STATS")
        self.assertEqual(stats[1][1], b"f")
        self.other.ok("FUNCTION", "KILL")
        self.assertIn("FUNCTION KILL", str(busy.receive()))

    def test_a_busy_replica_takes_up_the_stream_again(self):
        primary = self.start()
        writer = primary.client()
        self.other.ok("REPLICAOF", "127.0.0.1", primary.port)
        await_that(lambda: writer.ok("WAIT", 1, 10) == 1, "the replica is there")
        busy = self.run_long(self.server, "local a = redis.call('GET', 'n') while true do "
                             "if redis.call('GET', 'n') ~= a then return 'changed' end end")
        writer.ok("SET", "n", 1)
        pause(0.2)
        self.other.ok("SCRIPT", "KILL")
        self.assertIn("killed", str(busy.receive()))  # nothing was applied under it
        await_that(lambda: self.other.ask("GET", "n") == b"1", "the stream goes on")


class CrashTest(ScriptingCase):
    def values(self, server):
        return set(server.client().ok("MGET", *[f"k{i}" for i in range(1, 11)]))

    def write_until_killed(self, server, words):
        """Numbers from 1, as fast as it goes. Returns the last that was confirmed."""
        client = self.enterContext(Client(server.port))
        confirmed = 0
        killer = threading.Timer(0.3, server.kill)
        killer.start()
        try:
            while True:
                number = confirmed + 1
                client.ok(*words, number)
                confirmed = number
        except Closed:
            killer.join()
            return confirmed

    def check_whole(self, words):
        server = self.start("--appendonly", "yes", "--appendfsync", "always")
        with server.client() as client:
            client.ok("FUNCTION", "LOAD", LIBRARY)
        for _ in range(ROUNDS):
            confirmed = self.write_until_killed(server, words)
            server.restart()
            values = self.values(server)
            self.assertEqual(len(values), 1, values)
            (value,) = values
            self.assertIn(int(value or 0), (confirmed, confirmed + 1))
            self.assertEqual(server.client().ok("FCALL", "write_ten", 0, "0"), b"OK")

    def test_a_script_is_whole_or_not_at_all(self):
        self.check_whole(("EVAL", WRITE_TEN, 0))

    def test_a_function_is_whole_and_stays(self):
        self.check_whole(("FCALL", "write_ten", 0))

    def test_functions_survive_a_rewrite_and_a_kill(self):
        for preamble in ("yes", "no"):
            server = self.start("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
            client = server.client()
            client.ok("FUNCTION", "LOAD", LIBRARY)
            client.ok("BGREWRITEAOF")
            await_that(lambda: not client.info("aof_rewrite_in_progress"), "it is rewritten")
            server.kill()
            server.restart()
            self.assertEqual(server.client().ok("FCALL", "write_ten", 0, "x"), b"OK")


class ManyTest(ScriptingCase):
    def test_many_scripts_take_no_more_memory(self):
        server = self.start()
        client = server.client()

        def run(first, last):
            return client.pipeline([("EVAL", f"return {number}", 0)
                                    for number in range(first, last)])

        self.assertEqual(run(0, 5_000), list(range(5_000)))
        before = client.infos()
        self.assertEqual(run(5_000, SCRIPTS), list(range(5_000, SCRIPTS)))
        after = client.infos()
        self.assertEqual(after["number_of_cached_scripts"], 500)
        self.assertEqual(after["evicted_scripts"], SCRIPTS - 500)
        self.assertLess(after["used_memory"], before["used_memory"] + (2 << 20))
        self.assertLess(after["used_memory_vm_eval"], 2 * before["used_memory_vm_eval"])

    def test_those_that_are_loaded_stay(self):
        server = self.start()
        client = server.client()
        digest = hashlib.sha1(b"return 'kept'").hexdigest()
        self.assertEqual(client.ok("SCRIPT", "LOAD", "return 'kept'"), digest.encode())
        client.pipeline([("EVAL", f"return {number}", 0) for number in range(2_000)])
        self.assertEqual(client.ok("EVALSHA", digest, 0), b"kept")
        self.assertEqual(client.ok("SCRIPT", "EXISTS", digest, "0" * 40), [1, 0])

    def test_a_script_without_end_takes_limited_memory(self):
        server = self.start("--lua-memory-limit", "20mb")
        client = server.client()
        for _ in range(3):
            reply = client.ask("EVAL", "local t = {} while true do t[#t + 1] = {#t} end", 0)
            self.assertIn("not enough memory", str(reply))
            self.assertEqual(client.ok("EVAL", "return redis.call('SET', 'k', 'v')", 0), "OK")
        self.assertLess(client.info("used_memory_vm_eval"), 21 << 20)


class ReplicaTest(ScriptingCase):
    def test_a_replica_has_functions_and_effects(self):
        server, replica = self.start(), self.start()
        client, reader = server.client(), replica.client()
        client.ok("FUNCTION", "LOAD", LIBRARY)
        client.ok("EVAL", "redis.call('SET', 'r', math.random()) "
                  "redis.call('SET', 'e', 'v', 'PX', 100000)", 0)
        reader.ok("FUNCTION", "LOAD", LIBRARY.replace("tens", "old").replace("write_ten", "old"))
        reader.ok("REPLICAOF", "127.0.0.1", server.port)
        await_that(lambda: client.ok("WAIT", 1, 10) == 1, "the replica is there")
        self.assertEqual([dict(zip(one[::2], one[1::2]))[b"library_name"]
                          for one in reader.ok("FUNCTION", "LIST")], [b"tens"])
        client.ok("FCALL", "write_ten", 0, "x")
        client.ok("EVAL", "for i = 1, 100 do redis.call('RPUSH', 'l', math.random()) end", 0)
        self.assertEqual(client.ok("WAIT", 1, 10_000), 1)
        for words in (("MGET", "r", "k1", "k10"), ("LRANGE", "l", 0, -1), ("PEXPIRETIME", "e")):
            self.assertEqual(client.ok(*words), reader.ok(*words))
        client.ok("FUNCTION", "DELETE", "tens")
        self.assertEqual(client.ok("WAIT", 1, 10_000), 1)
        self.assertEqual(reader.ok("FUNCTION", "LIST"), [])

    def test_redis_takes_what_a_dump_has(self):
        ours, theirs = self.start().client(), self.start(kind=Redis).client()
        ours.ok("FUNCTION", "LOAD", LIBRARY)
        theirs.ok("FUNCTION", "RESTORE", ours.ok("FUNCTION", "DUMP"))
        self.assertEqual(theirs.ok("FCALL", "write_ten", 0, "x"), b"OK")
        ours.ok("FUNCTION", "FLUSH")
        ours.ok("FUNCTION", "RESTORE", theirs.ok("FUNCTION", "DUMP"))
        self.assertEqual(ours.ok("FCALL", "write_ten", 0, "x"), b"OK")


if __name__ == "__main__":
    unittest.main()
