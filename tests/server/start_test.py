#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the server starts, is configured, guarded, and ends."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

from mayfly_server import Mayfly, free_port
from resp_client import Client, Closed, Failure, await_that, pause

PROGRAM = os.environ["MAYFLY"]


def refused(*words):
    """Runs a server that must not start."""
    return subprocess.run([PROGRAM, "serve", *words], capture_output=True, text=True, check=False,
                          timeout=20, cwd=tempfile.gettempdir())


class ListenTest(unittest.TestCase):
    """CONFIG SET port and bind while the server runs."""

    def assert_serves(self, port, host="127.0.0.1"):
        with socket.create_connection((host, port), 10) as connection:
            connection.sendall(b"PING\r\n")
            self.assertEqual(connection.recv(16), b"+PONG\r\n")

    def assert_closed(self, port):
        with self.assertRaises(OSError):
            Client(port)

    def test_the_port_can_be_changed(self):
        with Mayfly() as server, server.client() as client:
            new_port = free_port()
            client.ok("CONFIG", "SET", "port", new_port)
            self.assert_serves(new_port)
            self.assert_closed(server.port)
            self.assertEqual(client.ask("CONFIG", "GET", "port")[1], str(new_port).encode())
            self.assertIn(f"tcp_port:{new_port}", client.ask("INFO", "server").decode())
            client.ok("CONFIG", "SET", "port", server.port)
            self.assert_serves(server.port)
            self.assert_closed(new_port)

    def test_a_port_or_an_address_that_cannot_be_had_changes_nothing(self):
        with Mayfly() as other, Mayfly() as server, server.client() as client:
            for name, value in (("port", str(other.port)), ("bind", "203.0.113.1"),
                                ("bind", "not.an.address")):
                reply = client.ask("CONFIG", "SET", "maxclients", "77", name, value)
                self.assertIsInstance(reply, Failure)
                self.assert_serves(server.port)
                self.assertEqual(client.ask("CONFIG", "GET", "port")[1],
                                 str(server.port).encode())
                self.assertNotEqual(client.ask("CONFIG", "GET", "maxclients")[1], b"77")

    def test_the_lock_names_the_port_of_now_and_what_is_refused_leaves_none(self):
        with Mayfly() as other, Mayfly() as server, server.client() as client:
            new_port = free_port()
            client.ok("CONFIG", "SET", "port", new_port)
            with open(server.path("mayfly.lock"), encoding="utf-8") as file:
                self.assertIn(f"port {new_port}", file.read())
            reply = client.ask("CONFIG", "SET", "appendonly", "yes", "port", other.port)
            self.assertIsInstance(reply, Failure)
            with open(server.path("appendonlydir", "mayfly.lock"), "a", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_addresses_can_be_changed(self):
        with Mayfly() as server, server.client() as client:
            client.ok("CONFIG", "SET", "bind", "127.0.0.2 -203.0.113.1")
            self.assert_serves(server.port, "127.0.0.2")
            self.assert_closed(server.port)
            client.ok("CONFIG", "SET", "bind", "127.0.0.1")
            self.assert_serves(server.port)
            self.assertRegex(client.ask("CONFIG", "SET", "bind", "999.1.1.1"),
                             "Failed to bind to specified addresses")
            client.ok("CONFIG", "SET", "bind", "")
            self.assert_closed(server.port)
            client.ok("CONFIG", "SET", "bind", "127.0.0.1")
            self.assert_serves(server.port)


class RefusedTest(unittest.TestCase):
    def assert_refused(self, words, *parts):
        done = refused("--port", str(free_port()), *words)
        self.assertEqual(done.returncode, 1, done)
        for part in parts:
            self.assertIn(part, done.stderr + done.stdout)

    def test_a_port_in_use(self):
        with Mayfly() as server:
            done = refused("--port", str(server.port))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(str(server.port), done.stderr + done.stdout)
            self.assertRegex((done.stderr + done.stdout).lower(), "in use")

    def test_bad_values_are_named(self):
        self.assert_refused(["--maxmemory", "lots"], "maxmemory", "lots")
        self.assert_refused(["--maxmemory-policy", "random"], "maxmemory-policy", "allkeys-random")
        self.assert_refused(["--port", "99999"], "port")
        self.assert_refused(["--port", "abc"], "port", "abc")
        self.assert_refused(["--databases", "0"], "databases")
        self.assert_refused(["--appendonly", "maybe"], "appendonly")
        self.assert_refused(["--notify-keyspace-events", "q"], "notify-keyspace-events")
        self.assert_refused(["--active-expire-effort", "11"], "active-expire-effort")
        self.assert_refused(["--bind", "not.an.address"], "not.an.address")
        self.assert_refused(["--dir", "/no/such/folder"], "/no/such/folder")
        self.assert_refused(["--hash-max-listpack-entries"], "hash-max-listpack-entries")

    def test_a_config_file_that_is_not_there(self):
        self.assert_refused(["/no/such/file.conf"], "/no/such/file.conf")
        done = refused("/no/such/file.conf")
        self.assertEqual(done.returncode, 1, done)

    def test_unknown_directives(self):
        done = refused("--port", str(free_port()), "--no-such-directive", "1", "--strict")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("no-such-directive", done.stderr + done.stdout)

    def test_a_directive_we_do_not_have_is_named_in_a_warning(self):
        with Mayfly("--cluster-enabled", "no", "--tls-port", "0", "--rdbchecksum", "yes") as server:
            self.assertEqual(server.client().ask("PING"), "PONG")
        with Mayfly("--repl-diskless-load", "swapdb") as server:
            log = server.log()
        self.assertIn("repl-diskless-load", log)


class FileTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def server(self, path, *options):
        server = Mayfly(*options)
        server.command = [PROGRAM, "serve", path]
        return self.enterContext(server)

    def test_a_file_with_comments_quotes_and_includes(self):
        other = self.write("other.conf", "hash-max-listpack-value 99\n# a comment\n")
        path = self.write("mayfly.conf", f"""
            # A comment.
            maxmemory 100mb
              MAXMEMORY-POLICY volatile-ttl
            notify-keyspace-events "KEA"
            requirepass 'a secret'

            include {other}
            databases 4
            """)
        server = self.server(path, "--databases", "6")
        client = server.client()
        client.ok("AUTH", "a secret")
        for name, value in [("maxmemory", "104857600"), ("maxmemory-policy", "volatile-ttl"),
                            ("notify-keyspace-events", "AKE"), ("hash-max-listpack-value", "99"),
                            ("databases", "6")]:
            self.assertEqual(client.ask("CONFIG", "GET", name), [name.encode(), value.encode()])
        self.assertEqual(client.ask("SELECT", "6"), "ERR DB index is out of range")
        self.assertNotIn("a secret", server.log())

    def test_a_file_with_an_error_names_the_line(self):
        path = self.write("mayfly.conf", "# fine\ntimeout 0\nmaxmemory-policy nonsense\n")
        done = refused(path, "--port", str(free_port()))
        self.assertEqual(done.returncode, 1, done)
        said = done.stderr + done.stdout
        self.assertIn("maxmemory-policy", said)
        self.assertRegex(said, r"\b3\b")

    def test_a_dash_is_standard_input(self):
        done = subprocess.run([PROGRAM, "serve", "-", "--port", str(free_port())],
                              input="timeout 0\nmaxmemory-policy nonsense\n", timeout=30,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/stdin, line 2", done.stderr)
        self.assertIn("nonsense", done.stderr)

    def test_a_redis_conf_as_debian_ships_it_starts_it(self):
        if not os.access("/etc/redis/redis.conf", os.R_OK):
            self.skipTest("there is no redis.conf that can be read")
        with open("/etc/redis/redis.conf", encoding="utf-8") as file:
            lines = [line for line in file
                     if not line.startswith(("daemonize", "logfile", "pidfile", "dir ", "bind "))]
        server = self.server(self.write("redis.conf", "".join(lines)))
        self.assertEqual(server.client().ask("PING"), "PONG")

    def test_config_rewrite_keeps_what_was_set_and_said(self):
        path = self.write("mayfly.conf", "# Kept.\nmaxmemory 100mb\ntimeout 7\n")
        server = self.server(path)
        client = server.client()
        client.ok("CONFIG", "SET", "maxmemory", "200mb", "hash-max-listpack-value", "33")
        self.assertEqual(client.ask("CONFIG", "REWRITE"), "OK")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("# Kept.", text)
        self.assertRegex(text, r"(?m)^maxmemory (200mb|209715200)$")
        self.assertRegex(text, r"(?m)^hash-max-listpack-value 33$")
        self.assertRegex(text, r"(?m)^timeout 7$")
        self.assertEqual(text.count("\nmaxmemory "), 1)
        again = self.server(path).client()
        self.assertEqual(again.ask("CONFIG", "GET", "maxmemory"), [b"maxmemory", b"209715200"])


class GuardTest(unittest.TestCase):
    def test_a_password_from_the_start(self):
        with Mayfly("--requirepass", "secret") as server:
            client = server.client()
            self.assertEqual(client.ask("GET", "a"), "NOAUTH Authentication required.")
            self.assertRegex(client.ask("AUTH", "guess"), "^WRONGPASS ")
            self.assertEqual(client.ask("AUTH", "secret"), "OK")
            self.assertIsNone(client.ask("GET", "a"))
            self.assertNotIn(b"secret", client.ask("INFO", "everything"))
            self.assertNotIn(b"secret", client.ask("CLIENT", "LIST"))
            client.ok("CONFIG", "SET", "slowlog-log-slower-than", "0")
            client.ok("AUTH", "secret")
            client.ok("CONFIG", "SET", "requirepass", "secret2")
            self.assertNotIn("secret", str(client.ok("SLOWLOG", "GET", "-1")))
            log = server.stop()
            self.assertNotIn("secret", log)

    def test_without_a_password_large_requests_are_refused(self):
        with Mayfly("--requirepass", "secret") as server:
            for data in (b"*1000\r\n", b"*1\r\n$1000000\r\n"):
                client = server.client()
                client.write(data)
                self.assertRegex(client.receive(), "^ERR Protocol error: unauthenticated")

    def test_debug_is_off_unless_allowed(self):
        with Mayfly("--enable-debug-command", "no") as server:
            client = server.client()
            self.assertRegex(client.ask("DEBUG", "SLEEP", "0"), "^ERR DEBUG command not allowed")

    def test_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            with Mayfly("--unixsocket", path, "--unixsocketperm", "700") as server:
                with Client(path) as client:
                    self.assertEqual(client.ask("SET", "a", "1"), "OK")
                    self.assertIn(path.encode(), client.ask("CLIENT", "INFO"))
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o700)
                self.assertEqual(server.client().ask("GET", "a"), b"1")
            self.assertFalse(os.path.exists(path))

    def test_any_port_takes_the_next_one(self):
        with Mayfly() as first, Mayfly("--any-port") as second:
            second.stop()
            second.port = first.port
            second.spawn()
            found = None
            for _ in range(1_000):
                found = re.search(r"is listening on port (\d+)", second.log())
                if found or second.process.poll() is not None:
                    break
                pause(0.01)
            self.assertTrue(found, second.log())
            second.port = int(found.group(1))
            self.assertGreater(second.port, first.port)
            self.assertTrue(second.accepts())


class FolderTest(unittest.TestCase):
    """A folder belongs to one server."""

    def refused_in(self, folder, *words):
        done = subprocess.run([PROGRAM, "serve", "--port", str(free_port()), *words],
                              capture_output=True, text=True, check=False, timeout=20, cwd=folder)
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn("is listening on port", done.stdout)
        return done.stderr + done.stdout

    def test_a_second_server_is_refused_with_process_and_port_of_the_first(self):
        with Mayfly() as first, tempfile.TemporaryDirectory() as other:
            os.symlink(first.folder, os.path.join(other, "link"))
            for folder, words in ((first.folder, ["--any-port"]), (other, ["--dir", "link"]),
                                  (other, ["--dir", first.folder, "--save", ""])):
                said = self.refused_in(folder, *words)
                self.assertIn(f"process {first.process.pid}, port {first.port}", said)
                self.assertIn("--dir", said)
            self.assertEqual(first.client().ask("PING"), "PONG")

    def test_a_kill_leaves_no_lock_even_while_a_child_saves(self):
        with Mayfly("--rdb-key-save-delay", "0") as server:
            client = server.client()
            client.ok("DEBUG", "POPULATE", 200_000, "key", 100)
            client.ok("BGSAVE")
            server.kill()
            server.restart()
            self.assertEqual(server.client().ask("PING"), "PONG")
            server.stop()
            self.assertNotIn("mayfly.lock", os.listdir(server.folder))

    def test_one_append_only_folder_by_two_ways(self):
        with Mayfly("--appendonly", "yes") as first, Mayfly() as second:
            os.symlink(first.path("appendonlydir"), second.path("appendonlydir"))
            client = second.client()
            owner = f"process {first.process.pid}, port {first.port}"
            self.assertIn(owner, client.ask("CONFIG", "SET", "appendonly", "yes"))
            self.assertEqual(client.ask("CONFIG", "GET", "appendonly"), [b"appendonly", b"no"])
            second.stop()
            second.options += ("--appendonly", "yes")
            second.spawn()
            self.assertIn(owner, second.end_refused())

    def test_dir_can_be_changed_to_a_free_folder_only(self):
        with Mayfly("--enable-protected-configs", "yes") as first, Mayfly() as second:
            with tempfile.TemporaryDirectory() as free:
                client = first.client()
                said = client.ask("CONFIG", "SET", "dir", second.folder)
                self.assertIn(f"process {second.process.pid}, port {second.port}", said)
                client.ok("CONFIG", "SET", "dir", free)
                self.refused_in(free)
                with open(first.path("mayfly.lock"), "w", encoding="utf-8"):
                    pass  # it is gone, and whoever comes now makes a new one
                client.ok("CONFIG", "SET", "dir", first.folder)
                self.refused_in(first.folder)

    def test_a_file_where_the_append_only_folder_should_be(self):
        with Mayfly() as server:
            with open(server.path("appendonlydir"), "w", encoding="utf-8"):
                pass
            client = server.client()
            self.assertRegex(client.ask("CONFIG", "SET", "appendonly", "yes"),
                             "^ERR CONFIG SET failed.*appendonlydir.*exists")
            self.assertEqual(client.ask("CONFIG", "GET", "appendonly"), [b"appendonly", b"no"])


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class LogTest(unittest.TestCase):
    def test_hints_are_for_terminals_only(self):
        with Mayfly() as server:
            line = f"Mayfly is listening on port {server.port}\n"
            await_that(lambda: line in server.log(), server.log)
            for hint in ("redis-cli", "Press Ctrl-C", "Console and metrics"):
                self.assertNotIn(hint, server.log())

    def test_it_is_ready_after_the_data_is_loaded_and_says_who_and_where(self):
        with Mayfly("--save", "900 1") as server:
            server.client().ok("DEBUG", "POPULATE", 1_000)
            server.stop()
            server.restart()
            lines = server.log().splitlines()
            self.assertRegex(lines[0], rf"Mayfly \d+\.\d+\.\d+ starts: process "
                             rf"{server.process.pid}, port {server.port}, folder "
                             rf"'{server.folder}'")
            self.assertRegex(lines[1], r"Loading '.*/dump.rdb', \d+ bytes")
            self.assertRegex(lines[2], r"DB loaded from disk: 1000 keys in \d+\.\d+ seconds")
            self.assertIn(f"Ready to accept connections at 127.0.0.1:{server.port}", lines[3])
            for number in (signal.SIGINT, signal.SIGTERM):
                self.assertIn(f"Received {number.name}", server.stop(number))
                server.restart()

    @unittest.skipUnless(has_ipv6(), "this machine has no IPv6 address")
    def test_the_port_of_an_ipv6_address_can_be_told_from_it(self):
        with Mayfly("--bind", "127.0.0.1", "::1") as server:
            self.assertIn(f"Ready to accept connections at [::1]:{server.port}\n", server.log())

    def test_settings_without_effect_are_one_line(self):
        with Mayfly("--activedefrag", "no", "--io-threads", "1", "--strict", "--tls-port", "0",
                    "--lfu-decay-time", "1") as server:
            said = [line for line in server.log().splitlines() if "effect" in line]
            self.assertEqual(len(said), 1)
            self.assertIn("activedefrag, io-threads, tls-port, lfu-decay-time", said[0])
        done = refused("--port", str(free_port()), "--tls-port", "6380")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("tls-port 6380", done.stderr + done.stdout)

    def test_in_the_background_it_runs_without_a_pid_file_and_logs_why_it_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            port, log = free_port(), os.path.join(folder, "server.log")
            words = ["--port", str(port), "--dir", folder, "--logfile", log, "--daemonize", "yes"]
            done = refused(*words, "--pidfile", os.path.join(folder, "no", "server.pid"))
            self.assertEqual(done.returncode, 0, done)
            client = Client(port)
            self.assertIn("Cannot write the pid file", read_text(log))
            self.assertIn("the server runs without it", read_text(log))
            client.send("SHUTDOWN", "NOSAVE")
            await_that(lambda: "Server stopped" in read_text(log), "the server ends")

            with open(os.path.join(folder, "dump.rdb"), "wb") as file:
                file.write(b"REDIS0011 but no more than that")
            done = refused(*words)
            self.assertEqual(done.returncode, 0, done)
            await_that(lambda: "The server ends: " in read_text(log), "the log says why")


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class EndTest(unittest.TestCase):
    def test_signals_end_it_well_while_clients_are_there(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number), Mayfly() as server:
                client, subscriber = server.client(), server.client()
                client.ok("SET", "a", "1")
                subscriber.ok("SUBSCRIBE", "news")
                server.stop(number)
                with self.assertRaises(Closed):
                    client.ask("PING")

    def test_shutdown(self):
        for words in (["SHUTDOWN"], ["SHUTDOWN", "NOSAVE"], ["shutdown", "now", "force"]):
            with self.subTest(words), Mayfly() as server:
                client = server.client()
                client.send(*words)
                with self.assertRaises(Closed):
                    client.receive()
                server.wait_for_end()

    def test_a_crash_leaves_a_report_without_secrets(self):
        with Mayfly("--requirepass", "open-sesame", "--save", "") as server:
            client = server.client()
            client.ok("AUTH", "open-sesame")
            client.ok("SET", "a-secret-key", "a-secret-value")
            server.process.send_signal(signal.SIGALRM)
            self.assertEqual(client.ask("PING"), "PONG")
            server.process.send_signal(signal.SIGSEGV)
            self.assertEqual(server.process.wait(30), -signal.SIGSEGV)
            server.ended = True
            log = server.log()
            for part in ("CRASH REPORT", "signal 11 (SIGSEGV", "mayfly+0x", "used_memory:",
                         "connected_clients:", "END OF THE CRASH REPORT"):
                self.assertIn(part, log)
            for secret in ("open-sesame", "a-secret"):
                self.assertNotIn(secret, log.replace(" ".join(server.options), ""))

    def test_the_port_can_be_used_again_at_once(self):
        with Mayfly() as server:
            server.client().ok("PING")
            server.stop()
            server.spawn()
            self.assertTrue(server.accepts(), server.log())

    def test_log_lines_have_levels_and_the_log_can_be_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with Mayfly("--logfile", path, "--loglevel", "debug") as server:
                server.client().ok("PING")
            with open(path, encoding="utf-8") as file:
                self.assertGreater(len(file.read().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
