# SPDX-License-Identifier: Apache-2.0
"""Servers and stores as plain dictionaries, to compare copies with what they were made of.

    self.assertEqual(server_contents(source), server_contents(target))
"""

import base64
import os
import subprocess
import sys
from typing import Any

import program

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from contents import paired, stream_of  # noqa: E402
from mayfly_server import Mayfly, Redis, free_port  # noqa: E402
from resp_client import Client, Failure, await_that  # noqa: E402

FAR = 4_102_444_800_123  # a moment in the year 2100

__all__ = ["FAR", "ServerCase", "Mayfly", "Redis", "Client", "await_that", "free_port",
           "server_contents"]

READING = {"string": ("GET",), "hash": ("HGETALL",), "set": ("SMEMBERS",),
           "zset": ("ZRANGE", 0, -1, "WITHSCORES"), "list": ("LRANGE", 0, -1),
           "stream": ()}


def read_value(client: Client, kind: str, key: bytes) -> Any:
    if kind == "stream":
        return stream_of(paired(client.ok("XINFO", "STREAM", key, "FULL", "COUNT", 0)))
    command, *rest = READING[kind]
    reply = client.ok(command, key, *rest)
    if kind == "hash":
        return dict(zip(reply[::2], reply[1::2]))
    return sorted(reply) if kind == "set" else reply


DEADLINES = {"hash": ("HPEXPIRETIME", "FIELDS"), "set": ("SPEXPIRETIME", "MEMBERS"),
             "zset": ("ZPEXPIRETIME", "MEMBERS")}


def member_deadlines(client: Client, kind: str, key: bytes, value: Any) -> dict:
    if kind not in DEADLINES:
        return {}
    command, word = DEADLINES[kind]
    names = value[::2] if kind == "zset" else list(value)
    reply = client.ask(command, key, word, len(names), *names)
    if isinstance(reply, Failure):
        return {}
    return {name: moment for name, moment in zip(names, reply) if moment >= 0}


def server_contents(client: Client, database: int = 0) -> dict:
    """{key: (type, value, deadline, deadlines of members)}"""
    client.ok("SELECT", database)
    found = {}
    for key in client.ok("KEYS", "*"):
        kind = client.ok("TYPE", key)
        if kind in READING:
            value = read_value(client, kind, key)
            moments = member_deadlines(client, kind, key, value)
            found[key] = (str(kind), value, client.ok("PEXPIRETIME", key), moments)
    client.ok("SELECT", 0)
    return found


def as_bytes(text: Any) -> bytes:
    return base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()


class ServerCase(program.TestCase):
    """Has servers, and looks into the store by `mayfly dump`."""

    def start(self, kind: type, *options: str) -> Any:
        return self.enterContext(kind(*options))

    def url(self, server: Any, database: int = 0) -> str:
        return f"redis://127.0.0.1:{server.port}/{database}"

    def store_contents(self) -> dict:
        """{(family, key): (value, deadline)}"""
        found = {}
        for line in self.done("dump").json_lines:
            if "key" in line:
                place = (line.get("cf", "default"), as_bytes(line["key"]))
                found[place] = (as_bytes(line["value"]), line.get("deadline_ms"))
        return found

    def copied(self, *words: Any) -> Any:
        """A copy that must succeed. Returns its summary."""
        outcome = self.program.run(*words, "--json")
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""), words)
        return outcome.json

    def spawn(self, *words: Any) -> subprocess.Popen:
        process = subprocess.Popen([self.program.path, *map(str, words)], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def fill_stream(self, client: Client, key: str) -> None:
        """With a deleted entry, groups, consumers and pending entries."""
        for number in range(1, 251):
            client.ok("XADD", key, f"{number}-1", "field", number, "text", b"\xff" * (number % 9))
        client.ok("XDEL", key, "7-1", "250-1")
        client.ok("XGROUP", "CREATE", key, "readers", 0)
        client.ok("XGROUP", "CREATE", key, b"\x00\xff", "$")
        client.ok("XREADGROUP", "GROUP", "readers", "ann", "COUNT", 20, "STREAMS", key, ">")
        client.ok("XACK", key, "readers", "2-1")
        client.ok("XDEL", key, "3-1")
        client.ok("XGROUP", "CREATECONSUMER", key, "readers", "bob")

    def fill(self, client: Client, keys: int) -> None:
        """Many small keys: strings, of which every second has a deadline, and some hashes."""
        client.pipeline(("SET", f"key:{i}", f"value {i}", *(("PXAT", FAR + i) if i % 2 else ()))
                        for i in range(keys))
        client.pipeline(("HSET", f"hash:{i}", "a", i, "b", -i) for i in range(keys // 20))
