#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""txn: are all lines done, or none, and does each mean what it says?"""

import os
import unittest

import program


class TxnTest(program.TestCase):
    def txn(self, *lines: str, words: tuple = ()) -> program.Outcome:
        return self.mayfly("txn", *words, input="".join(line + "\n" for line in lines).encode())

    def committed(self, *lines: str, words: tuple = ()) -> str:
        outcome = self.txn(*lines, words=words)
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""))
        return outcome.text

    def value(self, key: str, *words) -> str:
        return self.done("get", key, *words).text[:-1]

    def ttl(self, key: str) -> float:
        return self.done("ttl", key, "--json").json["ttl"]

    def test_puts_and_deletes_as_snkv_writes_them(self):
        self.put(old="1")
        text = self.committed("# a comment", "", "put greeting hello  world ", "  put a b",
                              "del old", "del absent")
        self.assertEqual(text, "committed 4 operations, 1 without effect\n")
        self.assertEqual(self.value("greeting"), "hello  world")
        self.assertEqual(self.done("list").lines, ["a", "greeting"])

    def test_counts_operations_and_no_other_lines(self):
        self.done("cf create", "x")
        self.assertEqual(self.committed("#", "", "cf x", "put a 1"), "committed 1 operations\n")
        self.assertEqual(self.committed(), "committed 0 operations\n")
        outcome = self.mayfly("txn", "--json", input=b"del a\nput a 1\n")
        self.assertEqual(outcome.json, {"operations": 2, "without_effect": 1, "committed": True})

    def test_a_ttl_comes_last_and_quotes_protect_what_looks_like_one(self):
        self.committed("put a some words --ttl 15m", "put b word --ttl=15m",
                       'put c "--ttl 15m"', 'put d "x --ttl 15m" --ttl 1h', "put e x--ttl 5",
                       "set-if-absent f v --ttl 2100-01-01T00:00Z")
        self.assertEqual([self.value(key) for key in "abcdef"],
                         ["some words", "word", "--ttl 15m", "x --ttl 15m", "x--ttl 5", "v"])
        self.assertTrue(890 < self.ttl("a") <= 900 and 890 < self.ttl("b") <= 900)
        self.assertEqual([self.ttl(key) for key in "ce"], [None, None])
        self.assertTrue(3590 < self.ttl("d") <= 3600)

    def test_what_looks_like_an_option_is_refused_unless_it_is_behind_dashes(self):
        self.put(key="old")
        for line, part in [
                ("put key 1 --tl 5", "'--tl' is not an option; did you mean '--ttl'?"),
                ("put key 1 --tl=5", "did you mean '--ttl'?"),
                ("put key 1 -ttl 5", "did you mean '--ttl'?"),
                ("put key --force", "'--force' is not an option; choose one of --ttl"),
                ("put --tl 5 key 1", "did you mean '--ttl'?"),
                ("put key one --ttl 5 more words", "invalid time '5 more words'"),
                ("put key 1 --ttl 5 --ttl 6", "--ttl was given 2 times"),
                ("set-if-absent other 1 -t 5", "'-t' is not an option"),
                ("incr n 5 --tll 1m", "did you mean '--ttl'?"),
                ("del key --force", "'--force' is not an option"),
                ("persist --key", "'--key' is not an option"),
                ("expire key --tl 5m", "did you mean '--ttl'?"),
                ("cf --name", "'--name' is not an option")]:
            with self.subTest(line):
                self.refused(self.txn("put key new", line), "line 2: ", part, "nothing was changed")
        self.assertEqual(self.done("scan").lines, ["key\told"])

    def test_behind_dashes_and_in_quotes_nothing_is_an_option(self):
        self.committed("put a -- 1 --tl 5", "put b 1 -- --tl 5", "put -- --c --ttl 5",
                       "put d --ttl 1h -- --force", 'put e "--tl 5"', "put f text -- more",
                       "put g -5", "put h - -- -", "put i a-b --5 x--y", "put j -- --",
                       "del -- --x", "incr n -5")
        self.assertEqual([self.value(key) for key in "abdefghijn"],
                         ["1 --tl 5", "1 --tl 5", "--force", "--tl 5", "text -- more", "-5",
                          "- -- -", "a-b --5 x--y", "--", "-5"])
        self.assertEqual(self.done("get", "--", "--c").text, "--ttl 5\n")
        self.assertTrue(3590 < self.ttl("d") <= 3600)

    def test_options_stand_before_the_key_behind_it_or_at_the_end(self):
        self.committed("put --ttl 1h a x", "put b --ttl=1h x  y", "put c x --ttl 1 hour",
                       'put d "x y" --ttl "60 minutes"', "put e x", "expire e 1 hour", "put f x",
                       "expire f --ttl 60 min", "incr g --ttl 1h", "incr h 5 --ttl 1h")
        self.assertEqual([self.value(key) for key in "abcdgh"], ["x", "x  y", "x", "x y", "1", "5"])
        for key in "abcdefgh":
            self.assertTrue(3590 < self.ttl(key) <= 3600, key)

    def test_the_ttl_of_incr_is_for_a_key_that_it_makes(self):
        self.committed("incr n 5 --ttl 1h", "incr n 5 --ttl 1m",
                       '{"op":"incr","key":"m","by":2,"ttl":60}')
        self.assertEqual((self.value("n"), self.value("m")), ("10", "2"))
        self.assertTrue(3590 < self.ttl("n") <= 3600 and 50 < self.ttl("m") <= 60)

    def test_names_of_other_tools_are_understood(self):
        self.committed("SET a 1", "set b 2", "incrby n 5", "rm b", "delete absent", "setnx c 3",
                       '{"op":"set","key":"d","value":"4"}')
        self.assertEqual(self.done("scan").lines, ["a\t1", "c\t3", "d\t4", "n\t5"])
        self.refused(self.txn("setex a 5 b"), "unknown command 'setex'", "put KEY VALUE --ttl TIME")

    def test_quotes_hold_any_bytes(self):
        self.committed(r'put "a \"key\"" "two\nlines\t\x00\xff\\"', r"put 'b' 'it\'s'", 'put c ""',
                       'put d {"a": "b"}', 'put e say "it"')
        self.assertEqual(self.done("get", 'a "key"', "--raw").out, b"two\nlines\t\x00\xff\\")
        self.assertEqual([self.value(key) for key in "bcde"],
                         ["it's", "", '{"a": "b"}', 'say "it"'])

    def test_hex_and_base64_are_for_all_keys_and_values(self):
        self.committed("put 00ff 0102 --ttl 1h", "del 01", words=("--hex",))
        self.assertEqual(self.done("get", "--hex", "00ff").text, "0102\n")
        self.committed("put AP8= /w==", words=("--base64",))
        self.assertEqual(self.done("get", "--hex", "00ff").text, "ff\n")
        self.refused(self.txn("put 0 00", words=("--hex",)), "line 1", "hexadecimal")
        self.refused(self.txn("put * 00", words=("--base64",)), "line 1", "base64")

    def test_changes_deadlines_and_numbers(self):
        self.put(a="1", b="2", c="3")
        self.done("expire", "b", "1h")
        self.done("expire", "c", "1h")
        self.committed("expire a 15m", "persist b", "touch c 2h", "incr n", "incr n +41",
                       "incr n -2")
        self.assertTrue(890 < self.ttl("a") <= 900)
        self.assertIsNone(self.ttl("b"))
        self.assertTrue(7100 < self.ttl("c") <= 7200)
        self.assertEqual(self.value("n"), "40")
        self.assertEqual(self.committed("expire x 1h", "persist x", "touch x 1h", "persist b"),
                         "committed 4 operations, 4 without effect\n")

    def test_lines_of_json_hold_anything(self):
        self.done("cf create", "x")
        self.committed('{"op":"put","key":{"base64":"AP8="},"value":"v","ttl":60,"cf":"x"}',
                       '{"op":"put","key":"a","value":"w","ttl":"15m"}',
                       '{"op":"set-if-absent","key":"a","value":"z"}',
                       '{"op":"incr","key":"n","by":5}', '{"op":"expire","key":"n","ttl":60}',
                       '{"op":"put","key":"d","value":"","deadline_ms":4102444800000}',
                       '{"op":"del","key":"absent"}')
        self.assertEqual(self.done("get", "--hex", "00ff", "--cf", "x").text, "76\n")
        self.assertEqual((self.value("a"), self.value("n")), ("w", "5"))
        self.assertEqual(self.done("ttl", "d", "--json").json["deadline_ms"], 4102444800000)

    def test_lines_are_for_the_family_that_was_named_last(self):
        for name in ["x", "y"]:
            self.done("cf create", name)
        self.committed("put a 0", "cf x", "put a 1", "cf y", "put a 2", "cf default", "put b 3")
        self.committed("put c 4", words=("--cf", "x"))
        self.assertEqual([self.value("a"), self.value("a", "--cf", "x"),
                          self.value("a", "--cf", "y"), self.value("b"),
                          self.value("c", "--cf", "x")], ["0", "1", "2", "3", "4"])

    def test_a_wrong_line_changes_nothing(self):
        self.put(text="word", key="old")
        for line, parts in [
                ("pt a b", ["'pt'", "did you mean 'put'?"]),
                ("frobnicate", ["unknown command", "put"]),
                ("put", ["KEY is missing"]),
                ("put a", ["VALUE is missing"]),
                ("put a --ttl 5m", ["VALUE is missing"]),
                ("put a b --ttl", ["TIME is missing"]),
                ("put a b --ttl soon", ["soon", "15m"]),
                ("put a b --ttl 0", ["greater than 0"]),
                ('put a "b', ["missing closing quote"]),
                ('put "a"b c', ["quote", "space"]),
                ('put a "b" c', ["unexpected argument 'c'"]),
                ('put "" c', ["key is empty"]),
                ("del a b", ["unexpected argument 'b'"]),
                ("expire a", ["TIME is missing"]),
                ("expire a 2001-01-01", ["past"]),
                ("incr a 1.5", ["1.5", "64-bit integer"]),
                ("incr text", ["integer"]),
                ("cf", ["column family name"]),
                ("cf nobody\nput a b", ["nobody", "cf create"]),
                ('{"op":"put","key":"a"', ["column 22"]),
                ('{"op":"pit","key":"a"}', ["did you mean 'put'?"]),
                ('{"key":"a"}', ['"op" is missing']),
                ('{"op":"put","key":"a","value":{"base64":"!"}}', ['"value"', "not valid base64"]),
                ('{"op":"put","key":"a","value":"b","tttl":5}', ['did you mean "ttl"?']),
                ('{"op":"del","key":"a","value":"b"}', ['"value"']),
                ('{"op":"put","key":"a","value":"b","ttl":-1}', ["greater than 0"]),
                ('{"op":"touch","key":"a"}', ['"ttl"'])]:
            with self.subTest(line=line):
                outcome = self.txn("put key new", *line.split("\n"))
                number = 2 + line.count("\n")
                self.refused(outcome, f"line {number}: ", "nothing was changed", *parts)
                self.assertEqual(self.value("key"), "old")

    def test_a_dry_run_tries_all_and_changes_nothing(self):
        self.assertEqual(self.committed("put a b", "incr n", words=("--dry-run",)),
                         "dry run: 2 operations\n")
        self.assertFalse(os.path.exists(self.db))
        self.refused(self.txn("put a b", "incr a", words=("--dry-run",)), "line 2")
        self.put(a="b")
        self.committed("put a c", words=("--dry-run",))
        self.refused(self.txn("incr a", words=("--dry-run",)), "line 1", "integer")
        self.assertEqual(self.value("a"), "b")
        self.assertEqual(self.mayfly("txn", "--dry-run", "--json", input=b"del a\n").json,
                         {"operations": 1, "without_effect": 0, "committed": False})

    def test_reads_a_file(self):
        self.write("changes.txt", b"put a b\r\nput c d")
        self.assertEqual(self.done("txn", "changes.txt").text, "committed 2 operations\n")
        self.assertEqual((self.value("a"), self.value("c")), ("b", "d"))

    def test_fails_with_a_reason(self):
        self.refuses_wrong_input("txn", makes_file=True)
        self.refused(self.mayfly("txn", "absent.txt"), "absent.txt", "No such file")
        self.put(a="1")
        self.refuses_unknown_family("txn")
        self.refused(self.mayfly("txn", "--read-only", input=b"put a b\n"), "read-only")
        self.assertIn("Examples:", self.program.run("txn", "--help").text)


if __name__ == "__main__":
    unittest.main()
