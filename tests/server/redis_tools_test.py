#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""redis-cli and redis-benchmark, as users run them, against the real program."""

import subprocess
import unittest

from mayfly_server import Mayfly
from resp_client import request

BENCHMARKS = "ping_inline,ping_mbulk,set,get,incr,hset,mset"


class ToolsTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Mayfly())
        self.client = self.server.client()

    def run_tool(self, tool, *words, given=b""):
        done = subprocess.run([tool, "-h", "127.0.0.1", "-p", str(self.server.port), *words],
                              input=given, capture_output=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def cli(self, *words, **options):
        return self.run_tool("redis-cli", *words, **options)

    def fill(self):
        for number in range(1_000):
            self.client.ok("SET", f"key:{number}", "x" * (number % 50 + 1))
        self.client.ok("HSET", "hash", *[word for n in range(500) for word in (f"f{n}", n)])

    def test_single_commands(self):
        self.assertEqual(self.cli("SET", "key", "a value"), "OK\n")
        self.assertEqual(self.cli("GET", "key"), "a value\n")
        self.assertEqual(self.cli("INCR", "n"), "1\n")
        self.assertEqual(self.cli("HSET", "h", "f", "v"), "1\n")
        self.assertEqual(self.cli("HEXPIRE", "h", "100", "FIELDS", "1", "f"), "1\n")
        self.assertEqual(self.cli("--no-raw", "HGETALL", "h"), '1) "f"\n2) "v"\n')
        self.assertEqual(self.cli("-3", "--no-raw", "HGETALL", "h"), '1# "f" => "v"\n')
        self.assertEqual(self.cli("--csv", "HGETALL", "h"), '"f","v"\n')
        self.assertEqual(self.cli("--json", "HGETALL", "h"), '{"f":"v"}\n')
        self.assertEqual(self.cli("-n", "3", "DBSIZE"), "0\n")
        self.assertEqual(self.cli("-x", "SET", "key", given=b"from a pipe"), "OK\n")
        self.assertEqual(self.cli("GET", "key"), "from a pipe\n")
        self.assertEqual(self.cli("-r", "3", "INCR", "n"), "2\n3\n4\n")

    def test_a_session(self):
        lines = b"SET key value\nGET key\nMULTI\nINCR n\nINCR n\nEXEC\nSELECT 2\nDBSIZE\nFOO\n"
        said = self.cli(given=lines).splitlines()
        self.assertEqual(said[:5], ["OK", "value", "OK", "QUEUED", "QUEUED"])
        self.assertEqual(said[5:9], ["1", "2", "OK", "0"])
        self.assertTrue(said[9].startswith("ERR unknown command 'FOO'"), said)

    def test_help_of_a_server_that_describes_its_commands(self):
        self.assertIn("HSETEX", self.cli("help", "hsetex") + self.cli("COMMAND", "LIST").upper())

    def test_scan_and_biggest_keys(self):
        self.fill()
        keys = self.cli("--scan").splitlines()
        self.assertEqual(len(keys), 1_001)
        self.assertEqual(len(set(keys)), 1_001)
        self.assertEqual(len(self.cli("--scan", "--pattern", "key:1?").splitlines()), 10)
        said = self.cli("--bigkeys")
        self.assertIn("Sampled 1001 keys in the keyspace", said)
        self.assertRegex(said, r'Biggest +hash found .*hash.* has 500 fields')
        said = self.cli("--memkeys")
        self.assertIn("Sampled 1001 keys in the keyspace", said)
        self.assertRegex(said, r'Biggest +hash found .*hash.* has \d+ bytes')

    def test_mass_insertion(self):
        data = b"".join(request("SET", f"key:{number}", number) for number in range(20_000))
        said = self.cli("--pipe", given=data)
        self.assertIn("errors: 0, replies: 20000", said)
        self.assertEqual(self.client.ask("DBSIZE"), 20_000)

    def test_errors_in_mass_insertion_are_counted(self):
        data = request("SET", "s", "v") + request("HGET", "s", "f") + b"FOO\r\n"
        done = subprocess.run(["redis-cli", "-p", str(self.server.port), "--pipe"], input=data,
                              capture_output=True, check=False, timeout=60)
        self.assertIn(b"errors: 2, replies: 3", done.stdout)

    def test_watching_latency_and_statistics(self):
        self.assertRegex(self.cli("--latency", "-i", "1", "--raw"), r"^\d+ \d+ [\d.]+ \d+")
        self.assertIn("used_memory", self.cli("INFO", "memory"))

    def test_benchmark(self):
        for words in (["-t", BENCHMARKS, "-n", "10000"],
                      ["-t", BENCHMARKS, "-n", "50000", "-P", "32", "-r", "1000"],
                      ["-n", "10000", "-P", "16", "-r", "100", "HSETEX", "h:__rand_int__", "EX",
                       "60", "FIELDS", "1", "f", "v"],
                      ["-3", "-t", "get,set", "-n", "5000"]):
            with self.subTest(words):
                said = self.run_tool("redis-benchmark", "-q", *words)
                self.assertNotIn("rror", said)
                self.assertIn("requests per second", said)
        self.assertEqual(self.client.ask("CONFIG", "GET", "save"), [b"save", b""])


if __name__ == "__main__":
    unittest.main()
