# SPDX-License-Identifier: Apache-2.0
r"""Reads and runs conformance cases: text files of requests and the replies that must come.

    == SET with GET answers what was there          a case: empty databases, new connections
    > SET key old                                   a request
    +OK                                             its reply
    > SET key new GET
    "old"

Replies: +simple, -error, :integer, "bulk string", nil, nil* (a null array), [array, of, replies],
{map: of, replies}, ~[set], push[...], ,1.5 (double), #t, #f, =txt:"verbatim". A line that begins
with spaces continues a reply. `closed` stands for the end of the connection. Strings are quoted
where they have spaces or "\r\n\x00"; {x*600} stands for 600 times x, {now+5} and {now_s+5} for a
Unix time in ms and s.

    a> GET key       a request on the connection `a`; < reads another reply, >> sends raw bytes
    a<
    "value"

Directives. Before the first request of a case they are for the whole case:
    @only mayfly: reason     for one of the two servers alone
    @resp3                   connections begin with HELLO 3
    @loose                   do not check that no reply is left over
    @any-order               the next reply is a list in any order; `@any-order pairs`, of pairs
    @wait 30ms               only where nothing else helps
In place of a reply:
    @pattern regex           matches the reply, as it would be written here
"""

import re
import time

from resp_client import (Client, Closed, Failure, Map, NullArray, Push, Set, Status, Verbatim,
                         pause)

LINE = re.compile(r"(\w*)(>>|>|<)(?: (.*))?$")
WORD = re.compile(r'\s*("(?:\\.|[^"\\])*"|\S+)')
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}
REPEAT = re.compile(r"\{(.)\*(\d+)\}")
NOW = re.compile(r"\{now(_s)?([+-]\d+)?\}")


class Step:
    """A request (or nothing but the wish to read) and the replies it must get."""

    def __init__(self, number, connection, kind, text):
        self.number, self.connection, self.kind, self.text = number, connection, kind, text
        self.replies = []
        self.only = None
        self.order = None
        self.wait_s = 0


class Case:
    def __init__(self, number, name):
        self.number, self.name = number, name
        self.steps = []
        self.only = None
        self.resp3 = self.loose = False


def parse(path):
    """The cases of a file."""
    cases, pending = [], {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            cases.append(Case(number, line[3:]))
            pending = {}
        elif line.startswith("@") and not line.startswith("@pattern "):
            directive(cases[-1], pending, line, f"{path}:{number}")
        elif (match := LINE.match(line)) and not line.startswith("~"):
            step = Step(number, match.group(1), match.group(2), match.group(3) or "")
            vars(step).update(pending)
            pending = {}
            cases[-1].steps.append(step)
        elif line.startswith(" "):
            cases[-1].steps[-1].replies[-1] += " " + line.strip()
        else:
            cases[-1].steps[-1].replies.append(line)
    return cases


def directive(case, pending, line, where):
    word, _, rest = line[1:].partition(" ")
    if word == "only":
        server, _, reason = rest.partition(": ")
        if server not in ("mayfly", "redis") or not reason:
            raise ValueError(f"{where}: say `@only mayfly: reason`")
        if case.steps:
            pending["only"] = server
        else:
            case.only = server
    elif word in ("resp3", "loose"):
        setattr(case, word, True)
    elif word == "any-order":
        pending["order"] = rest or "items"
    elif word == "wait":
        pending["wait_s"] = int(rest.removesuffix("ms")) / 1000
    else:
        raise ValueError(f"{where}: there is no directive {line}")


def unquote(word):
    if not word.startswith('"'):
        return word.encode()
    def one(match):
        sign = match.group(1)
        return bytes([int(sign[1:], 16)]) if len(sign) == 3 else ESCAPES.get(sign, sign)
    return ESCAPE.sub(one, word[1:-1].encode())


def expand(text):
    def moment(match):
        now = time.time() * (1 if match.group(1) else 1000)
        return str(int(now) + int(match.group(2) or 0))
    text = NOW.sub(moment, text)
    return REPEAT.sub(lambda match: match.group(1) * int(match.group(2)), text)


def words_of(text):
    return [unquote(word) for word in WORD.findall(expand(text))]


def quote(data):
    text = "".join({0x22: '\\"', 0x5C: "\\\\", 10: "\\n", 13: "\\r", 9: "\\t"}.get(
        byte, chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in data)
    return f'"{text}"'


def write(reply, order=None):
    """A reply as the files have it."""
    if order and isinstance(reply, (list, Map)):
        if order == "pairs" and not isinstance(reply, Map):
            pairs = sorted(zip(map(write, reply[::2]), map(write, reply[1::2])))
            return "[" + ", ".join(part for pair in pairs for part in pair) + "]"
        parts = sorted(write_parts(reply))
    elif isinstance(reply, list):
        parts = write_parts(reply)
    else:
        return write_scalar(reply)
    if isinstance(reply, NullArray):
        return "nil*"
    opening = {Map: "{", Set: "~[", Push: "push["}.get(type(reply), "[")
    return opening + ", ".join(parts) + ("}" if opening == "{" else "]")


def write_parts(reply):
    if isinstance(reply, Map):
        return [f"{write(key)}: {write(value)}" for key, value in reply]
    return [write(item) for item in reply]


def write_scalar(reply):
    if reply is None:
        return "nil"
    if isinstance(reply, bool):
        return "#t" if reply else "#f"
    if isinstance(reply, bytes):
        return quote(reply)
    for kind, sign in ((Status, "+"), (Failure, "-"), (int, ":")):
        if isinstance(reply, kind):
            return f"{sign}{reply}"
    if isinstance(reply, Verbatim):
        return f"={reply[:4]}{quote(reply[4:].encode())}"
    return f",{reply:g}"


CLEANING = [
    ["CONFIG", "SET", "requirepass", ""],
    ["CLIENT", "UNPAUSE"],
    ["CONFIG", "SET", "notify-keyspace-events", "", "maxmemory", "0", "maxmemory-policy",
     "noeviction", "timeout", "0", "hash-max-listpack-entries", "512"],
    ["DEBUG", "SET-ACTIVE-EXPIRE", "1"],
    ["FLUSHALL"],
]


class Mismatch(AssertionError):
    """What came is not what the file says."""


class Run:
    """One case on one server."""

    def __init__(self, server, case, path):
        self.server, self.case, self.path = server, case, path
        self.connections = {}
        self.wrong = []

    def connection(self, name):
        if name not in self.connections:
            self.connections[name] = Client(self.server.port, resp3=self.case.resp3)
        return self.connections[name]

    def run(self):
        try:
            self.clean()
            for step in self.case.steps:
                if step.only in (None, self.server.name):
                    self.step(step)
            if not self.case.loose and not self.wrong:
                self.check_nothing_is_left()
        finally:
            for connection in self.connections.values():
                connection.close()
        if self.wrong:
            raise Mismatch("\n".join(self.wrong))

    def clean(self):
        """Undoes what earlier cases did, also those that went wrong."""
        for words in CLEANING:
            self.control().ok(*words)

    def control(self):
        """A connection that was there before any case, and so needs no password."""
        try:
            self.server.control.ok("PING")
        except (AttributeError, Closed):
            self.server.control = self.server.client()
        return self.server.control

    def step(self, step):
        if step.wait_s:
            pause(step.wait_s)
        connection = self.connection(step.connection)
        try:
            if step.kind == ">>":
                connection.write(b"".join(words_of(step.text)))
            elif step.kind == ">":
                connection.send(*words_of(step.text))
        except Closed:
            pass  # what was to be read tells
        for expected in step.replies:
            self.compare(step, expected, self.reply(connection, step))

    def reply(self, connection, step):
        try:
            return write(connection.receive(), step.order)
        except Closed:
            return "closed"
        except (AssertionError, ValueError) as error:
            return f"nothing that can be read: {error}"

    def compare(self, step, expected, got):
        if expected.startswith("@pattern "):
            same = re.fullmatch(expected.removeprefix("@pattern "), got)
        else:
            same = expand(expected) == got
        if not same:
            self.wrong.append(f"{self.path}:{step.number}: {self.server.name}: {self.case.name}\n"
                              f"  request   {step.connection}{step.kind} {step.text}\n"
                              f"  expected  {expected}\n  got       {got}")
            if got == "closed" or got.startswith("nothing"):
                raise Mismatch("\n".join(self.wrong))

    def check_nothing_is_left(self):
        for name, connection in self.connections.items():
            try:
                reply = write(connection.ask("PING", "the end"))
            except Closed:
                continue
            if reply not in ('"the end"', '["pong", "the end"]'):
                raise Mismatch(f"{self.path}:{self.case.number}: {self.server.name}: "
                               f"{self.case.name}\n  connection '{name}' still had {reply}")
