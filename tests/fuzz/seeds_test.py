#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text form of fuzzer inputs loses nothing, and the committed files are in that form."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))
import fuzz_seeds  # noqa: E402


class SeedsTest(unittest.TestCase):
    def test_every_input_survives_a_round_trip(self):
        inputs = [bytes(range(256)), b"a" * 7, b"a" * 8, b"\0" * 5000 + b"1", b"#", b" ", b"\\*3;",
                  b"\\x41", b"\\" * 20, b"9" * 9 + b";", b"GET a\r\n", b" # "]
        for data in inputs:
            with self.subTest(data=data[:20]):
                line = fuzz_seeds.encode(data)
                self.assertEqual(fuzz_seeds.decode(line), data)
                self.assertNotIn("\n", line)
                self.assertEqual(line, line.rstrip(" "))
                self.assertFalse(line.startswith("#"))

    def test_unknown_escapes_are_refused(self):
        for line in ["\\", "\\q", "\\x4", "\\xGG", "\\*3;", "a\\*;", "a\\*3"]:
            with self.subTest(line=line), self.assertRaises(ValueError):
                fuzz_seeds.decode(line)

    def test_written_files_are_read_back_with_their_comments(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.seeds"
            fuzz_seeds.write(path, [("", b"b"), ("why", b"c"), ("", b"c"), ("", b""), ("", b"a")])
            self.assertEqual(fuzz_seeds.read(path), [("why", b"c"), ("", b"a"), ("", b"b")])

    def test_committed_files_are_as_the_script_writes_them(self):
        files = sorted(HERE.glob("*.seeds"))
        self.assertGreater(len(files), 5)
        for path in files:
            with self.subTest(path=path.name), tempfile.TemporaryDirectory() as folder:
                again = pathlib.Path(folder) / path.name
                fuzz_seeds.write(again, fuzz_seeds.read(path))
                self.assertEqual(again.read_text(), path.read_text())


if __name__ == "__main__":
    unittest.main()
