#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly cluster: help, and what it says about wrong words and an etcd that is not there.

tests/cluster/commands_test.py has the commands themselves, with a real cluster.
"""

import socket
import unittest

from program import FAILED, OK, TestCase

CHANGES = {
    "init": ("127.0.0.1:7001",),
    "add": ("127.0.0.1:7001",),
    "remove": ("127.0.0.1:7001",),
    "reshard": ("--from", "a", "--to", "b", "--slots", "10"),
    "rebalance": (),
    "cancel": (),
    "failover": ("a",),
    "recover": ("a", "--accept-loss"),
    "reset-clock": ("a",),
    "accept": (),
}
COMMANDS = CHANGES | {"status": (), "check": ()}


def closed_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ClusterWordsTest(TestCase):
    def run_cluster(self, *words, **options):
        return self.program.run("cluster", *words, **options)

    def test_help_lists_all_commands_with_examples(self):
        outcome = self.run_cluster("--help")
        self.assertEqual(outcome.code, OK)
        for name in (*COMMANDS, "dev"):
            self.assertIn(f"  {name} ", outcome.text)
            own = self.run_cluster(name, "--help")
            self.assertEqual(own.code, OK)
            self.assertIn("Examples:", own.text)
        self.assertEqual(self.run_cluster().code, OK, "help, too")

    def test_without_etcd_it_asks_where_it_is(self):
        for name, words in COMMANDS.items():
            with self.subTest(name):
                outcome = self.run_cluster(name, *words, env={"MAYFLY_ETCD": ""})
                self.refused(outcome, "where is etcd?", "--etcd")

    def test_an_address_that_is_none_is_refused(self):
        for url in ("ftp://a:2379", "http://", "2379"):
            with self.subTest(url):
                self.refused(self.run_cluster("status", "--etcd", url), url.strip())

    def test_an_etcd_that_does_not_answer_is_an_error(self):
        url = f"http://127.0.0.1:{closed_port()}"
        for name in ("init", "check"):
            with self.subTest(name):
                sure = ["--yes"] if name in CHANGES else []
                outcome = self.run_cluster(name, *COMMANDS[name], "--etcd", url, *sure)
                self.refused(outcome, url)
        shown = self.run_cluster("status", env={"MAYFLY_ETCD": url})
        self.assertEqual(shown.code, FAILED)
        self.assertIn("etcd 0/1", shown.text)
        self.assertIn("etcd cannot be read", shown.text)

    def test_wrong_words_are_refused(self):
        etcd = ("--etcd", "http://127.0.0.1:1")
        for words, *parts in (
            (("inti",), "'inti'", "did you mean 'init'?"),
            (("init",), "HOST:PORT"),
            (("init", "127.0.0.1:7001", "--replicas", "-1"), "--replicas"),
            (("init", "127.0.0.1:7001", "--lease", "1"), "--lease"),
            (("init", "127.0.0.1:7001", "--name", "a/b"), "--name"),
            (("add",), "HOST:PORT"),
            (("add", "127.0.0.1:7001", "--replica-of", ""), "--replica-of"),
            (("remove",), "NODE"),
            (("reshard", "--from", "a", "--slots", "1"), "--to"),
            (("reshard", "--from", "a", "--to", "b", "--slots", "0"), "--slots"),
            (("reshard", "--from", "a", "--to", "b", "--slots", "16385"), "--slots"),
            (("rebalance", "--by", "colour"), "--by"),
            (("failover",), "SHARD"),
            (("status", "--wacth"), "--wacth", "--watch"),
            (("check", "--yes"), "--yes"),
            (("dev", "--nodes", "0"), "--nodes"),
        ):
            with self.subTest(" ".join(words)):
                self.refused(self.run_cluster(*words, *(etcd if words[0] != "dev" else ())), *parts)

    def test_dev_says_what_to_install(self):
        self.refused(self.run_cluster("dev", env={"PATH": "/nonexistent"}), "etcd-server")

    def test_dev_takes_an_empty_directory_only(self):
        self.write("something", b"")
        self.refused(self.run_cluster("dev", "--dir", self.folder), "not empty")


if __name__ == "__main__":
    unittest.main()
