# SPDX-License-Identifier: Apache-2.0
"""A small client that shows the protocol as it is: RESP2 and RESP3, every type told apart.

    client = Client(port)
    client.ask("SET", "key", "value")     # Status("OK")
    client.ask("GET", "nothing")          # None
    client.ask("FOO")                     # Failure("ERR unknown command ..."), not raised
"""

import socket
import threading
import time

PATIENCE_S = 30


class Status(str):
    """A simple string."""


class Failure(str):
    """An error."""


class Verbatim(str):
    """A verbatim string, with its format: txt:..."""


class NullArray(list):
    """What RESP2 writes as *-1."""


class Set(list):
    """A set, in the order it came."""


class Push(list):
    """Something that nobody asked for."""


class Map(list):
    """Pairs, in the order they came."""

    def get(self, key):
        return next((value for name, value in self if name == key), None)


class Closed(Exception):
    """The server has closed the connection."""


def pause(seconds):
    """For the few things that only time can bring, such as a deadline."""
    threading.Event().wait(seconds)


def await_that(check, what, patience=PATIENCE_S):
    """Looks until it is so, and returns what `check` did. `what`: a text, or a function for it.
    A look whose connection is closed counts as "not yet": whoever makes a server a replica may
    close its clients (Sentinel sends CLIENT KILL), the one that is looking among them. A server
    that is gone refuses the next connection, which ends the waiting."""
    end = time.monotonic() + patience
    while True:
        closed = None
        try:
            if found := check():
                return found
        except Closed as error:
            closed = error
        if time.monotonic() > end:
            told = what() if callable(what) else what
            raise AssertionError(f"not within {patience} s: {told}") from closed
        pause(0.01)


def as_bytes(word):
    return word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogateescape")


def request(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in map(as_bytes, words):
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


def connected(address):
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(address)
        return connection
    place = address if isinstance(address, tuple) else ("127.0.0.1", address)
    connection = socket.create_connection(place, PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Client:
    """One connection, to a port, to (host, port), or to the path of a socket."""

    def __init__(self, address, resp3=False):
        self.socket = connected(address)
        self.stream = self.socket.makefile("rb")
        if resp3:
            self.ok("HELLO", "3")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.socket.close()

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Closed(str(error)) from error

    def send(self, *words):
        self.write(request(*words))

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def ok(self, *words):
        """The reply, which must be no error."""
        reply = self.ask(*words)
        if isinstance(reply, Failure):
            raise AssertionError(f"{words}: {reply}")
        return reply

    def pipeline(self, requests, at_once=500):
        """The replies to all of them, errors included."""
        requests, replies = list(requests), []
        for first in range(0, len(requests), at_once):
            part = requests[first:first + at_once]
            self.write(b"".join(request(*words) for words in part))
            replies += [self.receive() for _ in part]
        return replies

    def infos(self, section="everything"):
        """All fields of INFO, as numbers where they are."""
        pairs = (line.partition(":")[::2]
                 for line in self.ok("INFO", section).decode().splitlines() if ":" in line)
        return {name: int(value) if value.lstrip("-").isdigit() else value
                for name, value in pairs}

    def info(self, field):
        fields = self.infos()
        if field not in fields:
            raise AssertionError(f"INFO has no {field}")
        return fields[field]

    def line(self):
        try:
            line = self.stream.readline()
        except TimeoutError as error:
            raise AssertionError("no reply came") from error
        except OSError as error:
            raise Closed(str(error)) from error
        if not line.endswith(b"\r\n"):
            raise Closed(f"closed after {line!r}")
        return line[:-2]

    def exactly(self, length):
        try:
            data = self.stream.read(length + 2)
        except OSError as error:
            raise Closed(str(error)) from error
        if len(data) != length + 2 or data[-2:] != b"\r\n":
            raise Closed(f"closed inside a string of {length} bytes")
        return data[:-2]

    def receive(self):
        line = self.line()
        kind, rest = line[:1], line[1:].decode("utf-8", "surrogateescape")
        if kind in SCALARS:
            return SCALARS[kind](rest)
        count = int(rest)
        if kind in b"$=":
            data = None if count < 0 else self.exactly(count)
            return data if kind == b"$" else Verbatim(data.decode())
        if kind in b"%|":
            return Map((self.receive(), self.receive()) for _ in range(count))
        if kind not in COLLECTIONS:
            raise AssertionError(f"this is no reply: {line!r}")
        if count < 0:
            return NullArray()
        return COLLECTIONS[kind](self.receive() for _ in range(count))


SCALARS = {
    b"+": Status,
    b"-": Failure,
    b":": int,
    b"_": lambda _: None,
    b",": float,
    b"#": lambda rest: {"t": True, "f": False}[rest],
    b"(": int,
}
COLLECTIONS = {b"*": list, b"~": Set, b">": Push}
