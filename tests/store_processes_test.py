#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several processes use one store at once, and see one state of it, TTLs included."""

import os
import subprocess
import tempfile
import time
import unittest

from store_shell import PATIENCE_S, Shell

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "store_processes")
OPERATIONS = 10_000


class InATemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "store")

    def shell(self, options="normal"):
        shell = self.enterContext(Shell())
        shell.ok(f"open {self.path} {options}")
        return shell

    def pair(self, first="normal", second="normal"):
        return self.shell(first), self.shell(second)


class TogetherTest(InATemporaryFolder):
    """See store_processes.cc for what each process checks at every step."""

    def work_together(self, levels, operations):
        processes = [subprocess.Popen(
            [PROGRAM, self.path, str(seed), str(operations), level],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for seed, level in enumerate(levels, 1)]
        began = time.monotonic()
        outputs = [process.communicate(timeout=4 * PATIENCE_S) for process in processes]
        for process, (_, error) in zip(processes, outputs):
            self.assertEqual(process.returncode, 0, error)
        added, busy = zip(*[map(int, output.split()) for output, _ in outputs])
        shell = self.shell()
        self.assertEqual(int(shell.ok("get counter")), sum(added))
        shell.ok("check")
        print(f"{operations} operations each at {', '.join(levels)}: busy {sum(busy)} times, "
              f"{time.monotonic() - began:.1f} s")

    def test_two_processes_neither_lose_nor_revive_anything(self):
        self.work_together(["normal", "normal"], OPERATIONS)

    def test_levels_can_be_mixed(self):
        for levels in [["full", "normal"], ["off", "full"], ["normal", "off", "full"]]:
            with self.subTest(levels):
                self.setUp()
                self.work_together(levels, OPERATIONS // 10)


class DeadlinesTest(InATemporaryFolder):
    """The first TTL of the file is used by one process after the other has opened it."""

    def test_what_one_gives_a_ttl_expires_for_the_other(self):
        a, b = self.pair()
        self.assertEqual(b.ok("get key"), "")
        a.ok("put key value 1000")
        self.assertEqual(b.ok("get key"), "value")
        self.assertEqual(b.ok("deadline key"), "1000")
        b.ok("clock 999")
        self.assertEqual(b.ok("get key"), "value")
        b.ok("clock 1000")
        self.assertEqual(b.ok("count"), "0 0 1")
        self.assertEqual(b.ok("get key"), "")
        self.assertEqual(b.ok("count"), "0 0 1", "a read removes nothing")
        b.ok("put other value 0")
        self.assertEqual(b.ok("count"), "1 0 0", "the next commit does what the read has noted")
        self.assertEqual(a.ok("get key"), "", "for all, whatever their clock")

    def test_either_can_purge_what_the_other_wrote(self):
        a, b = self.pair()
        b.ok("count")
        a.ok("fill 0 100 10 1000")
        b.ok("clock 1000")
        self.assertEqual(b.ok("purge"), "100")
        self.assertEqual(a.ok("count"), "0 0 0")

    def test_a_plain_put_over_a_ttl_of_the_other_is_never_lost(self):
        a, b = self.pair()
        b.ok("put other value 0")
        a.ok("put key mortal 1000")
        b.ok("put key lasting 0")
        for shell in (a, b):
            shell.ok("clock 5000")
            self.assertEqual(shell.ok("purge"), "0")
            self.assertEqual(shell.ok("get key"), "lasting")
            self.assertEqual(shell.ok("deadline key"), "never")
        a.ok("check")

    def test_families_and_their_ttls_are_seen_by_both(self):
        a, b = self.pair()
        self.assertTrue(b.ask("get key late").startswith("not_found"))
        a.ok("family late")
        a.ok("put key value 1000 late")
        self.assertEqual(b.ok("get key late"), "value")
        b.ok("clock 1000")
        self.assertEqual(b.ok("count late"), "0 0 1")
        b.ok("drop late")
        self.assertTrue(a.ask("get key late").startswith("not_found"))
        a.ok("family late")
        self.assertEqual(b.ok("get key late"), "")


class ReadingTest(InATemporaryFolder):
    def test_what_one_commits_the_other_reads_at_once(self):
        a, b = self.pair()
        for number in range(1, 200):
            writer, reader = (a, b) if number % 3 else (b, a)
            self.assertEqual(writer.ok("increment counter"), str(number))
            self.assertEqual(reader.ok("get counter"), str(number))

    def test_a_cursor_walks_one_moment_and_its_owner_can_write(self):
        a, b = self.pair()
        a.ok("fill 10 50 10 0")
        b.ok("walk")
        first = b.ok("step 5").split()
        a.ok("erase 10 50")
        a.ok("fill 60 20 10 0")
        rest = b.ok("step 1000").split()
        self.assertEqual(len(first + rest), 50)
        b.ok("put key value 0")
        self.assertEqual(a.ok("get key"), "value")
        self.assertEqual(b.ok("count"), "21 0 0")

    def test_a_file_that_outgrows_the_map_of_one_is_read_and_written_by_it(self):
        a, b = self.pair(f"normal map={64 << 20}", f"normal map={1 << 20}")
        self.assertEqual(b.ok("get key"), "")
        a.ok("fill 0 200 50000 0")
        self.assertEqual(b.ok("verify 0 200 50000"), "200")
        b.ok("put key value 0")
        self.assertEqual(a.ok("get key"), "value")


class LockTest(InATemporaryFolder):
    def test_a_second_writer_is_refused_at_once_or_waits(self):
        a, b = self.pair()
        a.ok("begin 0")
        a.ok("tput key value")
        began = time.monotonic()
        self.assertTrue(b.ask("begin 0").startswith("busy "))
        self.assertLess(time.monotonic() - began, 1)
        began = time.monotonic()
        self.assertTrue(b.ask("begin 200").startswith("busy "))
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        self.assertEqual(b.ok("get key"), "", "readers do not wait, and see nothing of it")

        b.send("begin 60000")
        self.assertFalse(b.answers(0.1))
        a.ok("commit")
        self.assertEqual(b.receive(), "ok")
        b.ok("commit")
        self.assertEqual(b.ok("get key"), "value")

    def test_a_writer_that_is_killed_leaves_no_lock_and_nothing_by_halves(self):
        for level in ["full", "normal", "off"]:
            with self.subTest(level):
                a, b = self.pair(level, "normal")
                a.ok("begin 0")
                a.ok("tput half written")
                self.assertTrue(b.ask("begin 0").startswith("busy "))
                a.kill()
                b.ok("begin 0")
                b.ok("tput key value")
                b.ok("commit")
                self.assertEqual(b.ok("get half"), "")
                b.ok("check")

    def test_a_reader_that_is_killed_does_not_keep_old_pages_for_ever(self):
        a, b = self.pair(f"normal map={8 << 20}")
        a.ok("fill 0 50 10000 0")
        b.ok("walk")
        b.kill()
        for _ in range(40):  # a map that has no room for as many copies
            a.ok("batch 0 50 10000")

    def test_a_killed_waiter_does_not_get_the_lock(self):
        a, b = self.pair()
        c = self.shell()
        a.ok("begin 0")
        b.send("begin 60000")
        self.assertFalse(b.answers(0.1))
        b.kill()
        a.ok("commit")
        c.ok("begin 0")
        c.ok("commit")

    def test_the_file_is_compacted_only_when_no_other_process_has_it(self):
        a, b = self.pair()
        a.ok("fill 0 100 10000 0")
        a.ok("checkpoint")
        a.ok("erase 10 90")
        self.assertTrue(a.ask("compact").startswith("busy "))
        b.ok("close")
        before = os.path.getsize(self.path)
        a.ok("compact")
        self.assertLess(os.path.getsize(self.path), before / 2)
        b.ok(f"open {self.path} full")
        self.assertEqual(b.ok("verify 0 100 10000"), "10")
        b.ok("put key value 0")
        self.assertEqual(a.ok("get key"), "value")


if __name__ == "__main__":
    unittest.main()
