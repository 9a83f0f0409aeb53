#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of clients that do not know the password, and secrets and files on a shared machine."""

import http.client
import os
import pathlib
import resource
import socket
import time
import unittest

from mayfly_server import Mayfly, free_port
from resp_client import await_that

PASSWORD = "a-secret-word"
MEGABYTE = 1 << 20


def flood(address, data, most):
    """Writes without reading, until the server closes. Returns how much was written."""
    written = 0
    with socket.create_connection(address, 10) as connection:
        connection.settimeout(10)
        try:
            while written < most:
                written += connection.send(data)
        except (ConnectionError, BrokenPipeError):
            pass
    return written


class Strangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.http_port = free_port()
        cls.server = cls.enterClassContext(
            Mayfly("--requirepass", PASSWORD, "--http-port", str(cls.http_port),
                   "--hide-user-data-from-log", "no"))

    def known(self):
        client = self.server.client()
        client.ok("AUTH", PASSWORD)
        return client

    def test_replies_that_nobody_reads_take_no_memory(self):
        with self.known() as client:
            before = client.info("used_memory")
            pings = b"*1\r\n$4\r\nPING\r\n" * 100_000
            self.assertLess(flood(self.server.address(), pings, 200 * MEGABYTE), 40 * MEGABYTE)
            self.assertLess(client.info("used_memory_peak"), before + 4 * MEGABYTE)

    def test_requests_that_never_end_share_sixteen_megabytes(self):
        part = b"*10\r\n" + (b"$16384\r\n" + b"x" * 16384 + b"\r\n") * 9
        with self.known() as client:
            before = client.info("used_memory")
            connections = []
            for _ in range(400):
                connections.append(socket.create_connection(self.server.address(), 10))
                try:
                    connections[-1].sendall(part)
                except ConnectionError:
                    pass
            await_that(lambda: client.info("unauthenticated_client_disconnections") > 200,
                       lambda: "the connections beyond 16 MiB are closed")
            await_that(lambda: client.info("used_memory") < before + 20 * MEGABYTE,
                       lambda: f"memory is given back: {client.info('used_memory')}")
            self.assertLess(client.info("used_memory_peak"), before + 40 * MEGABYTE)
            for connection in connections:
                connection.close()

    def test_guessing_is_slow_and_knowing_is_not(self):
        with self.server.client() as guesser:
            begin = time.monotonic()
            count = 0
            while time.monotonic() < begin + 2.5:
                guesser.ask("AUTH", "eve", "wrong")
                count += 1
            self.assertLess(count, 100 + 50 * 2.5)
            begin = time.monotonic()
            guesser.ok("AUTH", PASSWORD)
            self.assertLess(time.monotonic() - begin, 1.3)
        await_that(lambda: "Failed logins from 127.0.0.1: " in self.server.log(), self.server.log)
        self.assertIn("(last user eve)", self.server.log())

    def test_those_who_do_not_log_in_have_to_go(self):
        with self.known() as client:
            client.ok("CONFIG", "SET", "auth-timeout", "1")
            with socket.create_connection(self.server.address(), 10) as stranger:
                self.assertEqual(stranger.recv(10), b"")
            client.ok("CONFIG", "SET", "auth-timeout", "60")
            self.assertEqual(client.ask("PING"), "PONG")

    def test_drips_do_not_keep_probes_out(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
        drips = []
        for i in range(1000):
            drip = socket.create_connection(("127.0.0.1", self.http_port), 10)
            drip.sendall(b"G")
            drips.append(drip)
            if i % 100 != 99:
                continue
            probe = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=5)
            probe.request("GET", "/health")
            self.assertEqual(probe.getresponse().status, 200)
            probe.close()
        for drip in drips:
            drip.close()

    def test_the_password_is_not_in_the_list_of_processes(self):
        line = pathlib.Path(f"/proc/{self.server.process.pid}/cmdline").read_bytes()
        self.assertIn(b"--requirepass\0" + b"*" * len(PASSWORD), line)
        self.assertNotIn(PASSWORD.encode(), line)


class Files(unittest.TestCase):
    def test_they_are_for_the_user_of_the_server(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        with Mayfly("--appendonly", "yes", "--logfile", "log", "--pidfile", "pid") as server:
            with server.client() as client:
                client.ok("SET", "a", "b")
                client.ok("SAVE")
            modes = {str(path.relative_to(server.folder)): path.stat().st_mode & 0o777
                     for path in pathlib.Path(server.folder).rglob("*")
                     if path.name != "output"}
            self.assertEqual(modes.pop("log"), 0o640)
            self.assertEqual(modes.pop("appendonlydir"), 0o700)
            self.assertIn("dump.rdb", modes)
            self.assertIn("pid", modes)
            self.assertEqual(set(modes.values()), {0o600}, modes)

    def test_links_are_not_written_through(self):
        with Mayfly() as server:
            victim = pathlib.Path(server.path("victim"))
            victim.write_text("precious")
            temporary = pathlib.Path(server.path(f"temp-{server.port}-dump.rdb"))
            temporary.symlink_to(victim)
            dump = pathlib.Path(server.path("dump.rdb"))
            dump.write_text("old")
            dump.chmod(0o640)
            with server.client() as client:
                client.ok("SET", "a", "b")
                client.ok("SAVE")
            self.assertEqual(victim.read_text(), "precious")
            self.assertTrue(dump.read_bytes().startswith(b"REDIS"))
            self.assertFalse(dump.is_symlink())
            self.assertEqual(dump.stat().st_mode & 0o777, 0o640)
            self.assertFalse(temporary.is_symlink())


class Passwords(unittest.TestCase):
    def test_one_may_come_from_a_file_or_the_environment(self):
        with Mayfly() as server:
            path = pathlib.Path(server.path("password"))
            path.write_text(PASSWORD + "\nmore\n")
            server.stop()
            server.restart("--requirepass-file", str(path))
            with server.client() as client:
                self.assertIn("NOAUTH", str(client.ask("PING")))
                client.ok("AUTH", PASSWORD)
            server.stop()
            path.write_text("\n")
            server.spawn()
            self.assertIn("the first line of the password file", server.end_refused())

    def test_the_variable_counts_if_nothing_else_does(self):
        os.environ["MAYFLY_PASSWORD"] = PASSWORD
        self.addCleanup(os.environ.pop, "MAYFLY_PASSWORD")
        with Mayfly() as server, server.client() as client:
            self.assertIn("NOAUTH", str(client.ask("PING")))
            client.ok("AUTH", PASSWORD)
            server.stop()
            server.restart("--requirepass", "other")
            with server.client() as again:
                again.ok("AUTH", "other")


if __name__ == "__main__":
    unittest.main()
