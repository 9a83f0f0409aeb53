#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ttl-policy in files and between servers: rules are written by CONFIG REWRITE and read again,
wrong ones are refused at the start, and only a primary judges, and only what clients send."""

import os
import subprocess
import tempfile
import unittest

from mayfly_server import Mayfly, free_port
from resp_client import Client, await_that

PROGRAM = os.environ["MAYFLY"]
ODD_PREFIXES = ["a b", 'quo"te\\', b"\xff\x00\r\n", "#hash", "it's", "\u00fc:", ";;", "-x", "",
                "--port"]


def rules_of(client):
    """{prefix: its options}"""
    return {bytes(rule[1]): rule[2:] for rule in client.ok("TTLPOLICY", "LIST")}


class RewriteTest(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "mayfly.conf")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def text(self):
        with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def server(self):
        server = Mayfly()
        server.command = [PROGRAM, "serve", self.path]
        return server

    def test_rules_survive_a_rewrite_and_a_restart(self):
        self.write("# Kept.\nttl-policy session: default 30m max 1d\ntimeout 7\n"
                   "ttl-policy cache: required yes jitter 10\nttl-policy gone: max 1w\n")
        with self.server() as server:
            client = server.client()
            self.assertEqual(client.ok("TTLPOLICY", "DEL", "gone:"), 1)
            client.ok("TTLPOLICY", "SET", "session:", "default", "90s", "jitter", "2.5")
            for number, prefix in enumerate(ODD_PREFIXES):
                client.ok("TTLPOLICY", "SET", prefix, "max", f"{number + 1}ms", "required", "no")
            rules, shown = rules_of(client), client.ok("CONFIG", "GET", "ttl-policy")
            self.assertEqual(len(rules), 2 + len(ODD_PREFIXES))
            client.ok("CONFIG", "REWRITE")
        self.assertIn("# Kept.\n", self.text())
        self.assertIn("\ntimeout 7\n", self.text())
        with self.server() as server:
            client = server.client()
            self.assertEqual(rules_of(client), rules)
            self.assertEqual(client.ok("CONFIG", "GET", "ttl-policy"), shown)
            self.assertEqual(client.info("ttl_policy_rules"), len(rules))
            client.ok("SET", "session:1", "ann")
            self.assertLessEqual(client.ok("PTTL", "session:1"), 92_250)
            self.assertRegex(client.ask("INCR", "cache:n"), "^TTLPOLICY key 'cache:n' must have")
            client.ok("CONFIG", "REWRITE")  # again: nothing is added
        self.assertEqual(self.text().count("ttl-policy "), 1)
        self.assertIn("session: default 90s jitter 2.5", self.text())

    def test_rules_that_were_removed_stay_so(self):
        self.write("ttl-policy a: max 1d\nttl-policy b: max 1d\n")
        with self.server() as server:
            client = server.client()
            client.ok("CONFIG", "SET", "ttl-policy", "")
            client.ok("CONFIG", "REWRITE")
        self.assertNotIn("max 1d", self.text())
        with self.server() as server:
            self.assertEqual(rules_of(server.client()), {})


class RefusedTest(unittest.TestCase):
    WRONG = {
        "session:": "a rule is a prefix and options with values",
        "session: max": "a rule is a prefix and options with values",
        "session: max 1y": "'1y' is no TTL",
        "session: max 0": "'0' is no TTL",
        "session: default 2h max 1h": "the default is longer than max",
        "session: jitter 101": "jitter must be a percentage",
        "session: required maybe": "required must be 'yes' or 'no'",
        "session:* max 1h": "is no prefix",
        "session: least 1h": "'least' is no option of a rule",
        "session: max 1h ; ; b: max 1h": "a rule is a prefix and options with values",
    }

    def refused(self, *words):
        done = subprocess.run([PROGRAM, "serve", *words, "--port", str(free_port())],
                              capture_output=True, text=True, check=False, timeout=20,
                              cwd=tempfile.gettempdir())
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn("listening", done.stdout)
        return done.stderr + done.stdout

    def test_wrong_rules_on_the_command_line(self):
        for rule, why in self.WRONG.items():
            with self.subTest(rule):
                for words in ([rule], rule.split()):
                    said = self.refused("--ttl-policy", *words)
                    self.assertIn("ttl-policy", said)
                    self.assertIn(why, said)

    def test_wrong_rules_in_a_file_are_named_with_their_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mayfly.conf")
            for rule, why in self.WRONG.items():
                with self.subTest(rule):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(f"ttl-policy fine: max 1d\ntimeout 0\nttl-policy {rule}\n")
                    said = self.refused(path)
                    self.assertIn("ttl-policy", said)
                    self.assertIn(why, said)
                    self.assertRegex(said, r"\b3\b")

    def test_right_rules_on_the_command_line(self):
        for words in (["s: max 1d ; * jitter 5"], ["s:", "max", "1d", ";", "*", "jitter", "5"]):
            with Mayfly("--ttl-policy", *words) as server:
                self.assertEqual(set(rules_of(server.client())), {b"s:", b"*"})


class OthersTest(unittest.TestCase):
    """Deadlines that rules gave are absolute; nobody judges them again."""

    RULES = "* default 1h max 2h jitter 20"  # a lower bound would make some of them equal
    OTHER_RULES = "* required yes max 1s jitter 50"

    def fill(self, client):
        """{key: deadline}; the last two were made before there were rules."""
        client.ok("SET", "endless", "v")
        client.ok("SET", "long", "v", "EX", 100_000)
        client.ok("CONFIG", "SET", "ttl-policy", self.RULES)
        writes = [("SET", "a", "v"), ("INCR", "b"), ("LPUSH", "c", "v"), ("HSET", "d", "f", "v"),
                  ("XADD", "e", "*", "f", "v"), ("SET", "f", "v", "EX", 1000), ("COPY", "a", "g"),
                  ("EVAL", "return redis.call('SADD', KEYS[1], 'm')", 1, "h")]
        for words in writes:
            client.ok(*words)
        return self.deadlines(client)

    @staticmethod
    def deadlines(client):
        return {key: client.ok("PEXPIRETIME", key) for key in sorted(client.ok("KEYS", "*"))}

    def check(self, deadlines):
        self.assertEqual(len(deadlines), 10)
        self.assertEqual(deadlines[b"endless"], -1)
        self.assertEqual([key for key, at in deadlines.items() if at < 0], [b"endless"])
        self.assertGreater(len(set(deadlines.values())), 5, "jitter")

    def test_the_append_only_file_has_deadlines(self):
        with Mayfly("--appendonly", "yes", "--appendfsync", "always") as server:
            deadlines = self.fill(server.client())
            self.check(deadlines)
            server.kill()
            server.restart()
            self.assertEqual(rules_of(server.client()), {})
            self.assertEqual(self.deadlines(server.client()), deadlines)
            server.kill()
            server.restart("--ttl-policy", self.OTHER_RULES)
            client = server.client()
            self.assertEqual(self.deadlines(client), deadlines)
            self.assertEqual(client.info("ttl_policy_violations"), 0)
            self.assertRegex(client.ask("SET", "new", "v"), "^TTLPOLICY ")
            client.ok("BGREWRITEAOF")
            await_that(lambda: client.info("aof_rewrite_in_progress") == 0 and
                       client.info("aof_rewrite_scheduled") == 0, "rewritten")
            server.kill()
            server.restart()
            self.assertEqual(self.deadlines(server.client()), deadlines)

    def test_a_replica_with_other_rules_does_not_judge(self):
        with Mayfly() as primary, Mayfly(
                "--ttl-policy", self.OTHER_RULES, "--repl-diskless-sync-delay", "0",
                "--replicaof", f"127.0.0.1 {primary.port}") as replica:
            one, two = primary.client(), replica.client()
            await_that(lambda: b"master_link_status:up" in two.ask("INFO", "replication"), "link")
            deadlines = self.fill(one)
            self.check(deadlines)
            await_that(lambda: self.deadlines(two) == deadlines, "the replica has the same")
            self.assertEqual(two.info("ttl_policy_violations"), 0)
            self.assertRegex(two.ask("SET", "new", "v"), "^READONLY ")
            two.ok("REPLICAOF", "NO", "ONE")
            self.assertEqual(self.deadlines(two), deadlines)
            self.assertRegex(two.ask("SET", "new", "v"), "^TTLPOLICY key 'new' must have a TTL")
            with Client(replica.port) as client:
                client.ok("SET", "new", "v", "PX", 900)


if __name__ == "__main__":
    unittest.main()
