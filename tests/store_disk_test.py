#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disks that are full or read-only, files that are forbidden or no stores: each a clear error, and
nothing is lost.

There are two full disks: a small file system in memory, which needs the right to mount, and a limit
on the size of files. What cannot be done here is skipped, and says so.
"""

import os
import subprocess
import sys
import tempfile
import unittest

from store_shell import Shell, public_program

LEVELS = ["full", "normal", "off"]
DISK_BYTES = 6 << 20
NOBODY = 65534


def mount(folder, options):
    command = ["mount", "-t", "tmpfs", "-o", options, "none", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"SKIPPED, cannot mount: {done.stderr.strip()}", file=sys.stderr)
        raise unittest.SkipTest("cannot mount a small file system here")


def become_nobody():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


class DiskTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder])
        self.path = os.path.join(self.folder, "store")

    def mount_disk(self, size=DISK_BYTES):
        mount(self.folder, f"size={size}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder])

    def shell(self, **how):
        return self.enterContext(Shell(**how))

    def assert_error(self, answer, code, *words):
        self.assertEqual(answer.split(" ")[0], code, answer)
        for word in words:
            self.assertIn(word, answer)


class FullDiskTest(DiskTest):
    """`fill N COUNT BYTES TTL` puts until it cannot, and tells how many puts went well."""

    def fill_up(self, shell, bytes_each, ttl):
        answer = shell.ask(f"fill 0 100000 {bytes_each} {ttl}")
        self.assert_error(answer, "full", "cannot", "space")
        return int(answer.split(" ")[1])

    def assert_whole(self, shell, count, bytes_each):
        self.assertEqual(shell.ok(f"verify 0 {count} {bytes_each}"), str(count))
        self.assertEqual(shell.ok("count").split(" ")[0], str(count))
        shell.ok("check")

    def test_loses_nothing_and_works_on_when_there_is_space_again(self):
        for level in LEVELS:
            for bytes_each, ttl in [(100, 0), (100, 5000), (20000, 0), (300000, 5000)]:
                with self.subTest(level=level, bytes=bytes_each, ttl=ttl):
                    self.setUp()
                    self.mount_disk(2 * DISK_BYTES)
                    self.fill_and_free(level, bytes_each, ttl)

    def fill_and_free(self, level, bytes_each, ttl):
        # What is in the log needs as much again when it goes into the tree.
        ballast = os.path.join(self.folder, "ballast")
        with open(ballast, "wb") as file:
            file.write(bytes(2 * DISK_BYTES - (5 << 19)))
        shell = self.shell()
        shell.ok(f"open {self.path} {level} interval=10")
        count = self.fill_up(shell, bytes_each, ttl)
        self.assertGreater(count, 5)
        self.assert_whole(shell, count, bytes_each)
        self.assertTrue(shell.ask("put key value 0").split(" ")[0] in ("full", "ok"))

        os.remove(ballast)
        shell.ok(f"fill {count} 3 {bytes_each} {ttl}")
        shell.ok("erase 100000 1")
        shell.ok("sync")
        self.assertEqual(shell.ok(f"verify 0 {count + 3} {bytes_each}"), str(count + 3))
        shell.ok("close")
        shell.ok(f"open {self.path} {level}")
        self.assertEqual(shell.ok(f"verify 0 {count + 3} {bytes_each}"), str(count + 3))
        shell.ok("check")

    def test_loses_nothing_when_it_is_killed_or_closed_while_full(self):
        for level in LEVELS:
            for ends in ["kill", "close"]:
                with self.subTest(level=level, ends=ends):
                    self.setUp()
                    self.mount_disk()
                    shell = self.shell()
                    shell.ok(f"open {self.path} {level} interval=10")
                    count = self.fill_up(shell, 3000, 5000)
                    if ends == "kill":
                        shell.kill()
                    else:
                        self.assert_error(shell.ask("close"), "full", "space")
                    self.use_up_the_rest()
                    for options in ["read_only", ""]:
                        other = self.shell()
                        other.ok(f"open {self.path} {level} {options}")
                        self.assert_whole(other, count, 3000)
                        other.kill()

    def test_a_checkpoint_that_does_not_fit_leaves_all_in_the_log(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                self.mount_disk()
                shell = self.shell()
                shell.ok(f"open {self.path} {level} segment={64 << 10}")
                shell.ok("fill 0 2 100 0")
                self.assert_is_there("store-wal")
                shell.ok("fill 2 900 100 0")  # both segments have their room on disk
                shell.ok("checkpoint")
                self.use_up_the_rest()
                answer = shell.ask("fill 902 100000 100 0")
                self.assert_error(answer, "full", "space")
                count = 902 + int(answer.split(" ")[1])
                self.assertGreater(count, 902 + 400)  # most of a segment
                self.assert_error(shell.ask("checkpoint"), "full", "space")
                self.assert_whole(shell, count, 100)
                shell.kill()
                shell = self.shell()
                shell.ok(f"open {self.path} {level} read_only")
                self.assert_whole(shell, count, 100)
                shell.kill()
                os.remove(os.path.join(self.folder, "rest"))
                shell = self.shell()
                shell.ok(f"open {self.path} {level}")
                self.assert_whole(shell, count, 100)
                shell.ok(f"fill {count} 2000 100 0")
                shell.ok("checkpoint")
                self.assert_whole(shell, count + 2000, 100)
                shell.ok("close")

    def assert_is_there(self, name, is_there=True):
        self.assertEqual(name in os.listdir(self.folder), is_there, name)

    def use_up_the_rest(self, leaves=0):
        reserve = os.path.join(self.folder, "reserve")
        with open(reserve, "wb") as file:
            file.write(bytes(leaves))
        with open(os.path.join(self.folder, "rest"), "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass
        os.remove(reserve)

    def test_opening_on_a_full_disk_is_an_error_or_works(self):
        self.mount_disk()
        shell = self.shell()
        shell.ok(f"open {self.path} full")
        shell.ok("fill 0 10 100 0")
        shell.ok("close")
        for name in os.listdir(self.folder):
            if name != "store":
                os.remove(os.path.join(self.folder, name))
        self.use_up_the_rest()
        for level in LEVELS:
            self.assert_error(shell.ask(f"open {self.path} {level}"), "full", "space")
        self.assert_error(shell.ask(f"open {self.folder}/another normal"), "full", "space")
        os.remove(os.path.join(self.folder, "rest"))
        shell.ok(f"open {self.path} normal")
        self.assert_whole(shell, 10, 100)

    def test_a_big_transaction_that_does_not_fit_leaves_nothing(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                self.mount_disk()
                shell = self.shell()
                shell.ok(f"open {self.path} {level}")
                shell.ok("batch 0 10 1000")
                self.assert_error(shell.ask("batch 10 100 100000"), "full", "space")
                self.assert_whole(shell, 10, 1000)
                shell.ok("fill 10 10 1000 0")
                self.assert_whole(shell, 20, 1000)

    def test_backup_and_compaction_fail_and_leave_the_store_as_it_was(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                self.mount_disk()
                shell = self.shell()
                shell.ok(f"open {self.path} {level}")
                shell.ok("batch 0 40 100000")
                for command in [f"backup {self.folder}/copy", "compact"]:
                    self.assert_error(shell.ask(command), "full", "space")
                    self.assert_whole(shell, 40, 100000)
                self.assertFalse([name for name in os.listdir(self.folder)
                                  if "copy" in name or "compact" in name])
                shell.ok("put key value 0")
                self.assertEqual(shell.ok("get key"), "value")

    def test_a_log_that_cannot_be_made_is_done_without(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                self.mount_disk()
                shell = self.shell()
                shell.ok(f"open {self.path} {level}")
                shell.ok("fill 0 1 100 0")
                self.use_up_the_rest(leaves=300 << 10)
                shell.ok("fill 1 10 100 0")
                self.assert_is_there("store-wal", False)
                self.assert_is_there("store-wal.new", False)
                self.assert_whole(shell, 11, 100)
                os.remove(os.path.join(self.folder, "rest"))
                shell.ok("fill 11 10 100 0")
                self.assert_is_there("store-wal")
                self.assert_whole(shell, 21, 100)
                shell.ok("close")
                self.assert_is_there("store-wal", False)

    def test_a_log_that_cannot_grow_stops_writers_until_it_can(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                self.mount_disk()
                shell = self.shell()
                shell.ok(f"open {self.path} {level}")
                shell.ok("fill 0 20 50000 0")
                self.use_up_the_rest()
                count = 20 + self.fill_on(shell, 20, 50000)
                self.assert_whole(shell, count, 50000)
                shell.ok(f"erase {count - 1} 1")  # which fits into the room that it has
                self.assert_whole(shell, count - 1, 50000)
                os.remove(os.path.join(self.folder, "rest"))
                shell.ok(f"fill {count - 1} 5 50000 0")
                self.assert_whole(shell, count + 4, 50000)

    def fill_on(self, shell, first, bytes_each):
        answer = shell.ask(f"fill {first} 100000 {bytes_each} 0")
        self.assert_error(answer, "full", "-wal", "space")
        return int(answer.split(" ")[1])


class LimitTest(DiskTest):
    """Where nothing can be mounted, a limit on the size of files is as good as a full disk."""

    def test_loses_nothing_and_works_on_when_the_limit_is_gone(self):
        for level in LEVELS:
            for bytes_each in [200, 20000]:
                with self.subTest(level=level, bytes=bytes_each):
                    self.setUp()
                    shell = self.shell()
                    shell.ok(f"limit {300 << 10}")
                    shell.ok(f"open {self.path} {level} interval=10")
                    answer = shell.ask(f"fill 0 100000 {bytes_each} 5000")
                    self.assert_error(answer, "full", "cannot")
                    count = int(answer.split(" ")[1])
                    self.assertEqual(shell.ok(f"verify 0 {count} {bytes_each}"), str(count))
                    shell.ok("check")
                    shell.ok("limit 0")
                    shell.ok(f"fill {count} 30 {bytes_each} 0")
                    shell.ok("close")
                    shell.ok(f"open {self.path} {level}")
                    self.assertEqual(shell.ok(f"verify 0 {count + 30} {bytes_each}"),
                                     str(count + 30))
                    shell.ok("check")

    def test_a_map_that_is_full_says_what_to_do(self):
        for level in LEVELS:
            with self.subTest(level):
                self.setUp()
                shell = self.shell()
                shell.ok(f"open {self.path} {level} map={1 << 20}")
                answer = shell.ask("fill 0 100000 3000 0")
                self.assert_error(answer, "full", "map_bytes")
                count = int(answer.split(" ")[1])
                self.assertEqual(shell.ok(f"verify 0 {count} 3000"), str(count))
                shell.ok("close")
                shell.ok(f"open {self.path} {level} map={2 << 20}")
                shell.ok("erase 0 50")
                shell.ok("fill 0 10 3000 0")
                self.assertEqual(shell.ok(f"verify 50 {count - 50} 3000"), str(count - 50))
                shell.ok("check")


class ReadOnlyTest(DiskTest):
    def test_a_read_only_file_system_can_be_read_and_not_written(self):
        self.mount_disk()
        shell = self.shell()
        shell.ok(f"open {self.path} normal")
        shell.ok("fill 0 10 100 1000")
        shell.ok("put key value 0")
        shell.ok("close")
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)
        self.assert_error(shell.ask(f"open {self.path} normal"), "denied", "store")
        self.assert_error(shell.ask(f"open {self.folder}/new normal"), "denied", "new")
        shell.ok(f"open {self.path} normal read_only")
        self.assertEqual(shell.ok("verify 0 10 100"), "10")
        shell.ok("clock 1000")
        self.assertEqual(shell.ok("count"), "1 0 10")
        self.assertEqual(shell.ok("get 3"), "")
        self.assert_error(shell.ask("put key other 0"), "denied", "read-only")
        shell.ok("check")
        shell.ok("close")

    def test_a_read_only_file_system_with_a_log_shows_what_is_in_the_log(self):
        self.mount_disk()
        shell = self.shell()
        shell.ok(f"open {self.path} off")
        shell.ok("fill 0 10 100 1000")
        shell.ok("put key value 0")
        shell.kill()
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)
        shell = self.shell()
        self.assert_error(shell.ask(f"open {self.path} normal"), "denied", "store")
        for _ in range(2):
            shell.ok(f"open {self.path} normal read_only")
            self.assertEqual(shell.ok("verify 0 10 100"), "10")
            self.assertEqual(shell.ok("count"), "11 10 0")
            shell.ok("check")
            shell.ok("close")
        subprocess.run(["mount", "-o", "remount,rw", self.folder], check=True)
        shell.ok(f"open {self.path} normal")
        self.assertEqual(shell.ok("verify 0 10 100"), "10")

    def test_who_may_not_write_can_read_and_is_told_so(self):
        shell = self.user_of_a_store(0o444, 0o755)
        self.assert_error(shell.ask(f"open {self.path} normal"), "denied", "store")
        shell.ok(f"open {self.path} normal read_only")
        self.assertEqual(shell.ok("get key"), "value")
        self.assert_error(shell.ask("put key other 0"), "denied")
        shell.ok("check")

    def test_who_may_not_read_is_told_so(self):
        shell = self.user_of_a_store(0o000, 0o755)
        for options in ["", "read_only"]:
            self.assert_error(shell.ask(f"open {self.path} normal {options}"), "denied", "store")

    def test_who_may_not_enter_the_directory_is_told_so(self):
        shell = self.user_of_a_store(0o666, 0o700)
        for options in ["", "read_only"]:
            self.assert_error(shell.ask(f"open {self.path} normal {options}"), "denied", "store")

    def test_a_directory_that_is_not_writable_gives_no_new_store(self):
        shell = self.user_of_a_store(0o666, 0o755)
        self.assert_error(shell.ask(f"open {self.path}2 normal"), "denied", "store2")
        self.assertNotIn("store2", os.listdir(os.path.dirname(self.path)))

    def user_of_a_store(self, file_mode, folder_mode):
        """A process without rights, and a store that it may use as the modes say."""
        if os.getuid() != 0:
            print("SKIPPED: only root can become somebody else", file=sys.stderr)
            self.skipTest("only root can become somebody else")
        program = public_program(self.folder)
        inner = os.path.join(self.folder, "inner")
        os.mkdir(inner)
        self.path = os.path.join(inner, "store")
        with Shell() as root:
            root.ok(f"open {self.path} normal")
            root.ok("put key value 0")
            root.ok("close")
        for name in os.listdir(inner):
            os.chmod(os.path.join(inner, name), file_mode)
        os.chmod(inner, folder_mode)
        return self.shell(program=program, prepare=become_nobody)


class NoStoreTest(DiskTest):
    def open_it(self, path=None):
        """Both ways; they must agree."""
        shell = self.shell()
        answers = [shell.ask(f"open {path or self.path} normal {options}")
                   for options in ["read_only", ""]]
        self.assertEqual(answers[0].split(" ")[0], answers[1].split(" ")[0])
        return answers[1]

    def write(self, content):
        with open(self.path, "wb") as file:
            file.write(content)

    def assert_untouched(self, content):
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), content, "what is no store of ours must not be changed")

    def test_what_is_not_there(self):
        shell = self.shell()
        answer = shell.ask(f"open {self.path} normal read_only")
        self.assert_error(answer, "not_found", self.path)
        self.assert_error(self.open_it(f"{self.folder}/none/store"), "not_found", "none/store")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_directory(self):
        os.mkdir(self.path)
        self.assert_error(self.open_it(), "invalid", self.path, "directory")

    def test_a_pipe_and_a_device(self):
        os.mkfifo(self.path)
        for path in [self.path, "/dev/null", "/dev/zero"]:
            self.assert_error(self.open_it(path), "invalid", path, "regular file")

    def test_garbage(self):
        for size in [1, 100, 4096, 8192, 100_000]:
            with self.subTest(size):
                content = bytes(number * 37 % 251 for number in range(size))
                self.write(content)
                self.assert_error(self.open_it(), "corrupt", self.path)
                self.assert_untouched(content)

    def test_a_store_that_was_cut_off(self):
        shell = self.shell()
        shell.ok(f"open {self.path} full")
        shell.ok("fill 0 500 1000 1000")
        shell.ok("compact")  # else pages that nobody needs may be the last ones
        shell.ok("close")
        with open(self.path, "rb") as file:
            whole = file.read()
        for size in [100, 4096, 5000, 8192, 12288, len(whole) // 2, len(whole) - 4096]:
            with self.subTest(size):
                self.write(whole[:size])
                self.assert_error(self.open_it(), "corrupt", self.path)
                self.assert_untouched(whole[:size])
        self.write(whole)
        shell.ok(f"open {self.path} full")
        self.assertEqual(shell.ok("verify 0 500 1000"), "500")


class DamagedLogTest(DiskTest):
    """The log of a store that was killed, in which something is missing."""

    COUNT = 300
    HEADER = 4096
    SEGMENT = 64 << 10

    def setUp(self):
        super().setUp()
        with Shell() as shell:
            shell.ok(f"open {self.path} off segment={self.SEGMENT} interval=100000")
            shell.ok(f"fill 0 {self.COUNT} 100 0")
            shell.kill()
        self.log = self.path + "-wal"
        self.files = {path: self.read(path) for path in [self.path, self.log]}

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def put_back(self):
        for path, content in self.files.items():
            with open(path, "wb") as file:
                file.write(content)

    def change_log(self, change):
        self.put_back()
        content = bytearray(self.files[self.log])
        change(content)
        with open(self.log, "wb") as file:
            file.write(content)

    def test_one_that_is_gone_or_too_short_is_an_error(self):
        self.put_back()
        os.remove(self.log)
        self.assert_both_ways("corrupt", "-wal is missing")
        for size in [0, 100, self.HEADER, self.HEADER + 64, self.HEADER + self.SEGMENT,
                     self.HEADER + 2 * self.SEGMENT - 1]:
            with self.subTest(size):
                def cut(content, size=size):
                    del content[size:]
                self.change_log(cut)
                self.assert_both_ways("corrupt", "-wal")

    def assert_both_ways(self, code, *words):
        for options in ["read_only", ""]:
            self.assert_error(self.shell().ask(f"open {self.path} normal {options}"), code, *words)

    def test_one_of_another_store_is_an_error(self):
        other = os.path.join(self.folder, "other")
        with Shell() as shell:
            shell.ok(f"open {other} off segment={self.SEGMENT}")
            shell.ok("fill 0 10 100 0")
            shell.kill()
        os.replace(other + "-wal", self.log)
        self.assert_both_ways("corrupt", "of another store")

    def test_its_header_is_damaged(self):
        for place in [0, 20, 50, 79]:
            with self.subTest(place):
                def flip(content, place=place):
                    content[place] ^= 1
                self.change_log(flip)
                self.assert_both_ways("corrupt", "-wal")

    def test_one_that_is_cut_anywhere_leaves_what_was_before(self):
        end = self.HEADER + len(self.files[self.log][self.HEADER:].rstrip(b"\0"))
        self.assertGreater(end, self.HEADER + 30_000)
        counts = []
        for place in [*range(self.HEADER + 64, end, 1999), end - 1, end]:
            with self.subTest(place):
                def lose(content, place=place):
                    content[place:] = bytes(len(content) - place)
                self.change_log(lose)
                counts.append(self.count_the_rest())
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], self.COUNT)
        self.assertLess(counts[0], 5)

    def test_one_with_a_hole_leaves_what_was_before(self):
        for place in range(self.HEADER + 64, self.HEADER + 40_000, 2503):
            with self.subTest(place):
                def lose(content, place=place):
                    content[place:place + 40] = bytes(40)
                self.change_log(lose)
                self.assertLess(self.count_the_rest(), self.COUNT)

    def count_the_rest(self):
        """How many of the first entries are there, and no others; writing goes on."""
        with Shell() as shell:
            shell.ok(f"open {self.path} normal")
            count = int(shell.ok("count").split(" ")[0])
            self.assertEqual(shell.ok(f"verify 0 {count} 100"), str(count))
            shell.ok("check")
            shell.ok(f"fill {count} 10 100 0")
            shell.ok("close")
            shell.ok(f"open {self.path} normal read_only")
            self.assertEqual(shell.ok(f"verify 0 {count + 10} 100"), str(count + 10))
            shell.ok("close")
        return count


if __name__ == "__main__":
    unittest.main()
