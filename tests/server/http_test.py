#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP of the real program: metrics that a real Prometheus scrapes, health, limits, the API."""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.parse

from mayfly_server import Mayfly, end_with_the_test, free_port
from resp_client import await_that

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONSOLE = {"X-Mayfly": "console"}


class Http:
    """A connection that is kept alive."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())

    def run(self, *commands, **headers):
        body = json.dumps({"db": 0, "commands": commands})
        status, text, _ = self.ask("POST", "/api/command", body, {**CONSOLE, **headers})
        return json.loads(text)["replies"] if status == 200 else status


def ask_once(port, path):
    """The status and the body, by a connection of its own."""
    once = Http(port)
    try:
        return once.ask("GET", path)[:2]
    finally:
        once.connection.close()


def families(text):
    """Name -> (type, help) of what /metrics exports."""
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    return {name: (kind, helps[name])
            for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)}


def sample(text, line):
    """The value of a sample, by all that stands before it."""
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


class HttpTest(unittest.TestCase):
    options = []

    def setUp(self):
        self.http_port = free_port()
        self.server = self.enterContext(
            Mayfly("--http-port", str(self.http_port), *self.options))
        self.client = self.server.client()
        self.http = Http(self.http_port)
        self.addCleanup(self.http.connection.close)

    def get(self, path, headers=None):
        return self.http.ask("GET", path, None, headers)


class Metrics(HttpTest):
    def test_numbers_equal_those_of_info(self):
        self.client.ask("SET", "a", "b")
        self.client.ask("HSET", "a", "b", "c")
        self.client.ask("SET", "soon", "x", "PX", "1")
        await_that(lambda: self.client.info("expired_keys") == 1, "a key expires")
        status, text, headers = self.get("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(sample(text, 'mayfly_commands_total{command="set"}'), 2)
        self.assertEqual(sample(text, 'mayfly_commands_failed_total{command="hset"}'), 1)
        self.assertEqual(sample(text, 'mayfly_command_duration_seconds_count{command="set"}'), 2)
        self.assertEqual(sample(text, 'mayfly_error_replies_total{code="WRONGTYPE"}'), 1)
        self.assertEqual(sample(text, 'mayfly_keys{db="0"}'), 1)
        for name in ("mayfly_expired_keys_total", "mayfly_expiry_lateness_seconds_count"):
            self.assertEqual(sum(sample(text, f'{name}{{cause="{cause}"}}')
                                 for cause in ("sweep", "access")), 1)
        self.assertEqual(sample(text, "mayfly_connected_clients"),
                         self.client.info("connected_clients"))

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool")
    def test_promtool_finds_nothing_to_complain_about(self):
        text = self.get("/metrics")[1]
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, timeout=60, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_the_document_lists_what_is_exported(self):
        rows = re.findall(r"^\| `(mayfly_\w+)` \| (\w+) \| (.*) \|$",
                          (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
        port = free_port()
        self.enterContext(Mayfly("--http-port", str(port), "--cluster-enabled", "yes",
                                 "--cluster-etcd", "http://127.0.0.1:1"))
        exported = families(ask_once(port, "/metrics")[1])
        self.assertEqual({name: (kind, text) for name, kind, text in rows}, exported)
        plain = families(self.get("/metrics")[1])
        self.assertEqual({name for name in exported if not name.startswith("mayfly_cluster_")},
                         set(plain))

    def test_the_dashboard_uses_what_is_exported(self):
        dashboard = json.loads((ROOT / "share/grafana/mayfly.json").read_text())
        exported = families(self.get("/metrics")[1])
        self.assertGreater(len(dashboard["panels"]), 10)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                used = re.findall(r"mayfly_\w+", target["expr"])
                self.assertTrue(used, target)
                for name in used:
                    self.assertIn(re.sub("_bucket$", "", name), exported)

    @unittest.skipUnless(shutil.which("prometheus"), "needs prometheus")
    def test_a_real_prometheus_scrapes_it(self):
        for i in range(7):
            self.client.ask("SET", f"key:{i}", "value", "EX", "1000")
        folder = tempfile.mkdtemp(prefix="mayfly-prometheus-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write("global:\n  scrape_interval: 1s\nscrape_configs:\n"
                       "  - job_name: mayfly\n    static_configs:\n"
                       f"      - targets: ['127.0.0.1:{self.http_port}']\n")
        port = free_port()
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_the_test)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)

        def value(query):
            try:
                path = "/api/v1/query?query=" + urllib.parse.quote(query)
                result = json.loads(ask_once(port, path)[1])["data"]["result"]
                return float(result[0]["value"][1]) if result else None
            except (OSError, KeyError, ValueError, http.client.HTTPException):
                return None  # it is not up yet

        await_that(lambda: value('mayfly_volatile_keys{db="0"}') == 7, "Prometheus has scraped")
        self.assertEqual(value("mayfly_memory_max_bytes"), self.client.info("maxmemory"))
        self.assertEqual(value('up{job="mayfly"}'), 1)


class Serving(HttpTest):
    def test_health_and_readiness(self):
        self.assertEqual(self.get("/health")[:2], (200, "ok\n"))
        self.assertEqual(self.get("/ready")[:2], (200, "ready\n"))
        self.client.ask("REPLICAOF", "127.0.0.1", "1")
        self.client.ask("CONFIG", "SET", "replica-serve-stale-data", "no")
        status, text, _ = self.get("/ready")
        self.assertEqual(status, 503)
        self.assertIn("primary", text)
        self.assertEqual(self.get("/health")[0], 200)
        self.assertIn("READONLY", self.http.run(["SET", "a", "b"])[0]["error"])

    def test_a_busy_script_is_seen(self):
        self.client.ask("CONFIG", "SET", "busy-reply-threshold", "1")
        self.client.send("EVAL", "while true do end", "0")
        await_that(lambda: self.get("/ready")[0] == 503, "the script is busy")
        self.assertEqual(self.get("/health")[0], 200)
        self.assertEqual(sample(self.get("/metrics")[1], "mayfly_ready"), 0)
        self.assertIn("BUSY", self.http.run(["GET", "a"])[0]["error"])
        self.assertEqual(self.http.run(["SCRIPT", "KILL"]), [{"ok": "OK"}])
        await_that(lambda: self.get("/ready")[0] == 200, "the script has ended")

    def test_commands_and_headers(self):
        self.assertEqual(self.http.run(["SET", "k", "v"], ["GET", "k"]),
                         [{"ok": "OK"}, {"ok": "v"}])
        self.assertEqual(self.client.ask("GET", "k"), b"v")
        headers = self.get("/health")[2]
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(self.http.run(["PING"], Origin="http://evil.example"), 403)

    def test_slow_clients_and_many_connections_do_no_harm(self):
        crowd = []
        for _ in range(300):
            one = socket.create_connection(("127.0.0.1", self.http_port), timeout=30)
            self.addCleanup(one.close)
            crowd.append(one)
        for one in crowd[:20]:
            one.sendall(b"GET /metr")
        self.assertEqual(ask_once(self.http_port, "/health")[0], 200)
        connections = sample(ask_once(self.http_port, "/metrics")[1], "mayfly_http_connections")
        self.assertLessEqual(connections, 128)
        self.assertEqual(self.client.ask("PING"), "PONG")
        self.server.check_health()

    def test_a_client_that_does_not_read_costs_one_answer(self):
        self.client.ask("SETRANGE", "a", str(4 << 20), "x")
        before = self.client.info("used_memory")
        body = json.dumps({"commands": [["GET", "a"]]}).encode()
        request = (b"POST /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mayfly: console\r\n"
                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        with socket.create_connection(("127.0.0.1", self.http_port), timeout=30) as deaf:
            deaf.sendall(request * 50)
            await_that(lambda: self.client.info("total_commands_processed") > 0, "it has run")
            self.assertLess(self.client.info("used_memory") - before, 64 << 20)

    def test_malformed_requests_are_refused(self):
        chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for bytes_, status in ((b"\x16\x03\x01\x00", 400), (b"X\r\n\r\n", 400), (chunked, 501),
                               (b"GET / HTTP/1.1\r\nA: " + b"x" * 20_000, 431)):
            with socket.create_connection(("127.0.0.1", self.http_port), timeout=30) as one:
                one.sendall(bytes_)
                self.assertIn(b" %d " % status, one.recv(4096))
        self.server.check_health()

    def test_the_port_can_be_changed_and_turned_off(self):
        other = free_port()
        self.assertEqual(self.client.ask("CONFIG", "SET", "http-port", str(other)), "OK")
        self.assertEqual(ask_once(other, "/health")[0], 200)
        with self.assertRaises(OSError):
            ask_once(self.http_port, "/health")
        self.assertIn("http-port", self.client.ask("CONFIG", "SET", "http-port",
                                                   str(self.server.port)))
        self.assertEqual(ask_once(other, "/health")[0], 200)
        self.assertIn("password", self.client.ask("CONFIG", "SET", "http-bind", "0.0.0.0"))
        self.assertEqual(self.client.ask("CONFIG", "SET", "http-port", "0"), "OK")
        with self.assertRaises(OSError):
            ask_once(other, "/health")


class WithAPassword(HttpTest):
    options = ["--requirepass", "secret"]

    def setUp(self):
        super().setUp()
        self.client.ask("AUTH", "secret")

    def log_in(self, password):
        return self.http.ask("POST", "/api/login", json.dumps({"password": password}), CONSOLE)

    def test_sessions(self):
        session = json.loads(self.get("/api/session", CONSOLE)[1])
        self.assertEqual((session["login_required"], session["logged_in"]), (True, False))
        self.assertEqual(self.http.run(["PING"]), 401)
        self.assertEqual(self.log_in("wrong")[0], 401)
        status, _, headers = self.log_in("secret")
        self.assertEqual(status, 204)
        self.assertIn("HttpOnly; SameSite=Strict", headers["Set-Cookie"])
        cookie = headers["Set-Cookie"].partition(";")[0]
        self.assertEqual(self.http.run(["PING"], Cookie=cookie), [{"ok": "PONG"}])
        self.client.ask("CONFIG", "SET", "requirepass", "other")
        self.assertEqual(self.http.run(["PING"], Cookie=cookie), 401)


class AtTheStart(unittest.TestCase):
    def start(self, *options):
        program = subprocess.run(
            [os.environ["MAYFLY"], "serve", "--port", str(free_port()), "--dir",
             self.enterContext(tempfile.TemporaryDirectory()), *options],
            capture_output=True, text=True, timeout=60, check=False)
        return program.returncode, program.stdout + program.stderr

    def test_other_machines_need_a_password(self):
        status, text = self.start("--http-port", str(free_port()), "--http-bind", "0.0.0.0")
        self.assertEqual(status, 1)
        self.assertIn("no password is set (set requirepass", text)

    def test_a_port_in_use_is_an_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            status, text = self.start("--http-port", str(taken.getsockname()[1]))
        self.assertEqual(status, 1)
        self.assertIn("choose another with --http-port", text)


if __name__ == "__main__":
    unittest.main()
