#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly top: reports, lines of JSON, and the live view, on a terminal of the test's own."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import program
from server_copy import FAR, Mayfly, Redis, ServerCase, await_that, free_port

OTHER_SCREEN, FIRST_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
TOP_LEFT = b"\x1b[H"


class ReportTest(ServerCase):
    def sample(self, server, *words):
        outcome = self.program.run("top", "--port", server.port, "--once", "--json",
                                   "--interval", "0.1", *words)
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""))
        self.assertEqual(len(outcome.lines), 1)
        return outcome.json

    def test_numbers_are_those_of_the_server(self):
        server = self.start(Mayfly, "--maxmemory", "100mb")
        client = server.client()
        client.pipeline(("SET", f"half an hour:{i}", i, "EX", 1800) for i in range(300))
        client.ok("SET", "five seconds", "v", "EX", 5)
        client.ok("SET", "far", "v", "PXAT", FAR)
        client.ok("SET", "forever", "v")
        for name in ("g", "h"):
            client.ok("HSET", name, "a", "1", "b", "2")
            client.ok("HEXPIRE", name, 50, "FIELDS", 2, "a", "b")
        client.ok("GET", "far")
        client.ok("GET", "nothing")
        sample = self.sample(server)
        self.assertEqual((sample["keys"], sample["keys_with_deadline"]), (305, 302))
        self.assertEqual(sample["keys_with_member_deadlines"], 2)
        self.assertEqual(sample["keys_due_within"],
                         {"1s": 0, "10s": 1, "1m": 1, "10m": 1, "1h": 301})
        self.assertEqual(sample["keys_with_members_due_within"],
                         {"1s": 0, "10s": 0, "1m": 2, "10m": 2, "1h": 2})
        self.assertEqual((sample["hit_share"], sample["clients"]), (0.5, 2))
        self.assertEqual(sample["memory_limit_bytes"], 100 * 1024 * 1024)
        self.assertGreater(sample["memory_used_bytes"], 100_000)
        self.assertGreater(sample["operations_per_s"], 0)
        self.assertEqual(list(sample["commands_per_s"]), ["info"])
        self.assertEqual((sample["role"], sample["replicas"]), ("primary", 0))
        self.assertTrue(sample["server"].startswith("mayfly "))

    def test_an_output_that_cannot_be_written_ends_it(self):
        server = self.start(Mayfly)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([self.program.path, "top", "--port", str(server.port), "--json",
                                   "--interval", "0.05"], stdout=full, stderr=subprocess.PIPE,
                                  timeout=20, check=False)
        self.assertEqual(done.returncode, program.FAILED)
        self.assertIn(b"cannot write to standard output: No space left on device", done.stderr)

    def test_lateness_and_what_has_expired(self):
        server = self.start(Mayfly)
        client = server.client()
        client.ok("SET", "k", "v", "PX", 5)
        client.ok("HSET", "h", "f", "v", "g", "v")
        client.ok("HPEXPIRE", "h", 5, "FIELDS", 1, "f")
        await_that(lambda: client.info("expired_keys") + client.info("expired_fields") == 2,
                   "both have expired")
        sample = self.sample(server)
        self.assertEqual((sample["expired_keys"], sample["expired_fields"]), (1, 1))
        late = sample["late_by_sweep_ms"]["count"] + sample["late_on_access_ms"]["count"]
        self.assertEqual(late, 2)

    def test_of_redis_it_shows_what_redis_tells(self):
        server = self.start(Redis)
        server.client().ok("SET", "k", "v", "EX", 100)
        sample = self.sample(server)
        self.assertEqual((sample["keys"], sample["keys_with_deadline"]), (1, 1))
        self.assertIsNone(sample["keys_due_within"]["1s"])
        self.assertIsNone(sample["late_by_sweep_ms"])
        text = self.program.run("top", self.url(server), "--once", "--interval", "0.1").text
        self.assertRegex(text, r"\Aredis [\d.]+ at redis://127.0.0.1:\d+/0, up \d+s\n")
        self.assertRegex(text, r"(?m)^operations +\d")
        self.assertNotIn("due within", text)

    def test_without_a_terminal_it_prints_one_report(self):
        server = self.start(Mayfly)
        server.client().ok("SET", "k", "v", "EX", 100)
        outcome = self.program.run("top", "--port", server.port, "--interval", "0.1")
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""))
        self.assertRegex(outcome.text, r"(?m)^keys +1, 1 with a TTL")
        self.assertRegex(outcome.text,
                         r"(?m)^due within +1s +10s +1m +10m +1h\n +keys +0 +0 +0 +1 ")
        self.assertNotIn("\x1b", outcome.text)

    def test_json_is_a_line_for_each_look_until_it_is_ended(self):
        server = self.start(Mayfly)
        process = self.spawn("top", "--port", server.port, "--json", "--interval", "0.05")
        moments = [json.loads(process.stdout.readline())["time_ms"] for _ in range(3)]
        self.assertEqual(sorted(set(moments)), moments)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(program.PATIENCE_S), program.OK)

    def test_wrong_input_and_no_server_are_errors(self):
        port = free_port()
        run = lambda *words: self.program.run("top", *words)  # noqa: E731
        self.refused(run("--port", port, "--once"), str(port), "refused")
        self.refused(run("--port", port), str(port), "refused")
        self.refused(run("--port", "70000"), "--port")
        self.refused(run("--port", port, "redis://127.0.0.1"), "--port")
        self.refused(run("--interval", "0"), "--interval")
        self.refused(run("http://127.0.0.1"), "http://")


class Terminal:
    """A terminal with mayfly top on it."""

    def __init__(self, path, words, rows=24, columns=80):
        self.ours, self.its = pty.openpty()
        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.its)
        self.seen = b""
        self.process = subprocess.Popen([path, "top", "--interval", "0.1", *words],
                                        stdin=self.its, stdout=self.its, stderr=self.its,
                                        env={**os.environ, "TERM": "xterm"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.its)

    def read_some(self, seconds):
        ready, _, _ = select.select([self.ours], [], [], seconds)
        if ready:
            self.seen += os.read(self.ours, 65536)

    def await_text(self, pattern):
        end = time.monotonic() + program.PATIENCE_S
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, self.seen[-2000:]
            self.read_some(0.1)

    def forget(self):
        self.seen = b""

    def type(self, keys):
        os.write(self.ours, keys)

    def end(self):
        """The exit code, and whether the terminal is as it was."""
        end = time.monotonic() + program.PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end, self.seen[-2000:]
            self.read_some(0.05)
        self.read_some(0)
        is_clean = (self.seen.rfind(FIRST_SCREEN) > self.seen.rfind(OTHER_SCREEN)
                    and self.seen.endswith(FIRST_SCREEN)
                    and termios.tcgetattr(self.its) == self.before)
        return self.process.returncode, is_clean


class LiveTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.server = self.start(Mayfly)

    def terminal(self, **size):
        return self.enterContext(
            Terminal(self.program.path, ["--port", str(self.server.port)], **size))

    def test_q_ends_it_and_leaves_the_terminal_as_it_was(self):
        terminal = self.terminal()
        terminal.await_text(rb"operations +\d[^\r]*[\xe2\x96]")
        terminal.type(b"p")
        terminal.await_text(b"PAUSED")
        terminal.type(b"pq")
        self.assertEqual(terminal.end(), (program.OK, True))
        self.assertTrue(terminal.seen.startswith(OTHER_SCREEN))

    def test_ctrl_c_and_sigterm_leave_the_terminal_as_it_was(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.terminal()
            terminal.await_text(b"operations")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.end(), (program.OK, True))

    def test_a_small_window_is_not_overrun(self):
        terminal = self.terminal(rows=8, columns=30)
        terminal.await_text(rb"operations +\d")
        terminal.await_text(rb"(?s)operations +\d.*" + re.escape(TOP_LEFT))
        terminal.type(b"q")
        self.assertEqual(terminal.end(), (program.OK, True))
        for frame in terminal.seen.split(TOP_LEFT)[1:]:
            lines = re.sub(rb"\x1b\[[?\d]*[A-Za-z]|\r", b"", frame).decode().split("\n")
            self.assertLessEqual(len(lines), 8)
            self.assertLessEqual(max(map(len, lines)), 30, lines)

    def test_a_server_that_goes_away_is_asked_again_until_it_is_back(self):
        terminal = self.terminal(columns=200)
        terminal.await_text(rb"operations +\d")
        self.server.kill()
        terminal.await_text(b"retrying")
        terminal.forget()
        self.server.restart()
        terminal.await_text(rb"up \d+s[^\r]*\r+\np pauses")
        terminal.type(b"q")
        self.assertEqual(terminal.end()[0], program.OK)


if __name__ == "__main__":
    unittest.main()
