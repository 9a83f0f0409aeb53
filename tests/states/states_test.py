#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command in every state: table.txt says what must happen, real servers are asked.

    MAYFLY=build/release/mayfly python3 tests/states/states_test.py [group ...]

A group is a function of state_makers.py. Both programs are asked, Mayfly and Debian's redis-server;
where they differ on purpose, the table says so.
"""

import os
import re
import select
import sys
import threading
import traceback
import unittest

import state_makers
from resp_client import Client, Closed, Failure, Status
from states_table import (as_markdown, check_complete, leaf_commands, name_of, read_samples,
                          read_states)

PATIENCE_S = 20
PAUSES_MS = (1_500, 4_000, 12_000)  # the next one if a machine is too slow
QUIET_S = 0.2  # for so long a client that waits must be silent
END_S = 0.8  # how long before the end of a state that does not last its clients are looked at
MONITORED = re.compile(r"^\d+\.\d+ \[")  # what MONITOR shows
MARK = "the end of silence"
ONLY = []  # groups named on the command line


def is_readable(client, seconds=0):
    """There may be more sockets than select() can look at."""
    looker = select.poll()
    looker.register(client.socket, select.POLLIN)
    return bool(looker.poll(seconds * 1000))


def receive(client):
    """The next reply that is not a line of MONITOR."""
    while True:
        reply = client.receive()
        if not (isinstance(reply, Status) and MONITORED.match(reply)):
            return reply


def outcome_of(reply):
    if isinstance(reply, Failure):
        return str(reply)
    return "queued" if isinstance(reply, Status) and reply == "QUEUED" else "runs"


def received_outcome(client):
    try:
        return outcome_of(receive(client))
    except Closed:
        return "closes"
    except (AssertionError, TimeoutError):
        return "no reply"


def closing_outcome(client):
    """Of QUIT: it must be closed after its reply."""
    try:
        while True:
            receive(client)
    except Closed:
        return "closes"
    except AssertionError:
        return "stays open"


def stream_outcome(client):
    """Of SYNC: a stream that begins when a child is ready, or an error at once."""
    if not is_readable(client):
        return "runs"
    try:
        start = client.socket.recv(1 << 10).lstrip(b"\n")
    except ConnectionError:
        start = b""
    if start.startswith(b"-"):
        return start[1:].partition(b"\r\n")[0].decode()
    return "queued" if start.startswith(b"+QUEUED") else "runs"


class Visitor:
    """Visits all cells of one program."""

    def __init__(self, kind, states, samples):
        self.kind = kind
        self.states = states
        self.samples = samples
        self.normal = {}  # sample: its outcome in [normal]
        self.cells = 0
        self.visited = set()
        self.faults = []

    def run(self, group):
        found = []
        for situation in group(self.kind, self.samples):
            self.faults = []
            self.visit(situation)
            found.append((situation, self.faults))
        self.faults = [fault for situation, faults in found for fault in faults
                       if not getattr(situation, "is_void", False)]
        self.visited |= {situation.name for situation, _ in found}
        return self.faults

    def known(self, situation):
        """The requests that this program has commands for."""
        if not hasattr(self, "names"):
            with Client(situation.server.port) as client:
                listed = [name.decode() for name in client.ok("COMMAND", "LIST")]
            self.containers, self.names = leaf_commands(listed)
        return [(sample, name) for sample in self.samples
                if not (situation.skips_queues and sample.kind.startswith("exec-"))
                and (name := name_of(sample, self.containers)) in self.names]

    def visit(self, situation):
        self.state = self.states[situation.name]
        if situation.at_once:
            for millis in PAUSES_MS:
                if self.visit_at_once(situation, millis):
                    return
            raise AssertionError("this machine is too slow: the state ended before all was sent")
        observer = situation.server.client()
        known = self.known(situation)
        if situation.pauses:
            situation.pauses()
        waiting = []
        for sample, name in known:
            if situation.refresh and sample.kind.endswith("write"):
                situation.refresh()
            client = situation.prepared.pop(sample, None) or self.opened(situation, sample)
            expected = self.expected(sample, name)
            observed = self.observe(situation, observer, client, sample, name, expected)
            self.judge(situation, sample, expected, observed)
            if observed == "waits":
                waiting.append((client, sample))
            else:
                client.close()
        if situation.lasts:
            self.barrier(observer)
            self.faults += [f"{self.kind.name} [{situation.name}] {sample}: "
                            "CLIENT UNPAUSE has ended its waiting"
                            for client, sample in waiting if is_readable(client)]
        self.waiting = waiting

    def opened(self, situation, sample):
        client = Client(situation.server.port, resp3=situation.resp3)
        client.socket.settimeout(PATIENCE_S)
        for words in situation.first + sample.before:
            client.send(*words)
            if not situation.silence_ends:
                receive(client)
        return client

    def barrier(self, observer):
        """Whatever was sent before this, the server has answered or it waits."""
        for _ in range(2):
            observer.ask("PING")

    def observe(self, situation, observer, client, sample, name, expected):
        client.send(*sample.words_for(situation.follow))
        if expected in ("no reply", "stays open"):  # of redis-server only
            client.socket.settimeout(QUIET_S)
        if name == "quit":
            return closing_outcome(client)
        if name == "sync":
            self.barrier(observer)
            if expected not in ("runs", "waits") and not situation.silence_ends:
                is_readable(client, PATIENCE_S)  # an error comes, if late
            return expected if situation.silence_ends else stream_outcome(client)
        if situation.silence_ends:
            return self.observe_silence(situation, client)
        if expected == "waits":
            self.barrier(observer)
            if not is_readable(client):
                return "waits"
        return received_outcome(client)

    def observe_silence(self, situation, client):
        """All replies up to a mark; DISCARD is among the last, since MULTI would queue the mark."""
        for words in (*situation.silence_ends, ["PING", MARK]):
            client.send(*words)
        replies = []
        try:
            while not replies or MARK.encode() not in (replies[-1], *self.listed(replies[-1])):
                replies.append(receive(client))
        except Closed:
            return "closes"
        except (AssertionError, TimeoutError):
            return "no reply"
        return "silent" if len(replies) == 2 else outcome_of(replies[0])

    @staticmethod
    def listed(reply):
        return reply if isinstance(reply, list) else []

    def visit_at_once(self, situation, millis):
        """A state that does not last: everything is sent, then received. What ends a pause comes
        after the rest. False if the state was over too soon."""
        known = self.known(situation)
        clients = [self.opened(situation, sample) for sample, _ in known]
        begin = state_makers.seconds()
        lasts = situation.pauses(clients, millis) if situation.pauses else 0
        last = []
        for client, (sample, name) in zip(clients, known):
            if lasts and name == "client|unpause":
                last = [(client, sample)]
            else:
                client.send(*sample.words_for(situation.follow))
        early = set(clients)
        if lasts and state_makers.seconds() > begin + lasts - END_S:
            for client in clients:
                client.close()
            return False
        if lasts:
            early = self.early_ones(clients, last, begin + lasts)
        for client, (sample, name) in zip(clients, known):
            if client not in early:
                observed = self.late_outcome(client, sample, name)
            else:
                observed = closing_outcome(client) if name == "quit" else received_outcome(client)
            self.judge(situation, sample, self.expected(sample, name), observed)
            client.close()
        return True

    def early_ones(self, clients, last, end):
        """Those who have a reply before the state ends."""
        select.select([], [], [], max(end - END_S - state_makers.seconds(), 0))
        early = {client for client in clients if is_readable(client)}
        for client, sample in last:
            client.send(*sample.words)
            if is_readable(client, END_S / 2):
                early.add(client)
        return early

    def late_outcome(self, client, sample, name):
        """Of one that has waited: it must be answered."""
        if name == "sync":
            return "waits"
        for _ in range(getattr(client, "skips", 0)):
            receive(client)
        answer = received_outcome(client)
        is_sound = answer in ("runs", "closes", self.normal[sample]) or \
            answer.startswith(("ERR ", "NOGROUP "))
        return "waits" if is_sound else f"waits, and then: {answer}"

    def expected(self, sample, name):
        text = self.state.cell(sample.kind, name).of(self.kind.name).replace("{command}", name)
        return text.replace("Mayfly", "Redis") if self.kind.name == "redis" else text

    def judge(self, situation, sample, expected, observed):
        self.cells += 1
        if situation.name == "normal":
            self.normal[sample] = observed
        if observed == expected or expected == "runs" and observed == self.normal[sample]:
            return
        if expected[0].isupper() and observed.startswith(expected):
            return
        self.faults.append(f"{self.kind.name} [{situation.name}] {sample}: must be: {expected}; "
                           f"was: {observed}")


class StatesTest(unittest.TestCase):
    maxDiff = None

    def test_table_and_requests_are_complete(self):
        with state_makers.KINDS[0].server() as server, server.client() as client:
            names = [name.decode() for name in client.ok("COMMAND", "LIST")]
        self.assertEqual(check_complete(read_states(), read_samples(), names), [])

    def test_documents_show_the_table(self):
        folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(folder, "docs", "server.md"), encoding="utf-8") as file:
            self.assertIn(as_markdown(read_states()), file.read(),
                          "docs/server.md: put in what tests/states/states_table.py prints")

    def test_every_command_in_every_state(self):
        states, samples = read_states(), read_samples()
        visitors = [Visitor(kind, states, samples) for kind in state_makers.KINDS]
        faults = []
        threads = [threading.Thread(target=self.visit, args=(visitor, faults))
                   for visitor in visitors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for visitor in visitors:
            print(f"{visitor.kind.name}: {visitor.cells} cells", file=sys.stderr)
        if faults:
            self.fail("\n" + "\n".join(faults))
        for visitor in visitors:
            self.assertEqual(visitor.visited, visitor.visited if ONLY else set(states))

    def visit(self, visitor, faults):
        for group in state_makers.GROUPS:
            if ONLY and group.__name__ not in ONLY and group is not state_makers.GROUPS[0]:
                continue
            begin = state_makers.seconds()
            try:
                faults += visitor.run(group)
            except (Exception, AssertionError) as error:  # the other groups are worth a look
                faults += [*visitor.faults, f"{visitor.kind.name} {group.__name__}: {error!r}"]
                traceback.print_exc()
            print(f"{visitor.kind.name} {group.__name__}: "
                  f"{state_makers.seconds() - begin:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    ONLY = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
