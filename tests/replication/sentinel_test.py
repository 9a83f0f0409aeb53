#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Sentinel watches three of our servers. The primary is killed while a client writes: one
of the others takes over, the client goes on, and no write that was waited for is lost."""

import subprocess
import threading
import unittest

from replicas import HERE, ReplicationCase, ask, await_same, await_up
from mayfly_server import Server
from resp_client import await_that

PYTHON = "/usr/bin/python3"
NAME = "mymaster"
# What takes seconds by default would make the test wait and show nothing more.
QUICKLY = ("INFO-PERIOD", 300, "PUBLISH-PERIOD", 200, "ASK-PERIOD", 200, "PING-PERIOD", 200)


class Sentinel(Server):
    name = "sentinel"

    def __init__(self, primary):
        super().__init__()
        self.primary = primary

    def words(self):
        path = self.path("sentinel.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                       f"sentinel monitor {NAME} 127.0.0.1 {self.primary.port} 2\n"
                       f"sentinel down-after-milliseconds {NAME} 1000\n"
                       f"sentinel failover-timeout {NAME} 6000\n")
        return ["redis-server", path, "--sentinel"]

    def primary_port(self):
        return int(ask(self, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1])

    def knows(self):
        """How many other sentinels and replicas it has found."""
        words = ask(self, "SENTINEL", "MASTER", NAME)
        fields = dict(zip(words[::2], words[1::2]))
        return int(fields[b"num-other-sentinels"]), int(fields[b"num-slaves"])


class Writing:
    """The client, and which of its writes are safe."""

    def __init__(self, sentinels):
        ports = [str(sentinel.port) for sentinel in sentinels]
        self.process = subprocess.Popen([PYTHON, f"{HERE}/sentinel_client.py", *ports], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.safe = []
        self.failed = []
        self.thread = threading.Thread(target=self.read)

    def read(self):
        for line in self.process.stdout:
            kind, what = line.split()
            (self.safe if kind == "safe" else self.failed).append(what)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()

    def await_more(self, count=50):
        goal = len(self.safe) + count
        await_that(lambda: len(self.safe) > goal or self.process.poll() is not None,
                   lambda: f"writes go on: {len(self.safe)} safe, failed: {self.failed[-5:]}")


class SentinelTest(ReplicationCase):
    def setUp(self):
        self.servers = [self.start()]
        self.servers += [self.start(primary=self.servers[0]) for _ in range(2)]
        self.sentinels = [self.enterContext(Sentinel(self.servers[0])) for _ in range(3)]
        for sentinel in self.sentinels:
            ask(sentinel, "SENTINEL", "DEBUG", *QUICKLY)
        for sentinel in self.sentinels:
            await_that(lambda: sentinel.knows() == (2, 2),
                       lambda: f"it finds the others: {sentinel.knows()}\n{sentinel.log()}")

    def logs(self):
        return "\n".join(sentinel.log() for sentinel in self.sentinels)

    def test_failover(self):
        old = self.servers[0]
        with Writing(self.sentinels) as writing:
            writing.await_more()
            old.kill()
            await_that(lambda: all(sentinel.primary_port() != old.port
                                   for sentinel in self.sentinels), self.logs)
            writing.await_more()
            new = next(server for server in self.servers
                       if server.port == self.sentinels[0].primary_port())
            old.restart()
            await_that(lambda: ask(old, "ROLE")[:3:2] == [b"slave", new.port],
                       lambda: f"the old one follows the new one\n{old.log()}\n{self.logs()}")
            writing.await_more()
        print(f"{len(writing.safe)} writes were safe, {len(writing.failed)} failed")
        others = [server for server in self.servers if server is not new]
        for server in others:
            await_up(server)
        await_same(new, *others)
        replies = new.client().pipeline(("HGET", f"key:{number}", "field")
                                        for number in writing.safe)
        lost = [number for number, reply in zip(writing.safe, replies)
                if reply != number.encode()]
        self.assertEqual(lost, [])


if __name__ == "__main__":
    unittest.main()
