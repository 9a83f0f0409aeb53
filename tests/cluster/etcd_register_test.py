#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The register of a cluster over real members of etcd: killed, stopped, filled and locked.

tests/cluster/etcd_register.cc is the program that is driven here.
"""

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

import etcd_servers  # noqa: E402
from etcd_servers import EtcdServers, NoAnswer, coded  # noqa: E402
from mayfly_server import end_with_the_test, free_port  # noqa: E402
from resp_client import PATIENCE_S, await_that  # noqa: E402

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "cluster", "etcd_register")
etcd_servers.CALL_S = 10  # what prepares a test may take longer than a cluster would wait
LIVE_S = 20  # after its process, an announced record
ANSWER_S = 6.5  # of a question: 2 s of attempts, and what a busy machine adds
GONE_S = 8  # after a clean end: at least 10 s of its lease are left then


class Helper:
    """A process with a register. Answers of questions and changes come apart."""

    def __init__(self, prefix, urls, **options):
        words = [f"{name}={value}" for name, value in options.items()]
        self.process = subprocess.Popen([PROGRAM, prefix, urls, *words], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=end_with_the_test)
        self.answers, self.changes, self.lock = queue.Queue(), [], threading.Lock()
        self.reader = threading.Thread(target=self.read_lines, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def read_lines(self):
        for line in self.process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "change":
                with self.lock:
                    self.changes += rest.split()
            else:
                self.answers.put((kind, rest))

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.say(line)
        return self.answers.get(timeout=PATIENCE_S)

    def commit(self, words):
        """The answer to a commit, which is repeated while a slow disk makes it unknown."""
        said = []

        def is_known():
            said[:] = self.ask(f"commit {words}")
            return said[0] != "unknown" or "did not answer" not in said[1]

        await_that(is_known, lambda: f"etcd answers: {said}")
        return tuple(said)

    def seen(self, change):
        with self.lock:
            return change in self.changes

    def await_change(self, change):
        await_that(lambda: self.seen(change), lambda: f"{change} is not in {self.changes}")

    def restarts(self):
        return int(re.search(r"restarts=(\d+)", self.ask("stats")[1])[1])

    def close(self):
        """Ends it well. Returns the milliseconds that the register took."""
        self.process.stdin.close()
        kind, took = self.answers.get(timeout=PATIENCE_S)
        assert kind == "closed", kind
        self.process.wait()
        return int(took)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stdin.close()


def with_quota(size):
    return [("127.0.0.1", ["env", f"ETCD_QUOTA_BACKEND_BYTES={size}"])]


@unittest.skipUnless(os.path.exists(PROGRAM), "built without MAYFLY_CLUSTER")
class OneMemberTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.etcd = cls.enterClassContext(EtcdServers(1))
        # Its record must go by itself. That takes a while: it is killed first and looked at last.
        with Helper("/doomed/", cls.etcd.urls()) as doomed:
            doomed.say("announce live/1 text")
            await_that(lambda: cls.etcd.client.read("/doomed/"), "nothing was announced")
            doomed.process.kill()
            cls.killed = time.monotonic()

    def helper(self, **options):
        self.prefix = f"/{self.id().rpartition('.')[2]}/"
        return self.enterContext(Helper(self.prefix, self.etcd.urls(), **options))

    def test_a_commit_is_done_if_all_versions_are_as_compared(self):
        helper = self.helper()
        done, first = helper.commit("a=0 b=0 : a=one b=two")
        self.assertEqual(done, "done")
        self.assertEqual(helper.ask("read"), ("read", f"{first} a=one@{first} b=two@{first}"))
        self.assertEqual(helper.commit("a=0 : a=other"), ("refused", f"a=one@{first}"))
        self.assertEqual(helper.commit(f"a={first} c=7 : a=other"),
                         ("refused", f"a=one@{first} c@0"))
        done, second = helper.commit(f"a={first} b={first} : a c=three")
        self.assertEqual(done, "done")
        self.assertGreater(int(second), int(first))
        self.assertEqual(helper.ask("read"), ("read", f"{second} b=two@{first} c=three@{second}"))

    def test_a_commit_that_etcd_does_not_take_says_why(self):
        kind, why = self.helper().commit(": a=one a=two")
        self.assertEqual(kind, "unknown")
        self.assertIn("duplicate key", why)

    def test_changes_are_told(self):
        helper = self.helper()
        helper.commit("old=0 : old=1")
        helper.say("watch")
        await_that(lambda: any(word.startswith("old=1@") for word in helper.changes), "no reading")
        with Helper(self.prefix, self.etcd.urls()) as other:
            _, put = other.commit("new=0 : new=2")
            helper.await_change(f"new=2@{put}")
            _, deleted = other.commit(f"new={put} : new")
            helper.await_change(f"new@{deleted}")
        self.assertEqual(helper.restarts(), 0)

    def test_a_compaction_under_the_watch_loses_no_record(self):
        helper = self.helper()
        helper.say("watch")
        helper.commit("first=0 : first=1")
        await_that(lambda: helper.changes, "no change")
        helper.process.send_signal(signal.SIGSTOP)
        client = self.etcd.client
        for number in range(160):  # more than the sockets hold
            client.put(f"{self.prefix}large", f"{number}-" + "x" * 150_000)
        client.put(f"{self.prefix}last", "2")
        client.call("/v3/kv/compaction", {"revision": str(client.revision())})
        helper.process.send_signal(signal.SIGCONT)
        await_that(lambda: any(word.startswith("last=2@") for word in helper.changes), "not told")
        self.assertGreaterEqual(helper.restarts(), 1)

    def test_an_announced_record_goes_at_once_with_a_clean_end(self):
        helper = self.helper()
        client = self.etcd.client
        helper.say("announce live/1 one")
        await_that(lambda: client.read(self.prefix), "nothing was announced")
        helper.say("announce live/1 two")
        await_that(lambda: client.read(self.prefix)["live/1"].text == "two", "no change")
        self.assertLess(helper.close(), 5000)
        # It does not wait for etcd, which may still be writing to its disk.
        await_that(lambda: not client.read(self.prefix), "it is still there", GONE_S)

    def test_the_members_tell_of_themselves(self):
        kind, told = self.helper().ask("status")
        self.assertEqual(kind, "status")
        self.assertRegex(told, rf"^{self.etcd.urls()},etcd-0,3\.[0-9.]+,leader,[1-9][0-9]*,$")

    def test_with_a_user_where_etcd_has_none(self):
        self.assertEqual(self.helper(user="joe", password="x").ask("read")[0], "read")

    def test_zz_an_announced_record_goes_after_a_crash(self):
        left = max(LIVE_S - (time.monotonic() - self.killed), 1)
        await_that(lambda: not self.etcd.client.read("/doomed/"), "it is still there", left)


@unittest.skipUnless(os.path.exists(PROGRAM), "built without MAYFLY_CLUSTER")
class ThreeMembersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.etcd = cls.enterClassContext(EtcdServers(3))

    def setUp(self):
        self.prefix = f"/{self.id().rpartition('.')[2]}/"
        self.helper = self.enterContext(Helper(self.prefix, self.etcd.urls()))
        self.helper.say("watch")
        self.commit()

    version = 0

    def commit(self, patience=PATIENCE_S):
        """Raises a counter, and repeats that while its outcome is unknown. Returns the tries."""
        question = f"commit a={self.version} : a=after-{self.version}"
        begun = time.monotonic()
        for tries in range(1, 100):
            kind, said = self.helper.ask(question)
            if kind == "done":
                self.version = int(said)
                return tries
            self.assertEqual(kind, "unknown", said)
            self.assertLess(time.monotonic() - begun, patience, said)
        raise AssertionError("it is never done")

    def assert_is_watching(self):
        before = self.version
        self.commit()
        self.helper.await_change(f"a=after-{before}@{self.version}")

    def test_the_leader_is_killed(self):
        self.etcd.leader().kill()
        self.commit()
        self.assert_is_watching()
        self.etcd.start_all()

    def test_the_leader_is_stopped(self):
        leader = self.etcd.leader()
        leader.stop()
        self.commit()
        self.assert_is_watching()
        leader.go_on()

    def test_without_a_majority_a_commit_is_unknown_and_can_be_repeated(self):
        for member in self.etcd.members[:2]:
            member.kill()
        before = self.version
        begun = time.monotonic()
        kind, why = self.helper.ask(f"commit a={before} : a=after-{before}")
        self.assertLess(time.monotonic() - begun, ANSWER_S)
        self.assertEqual(kind, "unknown")
        self.assertTrue("did not answer" in why or "cannot be reached" in why, why)
        kind, why = self.helper.ask("read")
        self.assertEqual(kind, "failed")
        self.etcd.start_all()
        self.commit()
        self.assert_is_watching()
        self.assertGreaterEqual(self.helper.restarts(), 1)


def enable_authentication(client, password):
    for path, asked in [("user/add", {"name": "root", "password": password}),
                        ("role/add", {"name": "root"}),
                        ("user/grant", {"user": "root", "role": "root"}),
                        ("user/add", {"name": "joe", "password": "x"}), ("enable", {})]:
        client.call(f"/v3/auth/{path}", asked)


@unittest.skipUnless(os.path.exists(PROGRAM), "built without MAYFLY_CLUSTER")
class RefusalTest(unittest.TestCase):
    def test_a_user_needs_the_right_password_and_the_permission(self):
        with EtcdServers(1) as etcd:
            enable_authentication(etcd.client, "secret")
            guess, joe = {"user": "root", "password": "guess"}, {"user": "joe", "password": "x"}
            for options, why in [({}, "wants a user"), (guess, "does not know user 'root'"),
                                 (joe, "denies user 'joe'")]:
                with Helper("/a/", etcd.urls(), **options) as helper:
                    kind, said = helper.ask("read")
                    self.assertEqual(kind, "failed")
                    self.assertIn(why, said)
                    kind, said = helper.commit("a=0 : a=1")
                    self.assertEqual(kind, "unknown")
                    self.assertIn(why, said)
            with Helper("/a/", etcd.urls(), user="root", password="secret") as helper:
                helper.say("watch")
                done, version = helper.commit("a=0 : a=1")
                self.assertEqual(done, "done")
                helper.await_change(f"a=1@{version}")
                etcd.members[0].kill()  # which forgets all tokens
                etcd.members[0].start()
                await_that(lambda: helper.ask("read")[0] == "read", "no answer after its restart")
                _, version = helper.commit(f"a={version} : a=2")
                helper.await_change(f"a=2@{version}")

    def test_etcd_is_full(self):
        with EtcdServers(places=with_quota(1_000_000)) as etcd, \
                Helper("/a/", etcd.urls()) as helper:
            asked = {"key": coded("fill"), "value": coded("x" * 90_000)}
            with self.assertRaisesRegex(NoAnswer, "space exceeded"):
                for _ in range(100):
                    etcd.client.call("/v3/kv/put", asked)
            kind, why = helper.commit("a=0 : a=1")
            self.assertEqual(kind, "unknown")
            self.assertTrue(why.startswith("etcd is full: "), why)
            self.assertEqual(helper.ask("read")[0], "read")

    def test_nobody_listens(self):
        with Helper("/a/", f"http://127.0.0.1:{free_port()}") as helper:
            kind, why = helper.ask("read")
            self.assertEqual(kind, "failed")
            self.assertRegex(why, r"^etcd at http://127\.0\.0\.1:\d+ cannot be reached: connection "
                                  r"refused \(is it running\? see cluster-etcd\)$")


@unittest.skipUnless(os.path.exists(PROGRAM) and shutil.which("openssl"), "no openssl")
class TlsTest(unittest.TestCase):
    def make(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def make_certificate(self, name, authority):
        self.make("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}",
                  "-addext", "subjectAltName=IP:127.0.0.1")
        self.make("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                  f"{authority}.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem",
                  "-copy_extensions", "copy")

    def make_authority(self, name):
        self.make("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj",
                  f"/CN={name}")

    def file(self, name):
        return os.path.join(self.folder, name)

    def test_certificates_are_checked_on_both_sides(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.make_authority("ca")
        self.make_authority("other")
        self.make_certificate("server", "ca")
        self.make_certificate("client", "ca")
        url, peer = f"https://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            [etcd_servers.PROGRAM, "--data-dir", self.file("data"), "--listen-client-urls", url,
             "--advertise-client-urls", url, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
             "--cert-file", self.file("server.pem"), "--key-file", self.file("server.key"),
             "--client-cert-auth", "--trusted-ca-file", self.file("ca.pem")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_the_test)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        own = {"cert": self.file("client.pem"), "key": self.file("client.key")}
        with Helper("/a/", url, ca=self.file("ca.pem"), **own) as helper:
            await_that(lambda: helper.ask("read")[0] == "read", "etcd does not start")
            helper.say("watch")
            _, version = helper.commit("a=0 : a=1")
            helper.await_change(f"a=1@{version}")
        with Helper("/a/", url, ca=self.file("other.pem"), **own) as helper:
            self.assertIn("see cluster-etcd-ca", helper.ask("read")[1])
        with Helper("/a/", url, ca=self.file("ca.pem")) as helper:
            self.assertEqual(helper.ask("read")[0], "failed")


if __name__ == "__main__":
    unittest.main()
