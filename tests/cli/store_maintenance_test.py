#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stat, check, compact, backup, sync, checkpoint and clear, with the real program."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from program import FAILED, OK, PATIENCE_S, TestCase

ENTRIES = 2_000


class MaintenanceTestCase(TestCase):
    def load(self, entries=ENTRIES):
        lines = (json.dumps({"key": f"key:{i:04}", "value": "v" * 200}) for i in range(entries))
        self.done("load", "-", input="\n".join(lines).encode())

    @contextlib.contextmanager
    def reader(self):
        """A process that reads, and cannot end before its output is read."""
        with subprocess.Popen([self.program.path, "scan", "--db", self.db],
                              stdout=subprocess.PIPE) as child:
            child.stdout.read(1)
            yield child
            child.stdout.read()
            self.assertEqual(child.wait(PATIENCE_S), 0)


    @contextlib.contextmanager
    def writer(self, commits):
        """A process that has the store open, and has put so many entries into its log."""
        with subprocess.Popen([self.program.path, "shell", "--db", self.db], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            self.ask(child, "put made it")  # straight into the file
            for number in range(commits):
                self.ask(child, f"put key{number} value")
            yield child
            child.stdin.close()
            self.assertEqual(child.wait(PATIENCE_S), 0)

    def ask(self, shell, line):
        shell.stdin.write(f"{line}\nget made\n".encode())
        shell.stdin.flush()
        answer = []
        while not answer or answer[-1] != "it\n":
            answer.append(shell.stdout.readline().decode())
            self.assertNotEqual(answer[-1], "")
        return "".join(answer[:-1])


class StatTest(MaintenanceTestCase):
    def setUp(self):
        super().setUp()
        self.done("cf create", "sessions")
        self.done("cf ttl", "sessions", "30m")
        self.put(a="x", b="x")
        self.done("put", "c", "x", "--ttl", "2h")
        self.done("put", "s", "x", "--cf", "sessions")
        self.put_short_lived("gone")

    def test_tells_of_the_file_and_its_families(self):
        stat = self.done("stat", "--json", "--read-only").json
        self.assertEqual((stat["live"], stat["with_ttl"], stat["expired"]), (4, 2, 1))
        self.assertEqual(stat["file"], self.db)
        self.assertEqual(stat["file_bytes"], os.path.getsize(self.db))
        self.assertGreaterEqual(stat["file_bytes"], stat["pages"] * stat["page_bytes"])
        self.assertGreater(stat["pages"], stat["free_pages"])
        self.assertGreater(stat["last_transaction"], 5)
        self.assertEqual(stat["readers"], [])
        default, sessions = stat["families"]
        self.assertEqual((default["name"], default["live"], default["with_ttl"], default["expired"],
                          default["default_ttl"]), ("default", 3, 1, 1, None))
        self.assertEqual((sessions["name"], sessions["live"], sessions["with_ttl"],
                          sessions["expired"], sessions["default_ttl"]),
                         ("sessions", 1, 1, 0, 1800))

    def test_the_next_deadline_is_that_of_what_still_lives(self):
        stat = self.done("stat", "--json", "--read-only").json
        default, sessions = stat["families"]
        self.assertEqual(default["next"]["deadline_ms"],
                         self.done("ttl", "c", "--json").json["deadline_ms"])
        self.assertEqual(stat["next"], sessions["next"])

    def test_people_get_a_table(self):
        text = self.done("stat", "--read-only").text
        self.assertIn(f"{self.db}: ", text)
        self.assertRegex(text, r"default +3 +1 +1 +in 1h 59m +none")
        self.assertRegex(text, r"sessions +1 +1 +0 +in 29m \d+s +30m")
        self.assertRegex(text, r"all +4 +2 +1 +in 29m")
        self.assertNotIn("\x1b", text)

    def test_other_names(self):
        shown = self.done("stat", "--json", "--read-only").json
        for command in ["stats", "info"]:
            again = self.done(command, "--json", "--read-only", "--reset").json
            self.assertEqual(again["live"], shown["live"])

    def test_readers_are_seen(self):
        self.load()
        with self.reader() as child:
            self.put(more="x")
            readers = self.done("stat", "--json").json["readers"]
            self.assertEqual([(reader["process"], reader["behind"]) for reader in readers],
                             [(child.pid, 1)])
            self.assertRegex(self.done("stat").text, rf"readers.*\n.*\n.*\n +{child.pid} +1\n")
        self.assertEqual(self.done("stat", "--json").json["readers"], [])


class TtlTest(MaintenanceTestCase):
    """What expires when, of entries in several buckets of two families."""

    def setUp(self):
        super().setUp()
        self.done("cf create", 'wei"rd\\')
        self.put(permanent="x")
        self.put_short_lived("gone")
        for key, ttl in {"a": "40m", "b": "50m", "c": "20h", "d": "400d"}.items():
            self.done("put", key, "12345", "--ttl", ttl)
        self.done("put", "s", "x", "--cf", 'wei"rd\\', "--ttl", "6d")

    def filled(self, histogram, what="entries"):
        return {name: count[what] for name, count in histogram["within"].items() if count[what]}

    def test_counts_by_the_time_that_is_left(self):
        stat = self.done("stat", "--ttl", "--json", "--read-only").json
        default, other = stat["families"]
        self.assertEqual(list(stat["ttl"]["within"]),
                         ["1s", "10s", "1m", "10m", "1h", "1d", "1w", "later"])
        self.assertEqual(self.filled(default["ttl"]), {"1h": 2, "1d": 1, "later": 1})
        self.assertEqual(self.filled(other["ttl"]), {"1w": 1})
        self.assertEqual(self.filled(stat["ttl"]), {"1h": 2, "1d": 1, "1w": 1, "later": 1})
        for part in [stat, default, other]:
            self.assertEqual(sum(self.filled(part["ttl"]).values()), part["with_ttl"])
            self.assertEqual(part["ttl"]["overdue"], {"entries": part["expired"], "bytes": None})
        self.assertEqual(stat["ttl"]["oldest_overdue_ms"], default["ttl"]["oldest_overdue_ms"])
        self.assertIsNone(other["ttl"]["oldest_overdue_ms"])
        self.assertNotIn("ttl", self.done("stat", "--json", "--read-only").json)

    def test_counts_bytes_of_keys_and_values(self):
        stat = self.done("stat", "--bytes", "--json", "--read-only").json
        self.assertEqual(self.filled(stat["ttl"], "bytes"),
                         {"1h": 12, "1d": 6, "1w": 2, "later": 6})
        self.assertGreater(stat["ttl"]["overdue"]["bytes"], len("gone"))

    def test_people_get_bars(self):
        text = self.done("stat", "--ttl", "--read-only").text
        self.assertRegex(text, r"\n  1h +2  █{40}\n  1d +1  █{20}\n  1w +1  █{20}\n")
        self.assertRegex(text, r"\n  overdue +1 ")
        self.assertIn("The oldest that is overdue expired at 20", text)
        self.assertRegex(text, r"\n  default +1( +0){4} +2 +1 +0 +1\n")
        self.assertRegex(self.done("stat", "--bytes", "--read-only").text, r"\n  1h +2 +12 B  █")

    def metrics(self, *options):
        """{name and labels: value}, after a check of the form."""
        text = self.done("stat", "--prometheus", "--read-only", *options).text
        if promtool := shutil.which("promtool"):
            checked = subprocess.run([promtool, "check", "metrics"], input=text, text=True,
                                     capture_output=True, check=False)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        family, found = None, {}
        for line in text.splitlines():
            if kind := re.fullmatch(r"# TYPE (mayfly_store_[a-z0-9_]+) (gauge|counter)", line):
                family = kind.group(1)
                self.assertEqual(family.endswith("_total"), kind.group(2) == "counter")
            elif not re.fullmatch(r"# HELP mayfly_store_\w+ [A-Z].*\.", line):
                sample = re.fullmatch(r'(\w+)(\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\}) (\S+)', line)
                self.assertEqual(sample.group(1), family)
                self.assertNotIn(sample.group(1) + sample.group(2), found)
                found[sample.group(1) + sample.group(2)] = float(sample.group(3))
        return found

    def test_prometheus_gets_the_same_numbers(self):
        stat = self.done("stat", "--bytes", "--json", "--read-only").json
        metrics = self.metrics("--bytes")
        file = f'file="{self.db}"'
        for family, name in zip(stat["families"], ["default", 'wei\\"rd\\\\']):
            labels = f'{file},family="{name}"'
            for key, metric in {"live": "entries", "with_ttl": "volatile_entries",
                                "expired": "overdue_entries"}.items():
                self.assertEqual(metrics[f"mayfly_store_{metric}{{{labels}}}"], family[key])
            for within, count in family["ttl"]["within"].items():
                for what in ["entries", "bytes"]:
                    sample = f'mayfly_store_expiring_{what}{{{labels},within="{within}"}}'
                    self.assertEqual(metrics[sample], count[what])
            self.assertEqual(metrics[f"mayfly_store_overdue_bytes{{{labels}}}"],
                             family["ttl"]["overdue"]["bytes"])
            self.assertEqual(
                metrics[f"mayfly_store_next_expiry_timestamp_seconds{{{labels}}}"] * 1000,
                family["next"]["deadline_ms"])
            self.assertEqual(metrics[f"mayfly_store_oldest_overdue_seconds{{{labels}}}"] > 0,
                             family["expired"] > 0)
        for name in ["file_bytes", "map_bytes", "page_bytes", "pages", "free_pages"]:
            self.assertEqual(metrics[f"mayfly_store_{name}{{{file}}}"], stat[name])
        self.assertEqual(metrics[f"mayfly_store_tree_transactions_total{{{file}}}"],
                         stat["last_transaction"])
        self.assertFalse([name for name in self.metrics() if "expiring_bytes" in name])

    def test_what_does_not_go_together(self):
        self.refused(self.mayfly("stat", "--prometheus", "--json"),
                     "either --json or --prometheus")
        for option in ["--ttl", "--bytes", "--prometheus"]:
            self.refused(self.mayfly("stat", "--watch", "1s", option), "--watch shows no deadlines")


class LogTest(MaintenanceTestCase):
    def test_the_log_of_a_store_in_use_is_seen(self):
        with self.writer(10) as child:
            stat = self.done("stat", "--json").json
            self.assertEqual(stat["live"], 11)
            log = stat["log"]
            self.assertGreater(log["bytes"], 0)
            self.assertGreater(log["pending_bytes"], 10 * 40)
            self.assertEqual(log["position"], log["pending_bytes"])
            self.assertGreater(log["table_bytes"], 0)
            self.assertEqual(log["logged_bytes"], 0)  # that is of this process
            self.assertRegex(self.done("stat").text, r"\nLog \d.*B, \d.* pending .*\n\n")
            self.assertRegex(self.ask(child, "stat"), r"\nLog .* pending .*\nLogged here \d.*\n")
            self.assertRegex(self.done("check").text, "^ok: .* 11 rows")
        self.assertFalse(os.path.exists(self.db + "-wal"))
        self.assertNotIn("Log", self.done("stat").text)
        self.assertEqual(self.done("stat", "--json").json["log"]["bytes"], 0)

    def test_what_dies_young_is_counted(self):
        with self.writer(1) as child:
            for number in range(5):
                self.ask(child, f"put young{number} value --ttl 20ms")
            self.wait_until_gone("young4")
            self.ask(child, "put more value")
            self.assertEqual(self.done("checkpoint", "--json").json, {"pending": 7, "applied": 7})
            self.assertEqual(self.done("stat", "--json").json["expired"], 0)

    def test_a_checkpoint_says_how_much_it_did(self):
        with self.writer(10):
            self.assertEqual(self.done("checkpoint").text, "10 of 10 transactions\n")
            self.assertEqual(self.done("stat", "--json").json["log"]["pending_bytes"], 0)
            for mode in ("passive", "full", "restart", "truncate"):
                self.put(more=mode)
                self.assertEqual(self.done("checkpoint", "--mode", mode).text,
                                 "1 of 1 transaction\n")
                self.assertEqual(os.path.exists(self.db + "-wal"), mode != "truncate")
            self.assertEqual(self.done("get", "more").text, "truncate\n")

    def test_only_a_passive_one_does_not_wait_for_a_writer(self):
        with self.writer(10) as child:
            self.ask(child, "begin")
            self.ask(child, "put key0 changed")
            self.refused(self.mayfly("checkpoint", "--timeout", 1), "another transaction")
            self.assertEqual(self.done("checkpoint", "--mode", "passive").text,
                             "0 of 10 transactions\n")
            self.ask(child, "commit")
        self.assertEqual(self.done("get", "key0").text, "changed\n")

    def test_watch_prints_a_line_for_each_interval(self):
        with self.writer(10), subprocess.Popen(
                [self.program.path, "stat", "--db", self.db, "--watch", "100ms", "--json"],
                stdout=subprocess.PIPE) as child:
            lines = [json.loads(child.stdout.readline()) for _ in range(3)]
            child.send_signal(signal.SIGINT)
            child.stdout.read()
            self.assertEqual(child.wait(PATIENCE_S), OK)
        for line in lines:
            self.assertEqual((line["live"], line["logged_per_s"]), (11, 0))
            self.assertGreater(line["pending_bytes"], 0)
        with subprocess.Popen([self.program.path, "stat", "--db", self.db, "--watch", "100ms"],
                              stdout=subprocess.PIPE) as child:
            self.assertIn("logged/s", child.stdout.readline().decode())
            self.assertRegex(child.stdout.readline().decode(), "^ +11 +0 +0 .* 0 B +0 B$")
            child.terminate()
            child.stdout.read()
        self.refused(self.mayfly("stat", "--watch", "soon"), "soon")
        for short in ("0", "0s", "99ms"):
            self.refused(self.mayfly("stat", "--watch", short), "--watch takes at least 100ms")


class CheckTest(MaintenanceTestCase):
    def test_a_sound_file_is_ok(self):
        self.load()
        self.assertRegex(self.done("check").text, r"^ok: \d+ pages and 2000 rows checked\n$")
        report = self.done("check", "--json", "--read-only").json
        self.assertEqual(report, report | {"ok": True, "rows": ENTRIES, "problems": []})
        self.assertGreater(report["pages"], 10)

    def test_a_check_leaves_the_log_of_a_dead_process_alone(self):
        with self.writer(10) as child:
            child.kill()
            child.wait(PATIENCE_S)
            with open(self.db + "-wal", "rb") as file:
                log = file.read()
            self.assertRegex(self.done("check").text, "^ok: .* 11 rows")
            with open(self.db + "-wal", "rb") as file:
                self.assertEqual(file.read(), log)
            self.assertEqual(self.done("count").text, "11\n")
            self.assertFalse(os.path.exists(self.db + "-wal"))
            child.returncode = 0

    def test_damage_is_told_and_exit_code_1(self):
        self.load()
        with open(self.db, "r+b") as file:
            content = file.read()
            self.assertIn(b"key:1000", content)
            file.seek(0)
            file.write(content.replace(b"key:1000", b"\xffey:1000"))
        outcome = self.mayfly("check")
        self.assertEqual((outcome.code, outcome.text), (FAILED, ""))
        self.assertIn(f"{self.db} is damaged: ", outcome.errors)
        self.assertGreaterEqual(len(outcome.errors.splitlines()), 2)
        outcome = self.mayfly("check", "--json")
        self.assertEqual((outcome.code, outcome.errors, outcome.json["ok"]), (FAILED, "", False))
        self.assertGreaterEqual(len(outcome.json["problems"]), 1)

    def test_what_cannot_be_opened_is_damaged_too(self):
        self.write("test.db", b"x" * 8192)
        outcome = self.mayfly("check", "--json")
        self.assertEqual((outcome.code, outcome.json["ok"]), (FAILED, False))
        self.assertIn("not a store", outcome.json["problems"][0])
        self.refused(self.mayfly("check"), "not a store", "is damaged: 1 problem")


class CompactTest(MaintenanceTestCase):
    def test_makes_the_file_smaller(self):
        self.load()
        self.done("del", "--prefix", "key:1")
        before = os.path.getsize(self.db)
        found = self.done("compact", "--json").json
        after = os.path.getsize(self.db)
        self.assertEqual(found, {"before_bytes": before, "after_bytes": after})
        self.assertLess(after, before * 3 // 4)
        self.assertEqual(self.done("count").text, "1000\n")
        self.assertEqual(self.done("check", "--json").json["ok"], True)

    def test_says_both_sizes(self):
        self.load()
        self.assertRegex(self.done("vacuum", "--pages", "7").text,
                         r"^\d+\.\d [KM]B -> \d+\.\d [KM]B\n$")

    def test_needs_the_store_for_itself(self):
        self.load()
        with self.reader():
            self.refused(self.mayfly("compact"), "another process")
        self.refused(self.mayfly("compact", "--read-only"), "read-only")


class BackupTest(MaintenanceTestCase):
    def test_a_backup_is_a_store_with_the_same_content(self):
        self.load()
        self.done("cf create", "sessions")
        self.done("put", "s", "x", "--cf", "sessions", "--ttl", "2100-01-01T00:00Z")
        copy = self.path("copy.db")
        self.assertRegex(self.done("backup", copy).text, rf"^{copy}: \d+\.\d [KM]B\n$")
        self.assertEqual(self.program.run("scan", "--db", copy), self.done("scan"))
        sessions = self.program.run("scan", "--cf", "sessions", "--ttl", "--json", "--db", copy)
        self.assertEqual((sessions.json["key"], sessions.json["deadline_ms"]),
                         ("s", 4_102_444_800_000))
        self.assertEqual(self.program.run("check", "--db", copy).code, OK)
        self.assertFalse(os.path.exists(copy + ".part"))

    def test_works_while_others_read_and_says_how_large_it_is(self):
        self.load()
        with self.reader():
            found = self.done("backup", self.path("copy.db"), "--json", "--read-only").json
        self.assertEqual(found, {"file": self.path("copy.db"),
                                 "bytes": os.path.getsize(self.path("copy.db"))})

    def test_what_is_there_is_left_alone(self):
        self.put(name="alice")
        self.refused(self.mayfly("backup", self.write("there", b"mine")), "there", "already exists")
        self.refused(self.mayfly("backup", self.db), "already exists")
        self.refused(self.mayfly("backup", self.folder), "already exists")
        with open(self.path("there"), "rb") as file:
            self.assertEqual(file.read(), b"mine")

    def test_places_where_nothing_can_be_written(self):
        self.put(name="alice")
        self.refused(self.mayfly("backup", self.path("no/where.db")), "no/where.db")
        self.refused(self.mayfly("backup", ""), "FILE")
        self.refused(self.mayfly("backup"), "FILE")


class SyncTest(MaintenanceTestCase):
    def test_does_it_without_a_word(self):
        self.put(name="alice")
        self.assertEqual(self.done("sync").text, "")
        self.assertEqual(self.done("sync", "--json").json, {"synced": True})
        self.assertEqual(self.done("get", "name").text, "alice\n")


class ClearTest(MaintenanceTestCase):
    def test_removes_all_of_a_family_and_says_how_many(self):
        self.done("cf create", "sessions")
        self.done("put", "s", "x", "--cf", "sessions")
        self.put(a="x", b="x")
        self.put_short_lived("gone")
        self.assertEqual(self.done("clear").text, "2\n")
        self.assertEqual(self.done("list").text, "")
        self.assertEqual(self.done("stat", "--json").json["expired"], 0)
        self.assertEqual(self.done("list", "--cf", "sessions").lines, ["s"])
        self.assertEqual(self.done("clear", "--cf", "sessions", "--json").json, {"removed": 1})
        self.assertEqual(self.done("cf list").lines, ["sessions"])

    def test_not_read_only(self):
        self.put(a="x")
        self.refused(self.mayfly("clear", "--read-only"), "read-only")
        self.refuses_unknown_family("clear")
        self.assertEqual(self.done("count").text, "1\n")


class WrongInputTest(MaintenanceTestCase):
    def test_every_command(self):
        for command in ["stat", "check", "compact", "backup", "sync", "checkpoint", "clear"]:
            words = ("copy",) if command == "backup" else ()
            with self.subTest(command):
                self.refuses_wrong_input(command, *words)
                self.refused(self.mayfly(command, *words, "word", "more"), "word")
                self.assertIn(f"Examples:\n  mayfly {command}",
                              self.program.run(command, "--help").text)
        self.refused(self.program.run("compat"), "compat", "compact")


if __name__ == "__main__":
    unittest.main()
