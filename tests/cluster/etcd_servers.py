# SPDX-License-Identifier: Apache-2.0
"""Some members of etcd that form one cluster, each of which can be killed, stopped and started.

    with EtcdServers(3) as etcd:
        etcd.client.read("/mayfly/main/")      # {key: Record}
        etcd.leader().kill()
"""

import base64
import collections
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile

from mayfly_server import end_with_the_test, free_port
from resp_client import await_that

CALL_S = 0.5
FIRST_TOKEN = "etcd-cluster"  # etcd's own
PROGRAM = "/usr/bin/etcd"

Record = collections.namedtuple("Record", "text version")


class NoAnswer(Exception):
    """Of etcd, within CALL_S."""


class EtcdClient:
    """Of one thread: asks the members by turns, over connections that are kept. `era` is odd while
    another etcd is at these places: EtcdServers.era."""

    def __init__(self, places, era=lambda: 0):
        self.places = list(places)  # (host, port)
        self.era = era
        self.connections = {}

    def close(self):
        for place in self.places:
            self.disconnect(place)

    def disconnect(self, place):
        if connection := self.connections.pop(place, None):
            connection.close()

    def ask(self, place, path, asked):
        """A request to the JSON gateway of one member."""
        try:
            if place not in self.connections:
                self.connections[place] = http.client.HTTPConnection(*place, timeout=CALL_S)
            connection = self.connections[place]
            connection.request("POST", path, json.dumps(asked))
            reply = connection.getresponse()
            said = json.loads(reply.read())
            if reply.status != 200:
                raise NoAnswer(str(said))
            return said
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.disconnect(place)
            raise NoAnswer(f"{place}: {error}") from error

    def call(self, path, asked):
        """At the first member that answers. One that did not is asked last the next time."""
        errors = []
        for place in list(self.places):
            try:
                return self.ask(place, path, asked)
            except NoAnswer as error:
                errors.append(str(error))
                self.places.append(self.places.pop(0))
        raise NoAnswer("\n".join(errors))

    def read(self, prefix):
        """All keys that begin so, without it, linearizably. Not of another etcd."""
        era = self.era()
        if era % 2 == 1:
            raise NoAnswer("another etcd is there")
        found = self.read_any(prefix)
        if self.era() != era:
            raise NoAnswer("etcd was replaced meanwhile")
        return found

    def read_any(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        reply = self.call("/v3/kv/range", {"key": coded(prefix), "range_end": coded(end)})
        return {decoded(entry["key"])[len(prefix):]:
                Record(decoded(entry.get("value", "")), int(entry["mod_revision"]))
                for entry in reply.get("kvs", [])}

    def put(self, key, value):
        self.call("/v3/kv/put", {"key": coded(key), "value": coded(value)})

    def revision(self):
        """Raised by every write."""
        return int(self.call("/v3/kv/range", {"key": coded("/")})["header"]["revision"])

    def read_soon(self, prefix):
        """As read(), but it waits for an answer."""
        def look():
            with contextlib.suppress(NoAnswer):
                return [self.read(prefix)]

        return await_that(look, "etcd answers")[0]

    def is_serving(self):
        try:
            self.read_any("/")
            return True
        except NoAnswer:
            return False


class Member:
    """One process."""

    def __init__(self, name, folder, place):
        self.name = name
        self.folder = folder
        self.host, self.prefix = place
        self.port, self.peer_port = free_port(), free_port()
        self.process = None
        self.peers = ""
        self.disk = None  # a frozen_disk.Disk for its data
        self.token = ""  # of another cluster than the first, whose data it has instead

    def url(self):
        return f"http://{self.host}:{self.port}"

    def peer_url(self):
        return f"http://{self.host}:{self.peer_port}"

    def data_folder(self):
        return self.disk.folder if self.disk else self.folder

    def start(self):
        words = [*self.prefix, PROGRAM, "--name", self.name,
                 "--data-dir", os.path.join(self.data_folder(), self.name + self.token),
                 "--listen-client-urls", self.url(), "--advertise-client-urls", self.url(),
                 "--listen-peer-urls", self.peer_url(),
                 "--initial-advertise-peer-urls", self.peer_url(),
                 "--initial-cluster", self.peers,
                 "--initial-cluster-token", self.token or FIRST_TOKEN,
                 "--logger", "zap", "--log-level", "warn"]
        with open(os.path.join(self.folder, f"{self.name}.log"), "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, start_new_session=True,
                                            preexec_fn=end_with_the_test)

    def kill(self):
        if self.disk is not None:
            self.disk.thaw()
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def is_up(self):
        return self.process.poll() is None


class EtcdServers:
    def __init__(self, count=1, places=None):
        self.folder = tempfile.mkdtemp(prefix="mayfly-etcd-")
        self.members = [Member(f"etcd-{number}", self.folder, place) for number, place in
                        enumerate(places or [("127.0.0.1", [])] * count)]
        peers = ",".join(f"{member.name}={member.peer_url()}" for member in self.members)
        for member in self.members:
            member.peers = peers
        self.era = 0  # odd: another etcd is in the place of the cluster's
        self.client = self.new_client()

    def __enter__(self):
        try:
            self.start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members:
            if member.disk is not None:
                member.disk.thaw()  # else it cannot end
            if member.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(member.process.pid, signal.SIGKILL)
                member.process.wait()
        self.client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_client(self):
        return EtcdClient(((member.host, member.port) for member in self.members),
                          lambda: self.era)

    def urls(self):
        return ",".join(member.url() for member in self.members)

    def leader(self):
        """Waits until there is one."""
        def look():
            with contextlib.suppress(NoAnswer):
                return self.find_leader()

        return await_that(look, "etcd has a leader")

    def find_leader(self):
        for member in self.members:
            with contextlib.suppress(NoAnswer):
                status = self.client.ask((member.host, member.port), "/v3/maintenance/status", {})
                if status.get("leader") == status["header"]["member_id"]:
                    return member
        raise NoAnswer("etcd has no leader")

    def start_all(self):
        """Those that are down, and until it serves."""
        for member in self.members:
            if member.process is None or not member.is_up():
                member.start()
        await_that(self.client.is_serving, self.log)

    def kill_all(self):
        for member in self.members:
            member.kill()

    def switch(self, token=""):
        """The etcd with this token runs here instead; "": the first one."""
        self.kill_all()
        for member in self.members:
            member.token = token
        self.start_all()

    def log(self):
        told = []
        for member in self.members:
            path = os.path.join(self.folder, f"{member.name}.log")
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                told.append(f"---- {member.name}\n{file.read()[-2000:]}")
        return "\n".join(told)


def coded(text):
    return base64.b64encode(text.encode()).decode()


def decoded(text):
    return base64.b64decode(text).decode("utf-8", "replace")
