# SPDX-License-Identifier: Apache-2.0
"""Starts the real program, or Debian's redis-server beside it, on a free port, and ends it.

    with Mayfly("--maxclients", "10") as server:
        server.client().ask("PING")

What it has written stays in its folder until the end, so it can be ended and started again there:

        server.kill()
        server.restart("--appendonly", "yes")
"""

import collections
import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from resp_client import PATIENCE_S, Client, Closed, await_that, pause

ATTEMPTS = 20
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PORTS = range(15_000, 32_000)
HELD = collections.deque()  # of ports that were given out, a socket each
HELD_MAX = 300
HURT = re.compile(r"Sanitizer|runtime error:|Assertion|terminate called|CHECK failed|BUG REPORT"
                  r"|CRASH REPORT")


def hold(port):
    """Whether no test has this port, in this process or another. It is kept by a name that goes
    away with the process: a server binds its port only later, and not while it is down."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0mayfly-test-port-{port}")
    except OSError:
        claim.close()
        return False
    HELD.append(claim)
    if len(HELD) > HELD_MAX:
        HELD.popleft().close()
    return True


def free_port():
    """Below those that the system gives to clients. Else one who tries again and again to reach a
    server that is down would one day be given its very port, and speak with himself."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            if hold(port):
                return port


def environment(server):
    """What programs find the server by, for those that run in another process."""
    return {**os.environ, "PORT": str(server.port)}


def end_with_the_test():
    """Said by a new process: a test that is killed, since it took too long, can end nothing."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """A process with a folder of its own. As a context, it ends well or the test fails."""

    name = ""
    command = []
    host = "127.0.0.1"

    def __init__(self, *options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="mayfly-server-")
        self.log_path = os.path.join(self.folder, "output")
        self.clients = []
        self.process = None
        self.groups = []
        self.port = 0
        self.ended = False

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            self.close_clients()
            if kind is None and not self.ended:
                self.stop()
        finally:
            self.end_all()
            shutil.rmtree(self.folder, ignore_errors=True)

    def end_all(self):
        """The process and its children, which are a group of their own."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def words(self):
        return [*self.command, "--port", str(self.port), "--bind", self.host, "--save", "",
                "--dir", self.folder, *self.options]

    def address(self):
        return self.host, self.port

    def spawn(self):
        """Runs the program without waiting for it."""
        self.ended = False
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, cwd=self.folder,
                                            start_new_session=True,
                                            preexec_fn=end_with_the_test)
        self.groups.append(self.process.pid)

    def start(self):
        for _ in range(ATTEMPTS):
            self.port = free_port()
            self.spawn()
            if self.accepts():
                return self.await_loaded()
            if not re.search("in use", self.log(), re.IGNORECASE):
                break
        raise AssertionError(f"{self.name} does not start:\n{self.log()}")

    def accepts(self):
        for _ in range(PATIENCE_S * 100):
            if self.process.poll() is not None:
                return False
            try:
                with Client(self.address()) as client:
                    client.ask("PING")
                return True
            except (ConnectionError, Closed):
                pause(0.01)
        return False

    def await_loaded(self):
        """Until it no longer says LOADING."""
        with Client(self.address()) as client:
            await_that(lambda: not str(client.ask("PING")).startswith("LOADING"),
                       lambda: f"{self.name} has loaded its data:\n{self.log()}")

    def restart(self, *options):
        """Starts it again, at the same port and in the same folder. Options are added. A child of
        one that was killed may have the port for a moment."""
        self.options += options

        def starts():
            self.spawn()
            if not self.accepts() and not re.search("in use", self.log(), re.IGNORECASE):
                raise AssertionError(f"{self.name} does not start again:\n{self.log()}")
            return self.process.poll() is None

        await_that(starts, self.log)
        self.await_loaded()

    def kill(self):
        """As a crash ends it: at once. Its children are left alone."""
        self.process.kill()
        self.process.wait()
        self.ended = True
        self.close_clients()
        if HURT.search(self.log()):
            raise AssertionError(f"{self.name} was hurt:\n{self.log()}")

    def end_refused(self):
        """Waits until it has refused to start. Returns what it has printed."""
        code = self.process.wait(PATIENCE_S)
        self.ended = True
        if code != 1 or HURT.search(self.log()):
            raise AssertionError(f"{self.name} ended with {code}, not 1:\n{self.log()}")
        return self.log()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def client(self, **options):
        client = Client(self.address(), **options)
        self.clients.append(client)
        return client

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients = []

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def check_health(self):
        if self.process.poll() is not None:
            raise AssertionError(
                f"{self.name} has ended with {self.process.returncode}:\n{self.log()}")
        if HURT.search(self.log()):
            raise AssertionError(f"{self.name} is hurt:\n{self.log()}")

    def stop(self, number=signal.SIGTERM):
        """Asks it to end, which it does cleanly. Returns what it has printed."""
        self.check_health()
        self.process.send_signal(number)
        return self.wait_for_end()

    def wait_for_end(self):
        """As stop(), where something else makes it end."""
        code = self.process.wait(PATIENCE_S)
        self.ended = True
        log = self.log()
        if code != 0 or HURT.search(log):
            raise AssertionError(f"{self.name} ended with {code}:\n{log}")
        return log


class Mayfly(Server):
    name = "mayfly"

    def __init__(self, *options):
        super().__init__("--enable-debug-command", "yes", *options)
        self.command = [os.environ["MAYFLY"], "serve"]


class Redis(Server):
    name = "redis"
    command = ["redis-server"]

    def __init__(self, *options):
        super().__init__("--enable-debug-command", "yes", *options)
