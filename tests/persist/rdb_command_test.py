#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `mayfly rdb` on files of other servers, on damaged ones and on what is no file of any."""

import base64
import json
import os
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["MAYFLY"]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden")


def run(*words):
    command = [PROGRAM, "rdb", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def golden(name):
    return os.path.join(GOLDEN, name)


def said(name):
    with open(golden(name), encoding="utf-8") as file:
        return json.load(file)


def as_bytes(text):
    """The bytes that a string of the dump stands for, as the Latin-1 text of the golden files."""
    if isinstance(text, dict):
        return base64.b64decode(text["base64"]).decode("latin-1")
    return text.encode("utf-8").decode("latin-1")


class RdbCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, content):
        path = os.path.join(self.folder, "file.rdb")
        with open(path, "wb") as file:
            file.write(content)
        return path

    def assert_done(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_refused(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_says_what_is_in_a_file(self):
        text = self.assert_done(run(golden("valkey9.rdb")))
        for part in ["RDB version 80, written by Valkey 255.255.255",
                     "66753 bytes, no damage found",
                     "Keys by database: 0: 22 3: 1", "3 keys and 605 members have a TTL",
                     "already expired: 0 and 0", "Largest keys", "hfe:large"]:
            self.assertIn(part, text)
        self.assertRegex(text, r"hash +8 +1618 ")
        self.assertRegex(text, r"more +3 +605 +█+")
        self.assertNotIn("\x1b", text)

    def test_says_the_same_as_json(self):
        data = json.loads(self.assert_done(run(golden("redis74.rdb"), "--json")))
        self.assertEqual((data["version"], data["bytes"]), (12, 62881))
        self.assertEqual(data["types"]["string"]["keys"], 9)
        self.assertEqual(data["types"]["hash"]["elements"], 1618)
        self.assertEqual((data["keys_with_deadline"], data["members_with_deadline"]), (3, 605))
        self.assertEqual([row["left"] for row in data["ttl"]][0], "due")
        self.assertEqual(data["databases"], {"0": 22, "3": 1})
        self.assertEqual(data["largest"][0]["key"], "hfe:large")

    def test_dumps_every_key_with_its_value_and_deadlines(self):
        for name in ["redis70", "redis70_types", "redis74", "valkey9", "valkey9_types"]:
            expected = said(name + ".json")
            expected.pop("function:lib", None)
            lines = self.assert_done(run(golden(name + ".rdb"), "--dump")).splitlines()
            self.assertEqual(len(lines), len(expected))
            for line in lines:
                self.check_line(json.loads(line), expected)

    def check_line(self, found, expected):
        name = as_bytes(found["key"])
        entry = expected[name if found["db"] == 0 else f"{found['db']}:{name}"]
        self.assertEqual(found["type"], entry["type"])
        self.assertEqual(found.get("deadline_ms", -1), entry["deadline_ms"])
        if found["type"] == "string":
            self.assertEqual(as_bytes(found["value"]), entry["value"])
        elif found["type"] == "hash":
            fields = {as_bytes(f["field"]): as_bytes(f["value"]) for f in found["fields"]}
            self.assertEqual(fields, entry["value"])
            deadlines = {as_bytes(f["field"]): f["deadline_ms"]
                         for f in found["fields"] if "deadline_ms" in f}
            self.assertEqual(deadlines, entry.get("field_deadline_ms", {}))
        elif found["type"] == "set":
            self.assertEqual(sorted(as_bytes(m["member"]) for m in found["members"]),
                             sorted(entry["value"]))
        elif found["type"] == "zset":
            scores = {as_bytes(m["member"]): float(m["score"]) for m in found["members"]}
            self.assertEqual(scores, {name: float(score) for name, score in entry["value"]})
        elif found["type"] == "list":
            self.assertEqual([as_bytes(element) for element in found["elements"]], entry["value"])
        else:
            self.check_stream(found, entry)

    def check_stream(self, found, entry):
        entries = [[one["id"], [as_bytes(word) for field in one["fields"]
                                for word in (field["field"], field["value"])]]
                   for one in found["entries"]]
        self.assertEqual(entries, entry["value"])
        for name in ("last_id", "max_deleted_id", "entries_added"):
            self.assertEqual(found[name], entry[name])
        groups = [{"name": as_bytes(group["group"]), "last_id": group["last_id"],
                   "entries_read": group.get("entries_read", -1),
                   "consumers": [{"name": as_bytes(one["consumer"]), "seen_ms": one["seen_ms"],
                                  "active_ms": one.get("active_ms", -1)}
                                 for one in group["consumers"]],
                   "pending": [{**one, "consumer": as_bytes(one["consumer"])}
                               for one in group["pending"]]}
                  for group in found["groups"]]
        self.assertEqual(groups, entry["groups"])

    def test_looks_only_at_keys_that_match(self):
        dump = self.assert_done(run(golden("valkey9.rdb"), "--dump", "--keys", "str:[bi]*"))
        keys = sorted(json.loads(line)["key"] for line in dump.splitlines())
        self.assertEqual(keys, ["str:big", "str:bin", "str:int"])
        data = json.loads(self.assert_done(run(golden("valkey9.rdb"), "--keys", "h*", "--json")))
        self.assertEqual(list(data["types"]), ["hash"])

    def test_checks_a_file_in_json(self):
        path = golden("redis70_types.rdb")
        found = json.loads(self.assert_done(run(path, "--check", "--json")))
        self.assertEqual((found["file"], found["ok"], found["problem"]), (path, True, None))
        self.assertEqual(found["bytes"], os.path.getsize(path))
        with open(path, "rb") as file:
            damaged = self.write(file.read()[:-20])
        done = run(damaged, "--check", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(json.loads(done.stdout)["ok"])
        self.assertIn(damaged, json.loads(done.stdout)["problem"])

    def test_help_says_of_which_types_the_values_are_printed(self):
        text = " ".join(run("--help").stdout.split())
        self.assertIn("keys of every type with all that they hold", text)

    def test_checks_a_sound_file(self):
        text = self.assert_done(run(golden("redis70_types.rdb"), "--check"))
        self.assertIn("ok, 7 keys, 7252 bytes", text)

    def test_counts_lists_streams_and_functions(self):
        data = json.loads(self.assert_done(run(golden("redis70_types.rdb"), "--json")))
        self.assertEqual(data["functions"], 1)
        self.assertEqual(data["types"]["list"]["elements"], 616)
        self.assertEqual(data["types"]["stream"]["elements"], 299)

    def test_tells_what_is_due(self):
        past = b"\xfc" + struct.pack("<q", 1000) + b"\x00\x01k\x01v"
        path = self.write(b"REDIS0010" + past + b"\xff" + bytes(8))
        self.assertIn("1 keys and 0 members have a TTL; already expired: 1 and 0",
                      self.assert_done(run(path)))

    def test_prints_bytes_that_are_not_text(self):
        path = self.write(b"REDIS0010\x00\x01\xfe\x02\"\xc3\xff" + bytes(8))
        self.assertEqual(json.loads(self.assert_done(run(path, "--dump"))),
                         {"db": 0, "key": {"base64": "/g=="}, "type": "string",
                          "value": {"base64": "IsM="}})
        data = json.loads(self.assert_done(run(path, "--json")))
        self.assertEqual(data["largest"][0]["key"], {"base64": "/g=="})

    def test_says_where_a_file_is_damaged(self):
        with open(golden("valkey9.rdb"), "rb") as file:
            content = file.read()
        for words in [[], ["--check"], ["--json"]]:
            self.assert_refused(run(self.write(content[:5000]), *words),
                                "damaged at offset", "in key 'str:big' at offset 91")
            self.assert_refused(run(self.write(content[:-9]), *words), "the file ends")
            flipped = bytearray(content)
            flipped[-1] ^= 1
            self.assert_refused(run(self.write(flipped), *words), "the checksum is wrong")

    def test_finds_a_field_that_is_there_twice(self):
        twice = b"REDIS0010\x04\x01h\x02\x01f\x011\x01f\x012\xff" + bytes(8)
        self.assert_refused(run(self.write(twice), "--check"), "duplicate", "key 'h' at offset 9")

    def test_knows_deadlines_of_members(self):
        far = struct.pack("<q", 4_102_444_800_123)
        never, score = struct.pack("<q", -1), struct.pack("<d", float("inf"))
        path = self.write(b"VALKEY080\xc8\x01s\x02\x01a" + far + b"\x01b" + never
                          + b"\xc9\x01z\x01\x01a" + score + far + b"\xff" + bytes(8))
        lines = self.assert_done(run(path, "--dump")).splitlines()
        self.assertEqual([json.loads(line) for line in lines], [
            {"db": 0, "key": "s", "type": "set", "members": [
                {"member": "a", "deadline_ms": 4_102_444_800_123}, {"member": "b"}]},
            {"db": 0, "key": "z", "type": "zset", "members": [
                {"member": "a", "score": "inf", "deadline_ms": 4_102_444_800_123}]}])
        self.assertIn("0 keys and 2 members have a TTL", self.assert_done(run(path)))
        self.assertIn("ok, 2 keys", self.assert_done(run(path, "--check")))

    def test_finds_damage_in_sets(self):
        def check(value, *parts):
            path = self.write(b"REDIS0010" + value + b"\xff" + bytes(8))
            self.assert_refused(run(path, "--check"), "key 'k' at offset 9", *parts)

        check(b"\x02\x01k\x02\x01a\x01a", "duplicate member in a set")
        check(b"\x0b\x01k\x0c\2\0\0\0\2\0\0\0\2\0\1\0", "do not ascend")
        check(b"\x05\x01k\x01\x01a" + struct.pack("<d", float("nan")), "not a number")
        check(b"\x03\x01k\x01\x01a\x03one", "a score of 'one'")

    def test_refuses_what_is_no_rdb_file(self):
        self.assert_refused(run(os.path.join(self.folder, "none")), "No such file")
        self.assert_refused(run(self.folder), "is a directory")
        self.assert_refused(run(self.write(b"")), "not an RDB file")
        self.assert_refused(run(self.write(b"*1\r\n$4\r\nPING\r\n")), "not an RDB file")
        self.assert_refused(run(self.write(b"REDIS0099")), "REDIS0099 is not supported")

    def test_refuses_wrong_words(self):
        self.assert_refused(run(), "requires FILE")
        self.assert_refused(run(golden("redis70.rdb"), "--chek"), "did you mean '--check'?")
        self.assert_refused(run(golden("redis70.rdb"), "--check", "--dump"), "--check")

    def test_helps_with_examples(self):
        text = self.assert_done(run("--help"))
        self.assertIn("mayfly rdb dump.rdb --check", text)


if __name__ == "__main__":
    unittest.main()
