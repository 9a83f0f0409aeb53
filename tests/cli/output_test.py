#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cannot be written is an error, whichever command prints it; a reader who leaves is none.

/dev/full takes nothing, as a full disk does.
"""

import json
import os
import resource
import signal
import subprocess
import unittest

import program

LARGE = b"x" * 100_000  # more than any buffer has room for


class OutputTest(program.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done("put", "small", "v")
        self.done("put", "large", "-", input=LARGE)

    def start(self, *words, out, input=b"", **more):
        environment = os.environ | {"MAYFLY_DB": self.db}
        return subprocess.run([self.program.path, *words], stdout=out, input=input,
                              stderr=subprocess.PIPE, timeout=program.PATIENCE_S, check=False,
                              cwd=self.folder, env=environment, **more)

    def test_a_full_disk_is_an_error_of_every_command(self):
        for words in [("get", "small"), ("get", "large"), ("get", "small", "--raw"),
                      ("get", "large", "--raw"), ("get", "large", "--json"),
                      ("get", "large", "--out", "-"), ("scan",), ("list",), ("stat",), ("dump",),
                      ("check",), ("cf",), ("--help",), ("get", "--help"), ("help",),
                      ("--version",), ("completion", "bash"), ("manual", "put")]:
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = self.start(*words, out=full)
                self.assertEqual(done.returncode, program.FAILED)
                self.assertEqual(done.stderr, b"mayfly: cannot write to standard output: "
                                              b"No space left on device\n")

    def test_a_full_disk_is_an_error_of_the_shell(self):
        for line in [b"get small\n", b"get large\n", b"scan\n", b"help\n"]:
            with self.subTest(line), open("/dev/full", "wb") as full:
                done = self.start("shell", out=full, input=line)
                self.assertEqual(done.returncode, program.FAILED)
                self.assertIn(b"No space left on device", done.stderr)

    def test_an_output_that_is_closed_is_an_error_and_no_part_of_the_store(self):
        with open(self.db, "rb") as file:
            before = file.read()
        for words in [("get", "large"), ("list",), ("scan",), ("get", "large", "--raw")]:
            with self.subTest(words):
                command = ["sh", "-c", 'exec "$0" "$@" >&-', self.program.path, *words]
                done = subprocess.run(command, stderr=subprocess.PIPE, check=False,
                                      env=os.environ | {"MAYFLY_DB": self.db})
                self.assertEqual(done.returncode, program.FAILED)
                self.assertIn(b"cannot write to standard output: Bad file descriptor", done.stderr)
        with open(self.db, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_complaints_that_nobody_can_hear_end_nothing_in_disorder(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([self.program.path, "get", "--db", "absent.db", "k"], stderr=full,
                                  stdout=subprocess.PIPE, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, program.FAILED)

    def test_a_reader_who_leaves_hears_nothing(self):
        for is_ignored in [False, True]:  # as a shell starts it, and as some programs do
            for words in [("scan",), ("get", "large"), ("get", "large", "--raw"), ("--help",)]:
                with self.subTest(words, is_ignored=is_ignored):
                    reading, writing = os.pipe()
                    os.close(reading)
                    handler = signal.SIG_IGN if is_ignored else signal.SIG_DFL
                    done = self.start(*words, out=writing, restore_signals=False,
                                      preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
                    os.close(writing)
                    self.assertEqual(done.stderr, b"")
                    self.assertEqual(done.returncode, program.OK if is_ignored else -signal.SIGPIPE)


class OutFileTest(program.TestCase):
    """get --out FILE."""

    def setUp(self) -> None:
        super().setUp()
        self.done("put", "k", "value")

    def test_is_not_the_store_and_none_of_its_files(self):
        link = self.path("link")
        os.symlink(self.db, link)
        for name in ["test.db", "./test.db", self.db, link, "test.db-lock", "test.db-shm",
                     "test.db-wal", os.path.join(self.folder, "..",
                                                  os.path.basename(self.folder), "test.db-wal")]:
            for db in [self.db, link]:
                with self.subTest(name, db=db):
                    self.refused(self.program.run("get", "--db", db, "k", "--out", name), name,
                                 "(choose another file)")
                    self.refused(self.program.run("dump", "--db", db, name), name,
                                 "(choose another file)")
        self.assertEqual(self.done("get", "k").text, "value\n")

    def test_stays_as_it_was_if_the_disk_is_full(self):
        self.done("put", "large", "-", input=LARGE)
        self.write("out", b"old")
        limit = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),  # noqa: E731
                         resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)))
        # The limit is also below the size of the store, which only a reader may open then.
        words = ["get", "--db", self.db, "--read-only", "large", "--out", "out"]
        done = subprocess.run([self.program.path, *words], cwd=self.folder, capture_output=True,
                              check=False, restore_signals=False, preexec_fn=limit)
        self.assertEqual(done.returncode, program.FAILED)
        self.assertIn(b"File too large", done.stderr)
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), b"old")
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])

    def test_keeps_its_rights_and_a_link_stays_a_link(self):
        os.chmod(self.write("old", b"longer than the value"), 0o600)
        os.symlink("old", self.path("link"))
        os.symlink("new", self.path("loose"))
        for name, target in [("link", "old"), ("loose", "new")]:
            self.done("get", "k", "--out", name)
            self.assertEqual(os.readlink(self.path(name)), target)
            with open(self.path(target), "rb") as file:
                self.assertEqual(file.read(), b"value")
        self.assertEqual(os.stat(self.path("old")).st_mode & 0o777, 0o600)

    def test_is_told_of_in_json(self):
        self.assertEqual(self.done("get", "k", "--out", "out", "--json").json,
                         {"key": "k", "file": "out", "bytes": 5})
        self.assertEqual(self.done("get", "k", "--out", "out").text, "")

    def test_may_be_the_standard_output_which_is_not_replaced(self):
        for name in ["-", "/dev/stdout"]:
            with open(self.path("shared"), "w+b") as shared:
                shared.write(b"before ")
                shared.flush()
                done = self.mayfly_to(shared, "get", "k", "--out", name)
                self.assertEqual((done.returncode, done.stderr), (program.OK, b""))
                shared.seek(0)
                self.assertEqual(shared.read(), b"before value")

    def test_raw_bytes_are_no_json(self):
        self.refused(self.mayfly("get", "k", "--raw", "--json"), "--raw", "--json",
                     "together")
        self.refused(self.mayfly("get", "k", "--raw", "--format", "json"), "together")
        self.assertEqual(json.loads(self.done("get", "k", "--json").out)["value"], "value")


if __name__ == "__main__":
    unittest.main()
