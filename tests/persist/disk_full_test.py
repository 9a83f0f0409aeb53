#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full: writes are refused and reads go on; when there is room again it goes on by
itself, and nothing that was acknowledged is lost.

The disk is a small file system in memory, which needs the right to mount; without it a limit on the
size of files has to do, and the rest is skipped, and says so.
"""

import os
import resource
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import Mayfly  # noqa: E402
from resp_client import Closed, Failure, await_that  # noqa: E402

DISK_BYTES = 4 << 20
VALUE = "x" * 5_000


def mount(folder):
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"SKIPPED, cannot mount: {done.stderr.strip()}", file=sys.stderr)
        raise unittest.SkipTest("cannot mount a small file system here")


class DiskCase(unittest.TestCase):
    def start(self, *options, mounts=True):
        server = Mayfly(*options)
        self.addCleanup(shutil.rmtree, server.folder, ignore_errors=True)  # when it is unmounted
        self.disk = server.path("disk")
        os.mkdir(self.disk)
        if mounts:
            mount(self.disk)
            self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        server.options += ("--dir", self.disk)
        self.server = self.enterContext(server)
        self.client = server.client()
        self.acknowledged = {}
        self.doubtful = {}  # no reply came: it may be there or not

    def ballast(self, leaves):
        """Uses up all the room but this much."""
        room = os.statvfs(self.disk)
        with open(os.path.join(self.disk, "ballast"), "wb") as file:
            file.write(bytes(room.f_bavail * room.f_frsize - leaves))

    def make_room(self):
        os.remove(os.path.join(self.disk, "ballast"))

    def write(self, number):
        """The reply; None if the connection was closed instead."""
        key, value = f"key:{number}", f"{number} {VALUE}"
        try:
            reply = self.client.ask("SET", key, value)
        except Closed:
            self.client = self.server.client()
            self.doubtful[key] = value
            return None
        if reply == "OK":
            self.acknowledged[key] = value
        return reply

    def write_until_full(self):
        for number in range(10_000):
            reply = self.write(number)
            if isinstance(reply, Failure):
                self.assertRegex(reply, "^MISCONF ")
                return
        self.fail("the disk never was full")

    def assert_refuses(self):
        """Writes, and nothing else."""
        self.server.check_health()
        for words in (("SET", "key:0", "other"), ("DEL", "key:0"), ("HSET", "h", "f", "v"),
                      ("FLUSHALL",), ("HSETEX", "h", "EX", 9, "FIELDS", 1, "f", "v")):
            reply = self.client.ask(*words)
            self.assertIsInstance(reply, Failure, words)
            self.assertRegex(reply, "^MISCONF ", words)
        self.assert_holds()
        self.assertEqual(self.client.ask("DBSIZE"), len(self.acknowledged) + len(self.doubtful))

    def assert_holds(self):
        replies = self.client.pipeline(("GET", key) for key in self.acknowledged)
        for key, reply in zip(self.acknowledged, replies):
            self.assertEqual(reply, self.acknowledged[key].encode(), key)

    def await_recovery(self):
        await_that(lambda: self.write(99_999) == "OK",
                   lambda: f"it recovers: {self.write(99_999)}\n{self.server.log()}")

    def restart(self):
        self.server.kill()
        self.server.restart()
        self.client = self.server.client()
        self.assert_holds()
        size = self.client.ok("DBSIZE")
        self.assertGreaterEqual(size, len(self.acknowledged))
        self.assertLessEqual(size, len(set(self.acknowledged) | set(self.doubtful)))


class LogTest(DiskCase):
    def start_log(self, policy, **how):
        self.start("--appendonly", "yes", "--appendfsync", policy, "--auto-aof-rewrite-percentage",
                   "0", **how)

    def test_it_refuses_writes_and_recovers_by_itself(self):
        for policy in ("always", "everysec", "no"):
            with self.subTest(policy):
                self.start_log(policy)
                self.ballast(600_000)
                self.write_until_full()
                self.assertGreater(len(self.acknowledged), 50)
                self.assert_refuses()
                self.assertEqual(self.client.info("aof_last_write_status"), "err")
                self.make_room()
                self.await_recovery()
                self.assertEqual(self.client.info("aof_last_write_status"), "ok")
                for number in range(100_000, 100_020):
                    self.assertEqual(self.write(number), "OK")
                self.restart()

    def test_killed_while_it_is_full_it_has_what_was_promised(self):
        for policy in ("always", "everysec", "no"):
            with self.subTest(policy):
                self.start_log(policy)
                self.ballast(600_000)
                self.write_until_full()
                self.assert_refuses()
                self.server.kill()
                self.make_room()
                self.server.restart()
                self.client = self.server.client()
                self.assert_holds()
                self.assertEqual(self.write(99_999), "OK")
                self.restart()

    def test_a_rewrite_that_does_not_fit_leaves_the_log_as_it_was(self):
        self.start_log("everysec")
        for number in range(200):
            self.write(number)
        self.ballast(300_000)
        self.client.ok("CONFIG", "SET", "rdbcompression", "no")
        self.client.ok("BGREWRITEAOF")
        await_that(lambda: not self.client.info("aof_rewrite_in_progress"), self.server.log)
        self.assertEqual(self.client.info("aof_last_bgrewrite_status"), "err", self.server.log())
        for number in range(10):
            self.assertEqual(self.write(number), "OK")
        self.restart()
        self.make_room()
        self.client.ok("BGREWRITEAOF")
        await_that(lambda: not self.client.info("aof_rewrite_in_progress"), self.server.log)
        self.assertEqual(self.client.info("aof_last_bgrewrite_status"), "ok", self.server.log())
        for number in range(10):
            self.assertEqual(self.write(number), "OK")
        self.restart()

    def test_a_limit_on_the_size_of_files(self):
        self.start_log("everysec", mounts=False)
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE,
                         (600_000, resource.RLIM_INFINITY))
        self.write_until_full()
        self.assert_refuses()
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.await_recovery()
        self.restart()


class SnapshotTest(DiskCase):
    def fail_to_save(self, *options):
        self.start("--rdbcompression", "no", *options)
        for number in range(200):
            self.assertEqual(self.write(number), "OK")
        self.client.ok("SAVE")
        self.ballast(300_000)
        self.write(0)
        self.client.ask("BGSAVE")
        await_that(lambda: self.client.info("rdb_last_bgsave_status") == "err", self.server.log)

    def test_a_save_that_does_not_fit_stops_writes_until_one_does(self):
        self.fail_to_save("--save", "3600 1")
        self.assert_refuses()
        self.assertEqual(sorted(set(os.listdir(self.disk)) - {"mayfly.lock"}),
                         ["ballast", "dump.rdb"])
        self.client.ok("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
        self.assertEqual(self.write(1), "OK")
        self.client.ok("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
        self.assertRegex(self.write(1), "^MISCONF ")
        self.assertIsInstance(self.client.ask("SAVE"), Failure)
        self.make_room()
        self.client.ok("BGSAVE")
        await_that(lambda: self.client.info("rdb_last_bgsave_status") == "ok", self.server.log)
        self.assertEqual(self.write(1), "OK")
        self.client.ok("SAVE")
        self.restart()

    def test_it_is_tried_again_by_itself(self):
        self.fail_to_save("--save", "1 1")
        self.assert_refuses()
        self.make_room()
        self.await_recovery()
        await_that(lambda: self.client.info("rdb_changes_since_last_save") == 0, self.server.log)
        self.restart()

    def test_the_old_file_is_there_after_one_that_failed(self):
        self.fail_to_save("--save", "3600 1")
        self.server.kill()
        self.make_room()
        self.server.restart()
        self.client = self.server.client()
        self.assertEqual(self.client.ok("DBSIZE"), 200)
        self.assert_holds()

    def test_shutdown_is_refused_if_it_cannot_be_saved_unless_forced(self):
        self.fail_to_save("--save", "3600 1")
        self.assertRegex(self.client.ask("SHUTDOWN"), "^ERR ")
        self.assert_holds()
        self.client.send("SHUTDOWN", "FORCE")
        with self.assertRaises(Closed):
            self.client.receive()
        self.server.wait_for_end()


if __name__ == "__main__":
    unittest.main()
