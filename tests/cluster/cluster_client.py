# SPDX-License-Identifier: Apache-2.0
"""A client of a cluster that hides nothing: it follows MOVED, tries again what was refused, and
notes of every request when it began and ended, who replied, and whether the outcome is known.

    recorder = Recorder("a", nodes)
    recorder.set("key")         # a value that nobody else writes, and an Op in recorder.ops
    recorder.get("key")
"""

import binascii
import contextlib
import random
import socket
import time

from history import DEL, GET, NEVER, OK, REFUSED, SET, UNKNOWN, Op
from resp_client import Client, Closed, Failure, pause

SLOTS = 16_384
REPLY_S = 1.0  # then the outcome is unknown
CHECK_REPLY_S = 20  # for checks, where a reply that comes late is as good as any
PATIENCE_S = 30  # to find somebody who does not refuse
AGAIN_S = 0.01
WAIT_MS = 900

# What says that nothing was done, and may go away.
RETRIED = ("MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN", "READONLY",
           "BUSY")

now = time.monotonic


def wall_offset():
    """What is added to now() to get the wall clock, in seconds."""
    return time.time() - time.monotonic()


def slot_of(key):
    key = key if isinstance(key, bytes) else key.encode()
    begin = key.find(b"{")
    if begin >= 0:
        end = key.find(b"}", begin + 1)
        if end > begin + 1:
            key = key[begin + 1:end]
    return binascii.crc_hqx(key, 0) % SLOTS


def parse_address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


class Connection(Client):
    """One that does not wait for long."""

    def __init__(self, address, patience=REPLY_S):
        self.socket = socket.create_connection(address, patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def receive(self):
        try:
            return super().receive()
        except OSError as error:
            raise Closed(f"no reply: {error}") from error

    def line(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise Closed(f"closed after {line!r}")
        return line[:-2]


class Answer:
    """Replies with the times they came at. Fewer than requests: the connection has ended."""

    def __init__(self, address, begin):
        self.owner = f"{address[0]}:{address[1]}"
        self.begin = begin
        self.replies = []
        self.times = []

    def add(self, reply):
        self.replies.append(reply)
        self.times.append(now())


class ClusterClient:
    """One thread's. Counts what a library would hide."""

    def __init__(self, addresses, patience=PATIENCE_S, seed=None, reply_s=REPLY_S):
        self.addresses = list(addresses)
        self.patience = patience
        self.reply_s = reply_s
        self.chance = random.Random(seed)
        self.connections = {}
        self.map = {}  # slot: address
        self.counts = {"sent": 0, "unknown": 0, "unreachable": 0}

    def close(self):
        for address in list(self.connections):
            self.drop(address)

    def drop(self, address):
        if connection := self.connections.pop(address, None):
            connection.close()

    def connection(self, address):
        if address not in self.connections:
            self.connections[address] = Connection(address, self.reply_s)
        return self.connections[address]

    def count(self, word):
        self.counts[word] = self.counts.get(word, 0) + 1

    def refresh(self):
        """Asks somebody for the map, who may be wrong or away."""
        address = self.chance.choice(self.addresses)
        try:
            rows = self.connection(address).ask("CLUSTER", "SLOTS")
        except (OSError, Closed):
            return self.drop(address)
        if isinstance(rows, Failure):
            return None
        for first, last, (host, port, *_), *_ in rows:
            place = (host.decode() or address[0], port)
            self.map.update(dict.fromkeys(range(first, last + 1), place))

    def send(self, address, requests):
        """The Answer; None if it was surely not sent."""
        try:
            connection = self.connection(address)
        except OSError:
            self.count("unreachable")
            return None
        answer = Answer(address, now())
        self.count("sent")
        try:
            for words in requests:
                connection.send(*words)
            for _ in requests:
                answer.add(connection.receive())
        except Closed:
            self.drop(address)
        return answer

    def ask(self, key, *requests):
        """Sends them in one go to the owner of the key, again while the first one is refused."""
        slot = slot_of(key)
        end = now() + self.patience
        while True:
            if slot not in self.map:
                self.refresh()
            address = self.map.get(slot) or self.chance.choice(self.addresses)
            answer = self.send(address, requests)
            if answer is not None:
                if not answer.replies:
                    self.count("unknown")
                    self.map.pop(slot, None)
                    return answer
                first = answer.replies[0]
                word = first.split(" ")[0] if isinstance(first, Failure) else ""
                if word not in RETRIED:
                    return answer
                self.count(word)
                if word == "MOVED":
                    self.map[slot] = parse_address(first.split(" ")[2])
                    if now() < end:
                        continue
            if now() > end:
                return answer
            pause(AGAIN_S)
            self.map.pop(slot, None)

    def one(self, key, *words):
        """The reply to one request; None too if there is none."""
        answer = self.ask(key, words)
        return answer.replies[0] if answer and answer.replies else None


class Recorder:
    """Requests whose Ops are kept. Values are unique by the name of the recorder."""

    def __init__(self, name, addresses, seed=None, **options):
        self.name = name
        self.client = ClusterClient(addresses, seed=seed, **options)
        self.ops = []
        self.errors = []  # replies that nobody expects
        self.number = 0
        self.offset = wall_offset()

    def close(self):
        self.client.close()

    def note(self, key, kind, value, answer, **more):
        """An Op of the first reply. None if there was nobody to send it to."""
        if answer is None:
            return None
        op = Op(key, kind, value, answer.begin, owner=answer.owner, **more)
        if not answer.replies:
            op.outcome = UNKNOWN
        elif isinstance(answer.replies[0], Failure):
            op.outcome, op.end = REFUSED, answer.times[0]
            word = answer.replies[0].split(" ")[0]
            if word not in RETRIED:
                self.errors.append(f"{op.brief()}: {answer.replies[0]}")
        else:
            op.end = answer.times[0]
        self.ops.append(op)
        return op

    def write(self, key, kind, value, request, wait, name, **more):
        requests = [request, ("WAIT", 1, WAIT_MS)] if wait else [request]
        answer = self.client.ask(key, *requests)
        op = self.note(name, kind, value, answer, **more)
        if op and wait and op.outcome == OK and len(answer.replies) == 2:
            count = answer.replies[1]
            if isinstance(count, int) and count >= 1:
                op.safe_at = answer.times[1]
        return op

    def new_value(self):
        self.number += 1
        return f"{self.name}-{self.number}"

    def until(self, lives_s):
        """The words and the moment of a deadline."""
        if lives_s is None:
            return None, NEVER
        moment = now() + lives_s
        wall_ms = int((moment + self.offset) * 1000)
        return wall_ms, wall_ms / 1000 - self.offset

    def set(self, key, wait=False, lives_s=None):
        value = self.new_value()
        wall_ms, deadline = self.until(lives_s)
        words = () if wall_ms is None else ("PXAT", wall_ms)
        return self.write(key, SET, value, ("SET", key, value, *words), wait, key,
                          deadline=deadline)

    def hset(self, key, field, wait=False, lives_s=None):
        value = self.new_value()
        wall_ms, deadline = self.until(lives_s)
        request = ("HSET", key, field, value)
        if wall_ms is not None:
            request = ("HSETEX", key, "PXAT", wall_ms, "FIELDS", 1, field, value)
        return self.write(key, SET, value, request, wait, f"{key}/{field}", deadline=deadline)

    def delete(self, key, wait=False):
        return self.write(key, DEL, None, ("DEL", key), wait, key)

    def hdelete(self, key, field, wait=False):
        return self.write(key, DEL, None, ("HDEL", key, field), wait, f"{key}/{field}")

    def get(self, key):
        return self.read(key, ("GET", key), key)

    def hget(self, key, field):
        return self.read(key, ("HGET", key, field), f"{key}/{field}")

    def read(self, key, request, name):
        answer = self.client.ask(key, request)
        value = None
        if answer and answer.replies and isinstance(answer.replies[0], bytes):
            value = answer.replies[0].decode()
        return self.note(name, GET, value, answer)


def told(address, *words, patience=REPLY_S):
    """The reply of one node, over a connection of its own. None if it gives none."""
    with contextlib.suppress(OSError, Closed):
        with contextlib.closing(Connection(address, patience)) as connection:
            return connection.ask(*words)
    return None
