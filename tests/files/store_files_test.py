#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of a store under several processes: who makes them, whose they are, what happens when
they are removed or replaced while a process has them open, and when they cannot grow.

Tests that need more rights (to mount, to make a namespace) are skipped with a message.
"""

import itertools
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from store_shell import PROGRAM, Shell, public_program

NOBODY = 65534
SUFFIXES = ["", "-wal", "-shm", "-lock"]


def skip(test, why):
    print(f"SKIPPED, {why}", file=sys.stderr)
    test.skipTest(why)


class FilesTest(unittest.TestCase):
    def setUp(self):
        self.new_folder()

    def new_folder(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = os.path.join(self.folder, "store")

    def shell(self, **how):
        return self.enterContext(Shell(**how))

    def open_with_log(self, options=""):
        """Two commits: the second one makes the log."""
        shell = self.shell()
        shell.ok(f"open {self.path} off interval=100000 {options}")
        shell.ok("put a 1 0")
        shell.ok("put b 2 0")
        return shell

    def assert_error(self, answer, code, *words):
        self.assertEqual(answer.split(" ")[0], code, answer)
        for word in words:
            self.assertIn(word, answer)


class CreationTest(FilesTest):
    def test_creators_at_the_same_time_have_one_store(self):
        shells = [self.shell() for _ in range(6)]
        for round_ in range(40):
            path = f"{self.folder}/store{round_}"
            for shell in shells:
                shell.send(f"open {path} full busy=0")
            opened = []
            for number, shell in enumerate(shells):
                answer = shell.receive()
                if answer == "ok":
                    opened.append((number, shell))
                else:
                    self.assert_error(answer, "busy")
            self.assertTrue(opened)
            for number, shell in opened:
                answer = "busy"
                while answer.startswith("busy"):  # another one writes
                    answer = shell.ask(f"put {number} {round_} 0")
                self.assertEqual(answer, "ok")
            for _, shell in opened:
                shell.send("close")
            self.assertEqual({shell.receive() for _, shell in opened}, {"ok"})
            with Shell() as reader:
                reader.ok(f"open {path} off read_only")
                for number, _ in opened:
                    self.assertEqual(reader.ok(f"get {number}"), str(round_))
        names = {name for name in os.listdir(self.folder) if not name.endswith("-lock")}
        self.assertEqual(names, {f"store{round_}" for round_ in range(40)})

    def test_a_creator_that_is_killed_leaves_nothing_or_a_store(self):
        for round_ in range(20):
            shell = self.shell()
            shell.send(f"open {self.path}{round_} full")
            if round_ % 2 == 0:
                while not os.path.exists(f"{self.path}{round_}"):
                    pass
            shell.kill()
            self.assertFalse([name for name in os.listdir(self.folder) if ".new" in name])
            if os.path.exists(f"{self.path}{round_}"):
                self.assertGreater(os.path.getsize(f"{self.path}{round_}"), 8191)


class ModeTest(FilesTest):
    def mode(self, path):
        return stat.S_IMODE(os.stat(path).st_mode)

    def make(self, mode):
        with Shell() as shell:
            shell.ok(f"open {self.path} off")
            shell.ok("close")
        os.chmod(self.path, mode)

    def test_all_files_have_the_mode_of_the_store(self):
        for mode, mask in itertools.product([0o600, 0o640, 0o644, 0o660], [0, 0o022, 0o077]):
            with self.subTest(mode=oct(mode), mask=oct(mask)):
                self.new_folder()
                self.make(mode)
                shell = self.shell(prepare=lambda mask=mask: os.umask(mask))
                shell.ok(f"open {self.path} full")
                shell.ok("put a 1 0")
                shell.ok("put b 2 0")
                shell.ok(f"backup {self.folder}/copy")
                for name in ["store", "store-wal", "store-shm", "store-lock", "copy"]:
                    self.assertEqual(oct(self.mode(f"{self.folder}/{name}")), oct(mode), name)
                shell.ok("compact")
                shell.ok("put c 3 0")
                for name in ["store", "store-wal", "store-shm", "store-lock"]:
                    self.assertEqual(oct(self.mode(f"{self.folder}/{name}")), oct(mode), name)

    def test_a_log_that_is_there_already_takes_the_mode_that_the_store_has_now(self):
        for before, after in [(0o644, 0o600), (0o600, 0o660)]:
            with self.subTest(before=oct(before), after=oct(after)):
                self.new_folder()
                self.make(before)
                shell = self.open_with_log()
                shell.kill()
                self.assertEqual(oct(self.mode(f"{self.path}-wal")), oct(before))
                os.chmod(self.path, after)
                shell = self.shell()
                shell.ok(f"open {self.path} full")
                for suffix in SUFFIXES:
                    self.assertEqual(oct(self.mode(self.path + suffix)), oct(after), suffix)
                self.assertEqual(shell.ok("get b"), "2")

    def test_root_leaves_a_store_to_its_owner(self):
        if os.getuid() != 0:
            skip(self, "only root can write files of others")
        program = public_program(self.folder)
        inner = os.path.join(self.folder, "inner")
        os.mkdir(inner)
        os.chown(inner, NOBODY, NOBODY)
        self.path = os.path.join(inner, "store")
        self.make(0o640)
        for name in os.listdir(inner):
            os.chown(os.path.join(inner, name), NOBODY, NOBODY)
        shell = self.shell()
        shell.ok(f"open {self.path} full")
        shell.ok("put a 1 0")
        shell.ok("put b 2 0")
        shell.ok(f"backup {inner}/copy")
        for name in os.listdir(inner):
            facts = os.stat(os.path.join(inner, name))
            self.assertEqual((facts.st_uid, facts.st_gid), (NOBODY, NOBODY), name)
        def become_nobody():
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        other = self.shell(program=program, prepare=become_nobody)
        other.ok(f"open {self.path} full")
        other.ok("put c 3 0")
        other.ok("close")
        shell.ok("compact")
        shell.ok("close")
        facts = os.stat(self.path)
        self.assertEqual((facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)),
                         (NOBODY, NOBODY, 0o640))
        other.ok(f"open {self.path} full")
        self.assertEqual(other.ok("get c"), "3")


class LostFilesTest(FilesTest):
    """Files that were removed or replaced while a process had them open."""

    WAYS = ["remove", "replace", "copy"]

    def lose(self, suffix, way):
        path = self.path + suffix
        if way == "remove":
            os.remove(path)
        elif way == "replace":
            shutil.copy(path, path + ".other")
            os.rename(path + ".other", path)
        else:  # what mv and a copy back leave
            os.rename(path, path + ".away")
            shutil.copy(path + ".away", path)

    def each(self):
        for suffix, way in itertools.product(SUFFIXES, self.WAYS):
            with self.subTest(file="store" + suffix, way=way):
                self.new_folder()
                yield suffix, way

    def test_the_process_says_so_when_it_closes(self):
        for suffix, way in self.each():
            shell = self.open_with_log()
            self.lose(suffix, way)
            self.assert_error(shell.ask("close"), "io", "store" + suffix, "removed or replaced")

    def test_the_process_writes_no_more_after_a_second(self):
        lost = []
        for suffix in SUFFIXES:
            self.new_folder()
            lost.append((suffix, self.open_with_log()))
            self.lose(suffix, "remove")
        for suffix, shell in lost:
            answer = shell.ask("fill 0 100000000 10 0")  # until it cannot
            self.assert_error(answer, "io", "store" + suffix, "removed or replaced")
            self.assert_error(shell.ask("put x y 0"), "io", "removed or replaced")
            self.assert_error(shell.ask("checkpoint"), "io", "removed or replaced")
            self.assert_error(shell.ask("family f"), "io", "removed or replaced")
            self.assertEqual(shell.ok("get b"), "2")  # it can still be read

    def test_another_process_does_not_open_other_files_beside_it(self):
        for suffix, way in self.each():
            if suffix == "-wal":
                continue  # see the next test
            shell = self.open_with_log()
            self.lose(suffix, way)
            other = self.shell()
            for options in ["", "read_only"]:
                answer = other.ask(f"open {self.path} off {options}")
                self.assertIn(answer.split(" ")[0], ["io", "not_found"], answer)
            self.assert_error(shell.ask("close"), "io", "removed or replaced")

    def test_another_process_sees_no_log_but_the_one_in_use(self):
        for way in self.WAYS:
            with self.subTest(way):
                self.new_folder()
                self.open_with_log()
                self.lose("-wal", way)
                other = self.shell()
                answer = other.ask(f"open {self.path} off")
                if answer == "ok":
                    answer = other.ask("get b")
                    if answer != "ok 2":
                        self.assertIn(answer.split(" ")[0], ["io", "corrupt"], answer)
                else:
                    self.assertIn(answer.split(" ")[0], ["io", "corrupt"], answer)

    def test_what_another_process_commits_then_is_not_lost(self):
        """Whatever files are lost: both processes write at once, and are killed."""
        waiting = []
        for count, way in itertools.product([1, 2, 3, 4], ["remove", "copy"]):
            for suffixes in itertools.combinations(SUFFIXES, count):
                self.new_folder()
                first, other = self.open_with_log(), self.shell()
                for suffix in suffixes:
                    self.lose(suffix, way)
                other.send(f"open {self.path} full")
                case = [["store" + suffix for suffix in suffixes], way, self.path, first, other]
                if other.answers(0.2):
                    self.both_write(*case)
                else:  # it gives the first some time to end
                    waiting.append(case)
        for case in waiting:
            self.both_write(*case)

    def both_write(self, files, way, path, first, other):
        with self.subTest(files=files, way=way):
            kept = []
            is_open = other.receive() == "ok"
            for number in range(50 if is_open else 0):
                if other.ask(f"put mine{number} {number} 0") == "ok":
                    kept.append(number)
                if number == 0:
                    first.ask("put a 3 0")
            other.kill()
            first.kill()
            if not is_open:
                return
            with Shell() as third:
                third.ok(f"open {path} full")
                for number in kept:
                    self.assertEqual(third.ok(f"get mine{number}"), str(number))
                third.ok("check")

    def test_a_store_in_use_is_not_opened_by_another_name(self):
        shell = self.open_with_log()
        other = self.shell()
        link = os.path.join(self.folder, "link")
        for number in range(2):
            os.link(self.path, link)
            for options in ["", "read_only"]:
                self.assert_error(other.ask(f"open {link} off {options}"), "io", "end that process")
            os.remove(link)
            shell.ok("compact")  # it is another file then
            shell.ok(f"put c {number} 0")
            shell.ok("put d 5 0")
        shell.ok("close")
        os.link(self.path, link)
        other.ok(f"open {link} off")
        self.assertEqual(other.ok("get c"), "1")

    def test_what_is_at_the_path_now_is_not_touched(self):
        shell = self.open_with_log()
        for suffix in SUFFIXES:
            os.rename(self.path + suffix, f"{self.folder}/away{suffix}")
        other = self.shell()
        other.ok(f"open {self.path} full")
        other.ok("put mine 1 0")
        other.ok("put mine2 2 0")
        self.assert_error(shell.ask("close"), "io", "removed or replaced")
        for suffix in SUFFIXES:
            self.assertTrue(os.path.exists(self.path + suffix), suffix)
        other.ok("put mine3 3 0")
        other.ok("check")
        other.ok("close")
        other.ok(f"open {self.path} full")
        self.assertEqual(other.ok("get mine3"), "3")
        other.ok("close")
        other.ok(f"open {self.folder}/away full")  # all that the first had committed
        self.assertEqual(other.ok("get b"), "2")


    def test_nothing_is_removed_or_replaced_that_another_store_has(self):
        for command in ["compact", "checkpoint truncate", "put b 2 0"]:
            with self.subTest(command):
                self.new_folder()
                shell = self.shell()
                shell.ok(f"open {self.path} off interval=100000")
                shell.ok("put a 1 0")
                if not command.startswith("put"):
                    shell.ok("put b 2 0")  # makes the log
                for suffix in SUFFIXES:
                    if os.path.exists(self.path + suffix):
                        os.rename(self.path + suffix, f"{self.folder}/away{suffix}")
                other = self.shell()
                other.ok(f"open {self.path} full")
                other.ok("put mine 1 0")
                other.ok("put mine2 2 0")
                files = [os.stat(self.path + suffix).st_ino for suffix in SUFFIXES]
                self.assert_error(shell.ask(command), "io", "removed or replaced")
                self.assertEqual([os.stat(self.path + suffix).st_ino for suffix in SUFFIXES], files)
                other.ok("put mine3 3 0")
                other.ok("check")
                other.kill()
                with Shell() as third:
                    third.ok(f"open {self.path} full")
                    for number, key in enumerate(["mine", "mine2", "mine3"], 1):
                        self.assertEqual(third.ok(f"get {key}"), str(number))

    def test_a_refused_open_makes_no_file(self):
        for suffixes in itertools.combinations(SUFFIXES[1:], 2):
            with self.subTest(lost=suffixes):
                self.new_folder()
                shell = self.open_with_log()
                for suffix in ["", *suffixes]:
                    self.lose(suffix, "remove")
                left = set(os.listdir(self.folder))
                other = self.shell()
                self.assert_error(other.ask(f"open {self.path} off"), "io", "removed or replaced")
                self.assertEqual(set(os.listdir(self.folder)), left)
                shell.ask("close")
                other.ok(f"open {self.path} off")


class ClosingTest(FilesTest):
    def test_processes_that_close_at_the_same_time_leave_no_log(self):
        shells = [self.shell() for _ in range(4)]
        for round_ in range(100):
            for shell in shells:
                shell.ok(f"open {self.path} off busy=0 interval=100000")
            shells[round_ % 4].ok(f"put a {round_} 0")
            shells[round_ % 4].ok(f"put b {round_} 0")
            for shell in shells:
                shell.send("close")
            self.assertEqual([shell.receive() for shell in shells], ["ok"] * 4)
            self.assertEqual(sorted(os.listdir(self.folder)), ["store", "store-lock"])


class LimitTest(FilesTest):
    """A limit on the size of files, beyond which a write is a signal that ends the process."""

    def test_a_reader_that_cannot_make_its_files_says_so(self):
        for kib, has_log in itertools.product([0, 1, 2, 4, 8, 64], [False, True]):
            with self.subTest(kib=kib, has_log=has_log):
                self.new_folder()
                maker = self.open_with_log()
                if has_log:
                    maker.kill()
                else:
                    maker.ok("close")
                def limit(kib=kib):
                    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
                shell = self.shell(prepare=limit)
                answer = shell.ask(f"open {self.path} off read_only")
                if kib < 4 and not has_log:
                    self.assert_error(answer, "full", "RLIMIT_FSIZE")
                else:
                    self.assertEqual(answer, "ok")
                    self.assertEqual(shell.ok("get b"), "2")
                    shell.ok("close")

    def test_a_limit_that_is_lowered_later_does_not_end_the_process(self):
        for kib in [4, 100, 5000]:
            with self.subTest(kib=kib):
                self.new_folder()
                shell = self.open_with_log()
                shell.ok("begin")
                shell.ok("tput c 3 0")
                shell.ok("tput d 4 0")
                resource.prlimit(shell.process.pid, resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
                shell.ask("commit")
                answer = shell.ask("fill 0 100000 2000 50000")
                self.assert_error(answer, "full")
                count = int(answer.split(" ")[1])
                self.assertEqual(shell.ok(f"verify 0 {count} 2000"), str(count))
                self.assertEqual(shell.ok("get b"), "2")
                shell.ask("close")
                with Shell() as free:
                    free.ok(f"open {self.path} full")
                    self.assertEqual(free.ok(f"verify 0 {count} 2000"), str(count))
                    free.ok("check")

    def test_no_limit_ends_the_process(self):
        for kib in [16, 63, 64, 100, 150, 200, 300, 500, 1000, 5000, 30_000, 65_536]:
            with self.subTest(kib=kib):
                self.new_folder()
                def limit(kib=kib):
                    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))
                shell = self.shell(prepare=limit)
                answer = shell.ask(f"open {self.path} normal interval=10")
                if answer != "ok":
                    self.assert_error(answer, "full", "RLIMIT_FSIZE")
                    self.assertLess(kib, 100)
                    continue
                count = 0
                if kib <= 5000:
                    answer = shell.ask("fill 0 100000 2000 50000")
                    self.assert_error(answer, "full", "cannot")
                    count = int(answer.split(" ")[1])
                else:
                    count = int(shell.ok("fill 0 3000 2000 50000"))
                self.assertEqual(shell.ok(f"verify 0 {count} 2000"), str(count))
                shell.ok("check")
                shell.ask("checkpoint")
                shell.ask(f"backup {self.folder}/copy")
                shell.ask("compact")
                shell.ask("family f")
                shell.ask("close")
                with Shell() as free:
                    free.ok(f"open {self.path} normal")
                    self.assertEqual(free.ok(f"verify 0 {count} 2000"), str(count))
                    free.ok(f"fill {count} 10 2000 0")
                    free.ok("check")
                    free.ok("close")
                answer = self.shell(prepare=limit).ask(f"open {self.path} normal")
                if answer != "ok":
                    self.assert_error(answer, "full", "RLIMIT_FSIZE")


class ContainerTest(FilesTest):
    def test_two_containers_with_the_same_process_ids_are_told_why(self):
        script = os.path.join(self.folder, "contained")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec unshare --pid --fork {PROGRAM}\n")
        os.chmod(script, 0o755)
        done = subprocess.run([script], input="", capture_output=True, text=True)
        if done.returncode != 0:
            skip(self, f"no namespace of process ids here: {done.stderr.strip()}")
        first = self.shell(program=script)
        first.ok(f"open {self.path} off")
        second = self.shell(program=script)
        answer = second.ask(f"open {self.path} off")
        self.assert_error(answer, "busy", "same id", "container", "PID namespace")
        first.ok("put a 1 0")
        first.ok("close")
        second.ok(f"open {self.path} off")
        self.assertEqual(second.ok("get a"), "1")


class FullDiskTest(FilesTest):
    def mount_disk(self, size, kind):
        self.new_folder()
        options = ["-t", "tmpfs", "-o", f"size={size}", "none"]
        if kind == "ext4":
            if shutil.which("mkfs.ext4") is None:
                skip(self, "no mkfs.ext4 here")
            image = tempfile.NamedTemporaryFile()
            self.addCleanup(image.close)
            image.truncate(size)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image.name],
                           check=True)
            options = ["-o", "loop", image.name]
        done = subprocess.run(["mount", *options, self.folder], capture_output=True, text=True)
        if done.returncode != 0:
            skip(self, f"cannot mount a small file system here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder])

    def use_up_the_rest(self):
        with open(os.path.join(self.folder, "rest"), "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass

    def test_a_store_that_has_filled_the_disk_can_be_emptied(self):
        # Entries in LMDB, in the log, in both; small and large.
        self.fill_and_empty_disks("tmpfs", [100, 3000, 20_000])

    def test_a_store_that_has_filled_an_ext4_can_be_emptied(self):
        self.fill_and_empty_disks("ext4", [3000])

    def fill_and_empty_disks(self, kind, sizes):
        for bytes_each, in_tree, way in itertools.product(
                sizes, ["log", "tree", "both", "reopened"], ["one by one", "purge"]):
            with self.subTest(bytes=bytes_each, entries=in_tree, way=way):
                self.mount_disk(6 << 20, kind)
                self.fill_and_empty(bytes_each, in_tree, way)

    def fill_and_empty(self, bytes_each, in_tree, way):
        count = 200
        shell = self.shell()
        shell.ok(f"open {self.path} normal interval=10 segment={256 << 10}")
        shell.ok("put first 0 0")
        first = 0 if in_tree == "log" else count if in_tree == "tree" else count // 2
        if in_tree == "reopened":
            shell.ok(f"fill 0 {count} {bytes_each} 5000")
            shell.ok("close")
            shell.ok(f"open {self.path} normal interval=10 segment={256 << 10}")
        else:
            shell.ok(f"fill 0 {first} {bytes_each} 5000")
            shell.ok("checkpoint")
            shell.ask(f"fill {first} {count - first} {bytes_each} 5000")
        self.use_up_the_rest()
        answer = shell.ask(f"fill {count} 100000 {bytes_each} 5000")
        self.assert_error(answer, "full")
        full = count + int(answer.split(" ")[1])
        if way == "purge":
            shell.ok("clock 6000")
            shell.ok("purge")
        else:
            for number in range(min(full, count)):
                shell.ok(f"erase {number} 1")
            for number in range(count, full, 50):
                shell.ok(f"erase {number} {min(50, full - number)}")
        self.assertEqual(shell.ok("count").split(" ")[0], "1")
        shell.ok("check")
        shell.ok(f"fill 0 5 {min(bytes_each, 3000)} 0")
        self.assertEqual(shell.ok(f"verify 0 5 {min(bytes_each, 3000)}"), "5")
        os.remove(os.path.join(self.folder, "rest"))
        shell.ok(f"fill 0 {count} {bytes_each} 0")
        shell.ok("check")
        shell.ok("close")


if __name__ == "__main__":
    unittest.main()
