#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly import: from real servers into stores and servers, interrupted ones included."""

import os
import signal
import socket
import threading
import unittest

import program
from server_copy import (FAR, Mayfly, Redis, ServerCase, await_that, free_port, server_contents)

MANY = 20_000


def member(key, name):
    return len(key).to_bytes(4, "big") + key + name


class IntoStoreTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.redis = self.start(Redis)
        self.client = self.redis.client()

    def import_all(self, *words):
        return self.copied("import", self.url(self.redis), "--db", self.db, *words)

    def test_every_type_has_its_family_and_members_have_the_deadline_of_their_key(self):
        ask = self.client.ok
        ask("SET", b"\x00\xff", b"\xfe\x00", "PXAT", FAR)
        ask("SET", "forever", "")
        ask("HSET", "h", "a", "1", "", "2")
        ask("PEXPIREAT", "h", FAR + 1)
        ask("SADD", "s", "x", "y")
        ask("ZADD", "z", "3.14", "pi", "-inf", "low")
        ask("RPUSH", "l", "c", "a", "a")
        ask("XADD", "x", "1-2", "f", "v")
        summary = self.import_all()

        found = self.store_contents()
        state, moment = found.pop(("stream", member(b"x", b"")))
        self.assertEqual((state[0], moment), (19, None), "a payload of DUMP")
        self.assertEqual(found, {
            ("default", b"\x00\xff"): (b"\xfe\x00", FAR),
            ("default", b"forever"): (b"", None),
            ("hash", member(b"h", b"a")): (b"1", FAR + 1),
            ("hash", member(b"h", b"")): (b"2", FAR + 1),
            ("set", member(b"s", b"x")): (b"", None),
            ("set", member(b"s", b"y")): (b"", None),
            ("zset", member(b"z", b"pi")): (b"3.14", None),
            ("zset", member(b"z", b"low")): (b"-inf", None),
            ("list", member(b"l", bytes(7) + b"\0")): (b"c", None),
            ("list", member(b"l", bytes(7) + b"\1")): (b"a", None),
            ("list", member(b"l", bytes(7) + b"\2")): (b"a", None),
            ("stream", member(b"x", bytes(7) + b"\1" + bytes(7) + b"\2")):
                (b"\0\0\0\1f\0\0\0\1v", None),
        })
        numbers = {"keys": 7, "strings": 2, "hashes": 1, "sets": 1, "zsets": 1, "lists": 1,
                   "streams": 1, "members": 10, "keys_with_deadline": 2, "skipped": {}}
        self.assertEqual({name: summary[name] for name in numbers}, numbers)
        self.assertFalse(os.path.exists(self.db + ".import"))

    def test_what_was_imported_is_shown_as_fields_members_and_elements(self):
        ask = self.client.ok
        ask("HSET", "user:1", "name", "Alice", "age", "30")
        ask("PEXPIREAT", "user:1", FAR)
        ask("SADD", "s", "x", "y")
        ask("ZADD", "z", "3.5", "pi")
        ask("RPUSH", "l", "c", "a", b"\xff")
        ask("XADD", "x", "1-2", "f", "v", "g", b"\xff")
        ask("XADD", "x", "3-4", "f", "w")
        ask("SET", "plain", "text")
        self.import_all()

        self.assertEqual(self.done("get", "user:1").lines, ["age\t30", "name\tAlice"])
        self.assertEqual(self.done("get", "--cf", "hash", "user:1").lines,
                         ["age\t30", "name\tAlice"])
        self.assertEqual(self.done("get", "s").lines, ["x", "y"])
        self.assertEqual(self.done("get", "z").lines, ["pi\t3.5"])
        self.assertEqual(self.done("get", "l").lines, ["c", "a", "<hex:ff>"])
        self.assertEqual(self.done("get", "x").lines, ["1-2\tf\tv\tg\t<hex:ff>", "3-4\tf\tw"])
        entry = self.done("get", "x", "--json").json["entries"][1]
        self.assertEqual((entry["id"], entry["fields"]), ("3-4", [{"field": "f", "value": "w"}]))
        self.assertEqual(self.done("scan", "--cf", "stream", "--json").json_lines[1],
                         {"key": "x", "id": "1-2", "fields": [
                             {"field": "f", "value": "v"},
                             {"field": "g", "value": {"base64": "/w=="}}]})
        found = self.done("get", "user:1", "--json").json
        self.assertEqual((found["key"], found["type"], found["fields"][0]["field"],
                          found["fields"][0]["value"], found["fields"][0]["deadline_ms"]),
                         ("user:1", "hash", "age", "30", FAR))
        self.assertEqual(self.done("get", "l", "--json").json["elements"][0]["index"], 0)
        self.assertEqual(self.done("scan", "--cf", "hash").lines,
                         ["user:1\tage\t30", "user:1\tname\tAlice"])
        self.assertEqual(self.done("list", "--cf", "hash", "--limit", "1").lines, ["user:1\tage"])
        self.assertEqual(self.done("scan", "--cf", "set").lines, ["s\tx", "s\ty"])
        self.assertEqual(self.done("scan", "--cf", "list").lines,
                         ["l\t0\tc", "l\t1\ta", "l\t2\t<hex:ff>"])
        self.assertEqual(self.done("scan", "--cf", "zset", "--json").json,
                         {"key": "z", "member": "pi", "score": "3.5"})
        self.assertEqual(self.done("scan", "--cf", "hash", "--hex", "--limit", "1").text,
                         member(b"user:1", b"age").hex() + "\t3330\n")
        self.assertEqual(self.done("expiring", "--to", "2200-01-01", "--cf", "hash", "--json")
                         .json_lines[0]["field"], "age")

        self.assertEqual(self.done("exists", "user:1").text, "true\n")
        self.refused(self.mayfly("ttl", "user:1"), "an imported hash")
        self.refused(self.mayfly("get", "user:1", "--raw"), "an imported hash")
        lines = self.done("shell", input=b"get user:1\nexists s\ncf use hash\nscan\n").lines
        self.assertEqual(lines, ["age\t30", "name\tAlice", "true", "user:1\tage\t30",
                                 "user:1\tname\tAlice"])
        self.done("del", "user:1")
        self.not_found(self.mayfly("get", "user:1"))
        self.assertEqual(self.done("count", "--cf", "hash").text, "0\n")

    def test_importing_again_replaces_whole_keys_whatever_type_they_had(self):
        self.client.ok("HSET", "k", "old", "1", "same", "1")
        self.client.ok("RPUSH", "l", "a", "b")
        self.import_all()
        self.client.ok("HDEL", "k", "old")
        self.client.ok("DEL", "l")
        self.client.ok("SET", "l", "now a string")
        self.import_all()
        self.assertEqual(self.store_contents(), {
            ("hash", member(b"k", b"same")): (b"1", None),
            ("default", b"l"): (b"now a string", None)})

    def test_if_absent_keeps_what_the_store_has(self):
        self.client.ok("SET", "k", "source")
        self.client.ok("HSET", "h", "f", "source")
        self.import_all()
        self.client.ok("SET", "k", "changed")
        self.client.ok("HSET", "h", "g", "more")
        self.client.ok("SET", "new", "1")
        summary = self.import_all("--if-absent")
        self.assertEqual((summary["keys"], summary["kept"]), (1, 2))
        self.assertEqual(self.store_contents(), {
            ("default", b"k"): (b"source", None), ("default", b"new"): (b"1", None),
            ("hash", member(b"h", b"f")): (b"source", None)})

    def test_a_family_and_a_pattern_can_be_chosen(self):
        self.client.ok("MSET", "a:1", "1", "b:1", "2")
        self.client.ok("HSET", "a:h", "f", "v")
        self.import_all("--cf", "old", "--match", "a:*")
        self.assertEqual(self.store_contents(), {
            ("old", b"a:1"): (b"1", None), ("old.hash", member(b"a:h", b"f")): (b"v", None)})

    def test_large_keys_are_read_in_pages(self):
        numbers = [str(i).encode() for i in range(3000)]
        self.client.ok("RPUSH", "l", *numbers)
        self.client.ok("SADD", "s", *(b"m" + number for number in numbers))
        self.client.ok("HSET", "h", *(word for number in numbers for word in (number, number)))
        self.assertEqual(self.import_all()["members"], 9000)
        found = self.store_contents()
        elements = [found["list", member(b"l", i.to_bytes(8, "big"))][0] for i in range(3000)]
        self.assertEqual(elements, numbers)
        self.assertEqual(len(found), 9000)

    def test_strict_makes_an_error_of_what_cannot_be_copied(self):
        self.client.ok("SET", "k" * 70_000, "v")
        outcome = self.program.run("import", self.url(self.redis), "--db", self.db, "--strict")
        self.refused(outcome, "kkk", "too long", "--strict")

    def test_text_says_what_was_copied(self):
        self.fill(self.client, 100)
        outcome = self.program.run("import", self.url(self.redis), "--db", self.db)
        self.assertEqual(outcome.code, program.OK)
        self.assertRegex(outcome.text, r"Copied 105 keys from redis://127.0.0.1:\d+/0 to .*test.db")
        self.assertRegex(outcome.text, r"(?m)^ +100  strings\n +5  hashes\n +10  fields")


class OldServerTest(ServerCase):
    """One without PEXPIRETIME: deadlines are computed from what is left."""

    def test_deadlines_are_never_early_and_hardly_late(self):
        redis = self.start(Redis, "--rename-command", "PEXPIRETIME", "")
        client = redis.client()
        client.pipeline(("SET", i, i, "PXAT", FAR + i) for i in range(500))
        self.copied("import", self.url(redis), "--db", self.db)
        late = [moment - FAR - int(key)
                for (_, key), (_, moment) in self.store_contents().items()]
        self.assertEqual(len(late), 500)
        self.assertGreaterEqual(min(late), 0)
        self.assertLess(sorted(late)[250], 5)


class FieldDeadlinesTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.mayfly_server = self.start(Mayfly)
        client = self.mayfly_server.client()
        client.ok("HSET", "h", "own", "1", "none", "2")
        client.ok("HPEXPIREAT", "h", FAR, "FIELDS", 1, "own")
        client.ok("HSET", "both", "own", "1", "key's", "2")
        client.ok("PEXPIREAT", "both", FAR + 7)
        client.ok("HPEXPIREAT", "both", FAR, "FIELDS", 1, "own")
        client.ok("SET", "s", "v", "PXAT", FAR)
        self.before = server_contents(client)

    def test_fields_keep_their_deadlines_in_a_store(self):
        summary = self.copied("import", self.url(self.mayfly_server), "--db", self.db)
        self.assertEqual(summary["members_with_deadline"], 2)
        self.assertEqual(self.store_contents(), {
            ("default", b"s"): (b"v", FAR),
            ("hash", member(b"h", b"own")): (b"1", FAR),
            ("hash", member(b"h", b"none")): (b"2", None),
            ("hash", member(b"both", b"own")): (b"1", FAR),
            ("hash", member(b"both", b"key's")): (b"2", FAR + 7)})

    def test_fields_keep_their_deadlines_in_a_server(self):
        target = self.start(Mayfly)
        target.client().ok("HSET", "h", "left over", "1")
        self.copied("import", self.url(self.mayfly_server), "--to", self.url(target))
        self.assertEqual(server_contents(target.client()), self.before)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_server_without_field_deadlines_is_an_error_unless_they_may_be_dropped(self):
        target = self.start(Redis)
        words = ("import", self.url(self.mayfly_server), "--to", self.url(target))
        self.refused(self.program.run(*words), "--without-member-ttl", "fields with TTLs")
        self.assertEqual(self.copied(*words, "--without-member-ttl")["deadlines_dropped"], 2)
        self.assertEqual(server_contents(target.client())[b"both"],
                         ("hash", {b"own": b"1", b"key's": b"2"}, FAR + 7, {}))


class IntoServerTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.source = self.start(Redis)
        self.client = self.source.client()

    def test_all_types_go_from_redis_to_redis(self):
        self.client.ok("SET", "s", "v", "PXAT", FAR)
        self.client.ok("HSET", "h", "a", "1")
        self.client.ok("PEXPIREAT", "h", FAR)
        self.client.ok("SADD", "t", "x", "y")
        self.client.ok("ZADD", "z", "0.1", "x", "inf", "y")
        self.client.ok("RPUSH", "l", *range(2500))
        self.fill_stream(self.client, "x")
        self.client.ok("PEXPIREAT", "x", FAR)
        self.client.ok("XGROUP", "CREATE", "empty", "g", "$", "MKSTREAM")
        self.client.ok("PFADD", "hll", *range(100))
        self.client.ok("SELECT", 1)
        self.client.ok("SET", "l", "another type", "PXAT", FAR)
        self.copied("import", self.url(self.source), "--to", self.url(self.source, 1))
        self.assertEqual(server_contents(self.client, 1), server_contents(self.client, 0))

    def test_all_types_go_from_redis_to_mayfly_and_back(self):
        ours = self.start(Mayfly)
        self.client.ok("RPUSH", "l", *range(2500), "x" * 9000)
        self.fill_stream(self.client, "x")
        self.client.ok("PFADD", "hll", *range(100))
        before = server_contents(self.client)
        self.copied("import", self.url(self.source), "--to", self.url(ours))
        self.assertEqual(server_contents(ours.client()), before)
        self.assertEqual(ours.client().ok("PFCOUNT", "hll"), self.client.ok("PFCOUNT", "hll"))
        # What this group has seen last is no longer when it was active.
        ours.client().ok("XREADGROUP", "GROUP", b"\x00\xff", "eve", "STREAMS", "x", ">")
        before = server_contents(ours.client())
        self.copied("import", self.url(ours), "--to", self.url(self.source))
        self.assertEqual(server_contents(self.client), before)

    def test_a_whole_server_is_all_its_databases_and_functions(self):
        library = "#!lua name=%s\nredis.register_function('%s', function() return '%s' end)"
        for database in (0, 3, 15):
            self.client.ok("SELECT", database)
            self.client.pipeline(("SET", f"k{i}", f"{database}", "PXAT", FAR) for i in range(1500))
            self.client.ok("HSET", "h", "f", database)
        self.client.ok("SELECT", 0)
        self.client.ok("FUNCTION", "LOAD", library % ("one", "f", "new"))
        self.client.ok("FUNCTION", "LOAD", library % ("two", "g", "v"))
        target = self.start(Mayfly)
        theirs = target.client()
        theirs.ok("FUNCTION", "LOAD", library % ("one", "f", "old"))
        source, to = (self.url(server)[:-2] for server in (self.source, target))
        summary = self.copied("import", source, "--to", to)
        self.assertEqual((summary["keys"], summary["not_copied"]), (4503, []))
        for database in (0, 3, 15):
            self.assertEqual(server_contents(theirs, database),
                             server_contents(self.client, database))
        self.assertEqual((theirs.ok("FCALL", "f", 0), theirs.ok("FCALL", "g", 0)), (b"new", b"v"))

        self.refused(self.program.run("import", source, "--to", self.url(target, 2)),
                     "3 databases", to)
        self.refused(self.program.run("import", source, "--to", self.url(self.source, 1)), "same")
        small = self.start(Mayfly, "--databases", "4")
        self.refused(self.program.run("import", source, "--to", self.url(small)[:-2]),
                     "database 15", "databases")

    def test_what_is_not_copied_is_named(self):
        library = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        self.client.ok("FUNCTION", "LOAD", library)
        self.client.ok("SET", "k", "v")
        self.client.ok("SELECT", 7)
        self.client.ok("MSET", "a", "1", "b", "2")
        target = self.start(Mayfly)
        others = [f"database 7 with 2 keys: {self.url(self.source, 7)}",
                  'library of functions "lib"']
        summary = self.copied("import", self.url(self.source), "--to", self.url(target))
        self.assertEqual((summary["keys"], summary["not_copied"]), (1, others))
        whole = self.url(self.source)[:-2]
        summary = self.copied("import", whole, "--db", self.db)
        self.assertEqual((summary["keys"], summary["not_copied"]), (1, others))
        text = self.program.run("import", whole, "--db", self.db).text
        self.assertIn(f"Not copied: {others[0]}\n", text)

        to = self.url(target)[:-2]
        summary = self.copied("import", whole, "--to", to, "--without-functions")
        self.assertEqual((summary["keys"], summary["not_copied"]), (3, others[1:]))
        target.client().ok("FUNCTION", "LOAD", library)
        summary = self.copied("import", whole, "--to", to, "--if-absent")
        self.assertEqual(summary["not_copied"],
                         [f"{others[1]}: the target has one of this name"])
        old = self.start(Redis, "--rename-command", "FUNCTION", "")
        words = ("import", whole, "--to", self.url(old)[:-2])
        summary = self.copied(*words)
        self.assertEqual((summary["keys"], len(summary["not_copied"])), (3, 1))
        self.refused(self.program.run(*words, "--strict"),
                     "library of functions", "--without-functions")

    def test_a_replica_without_its_primary_is_a_source_and_the_summary_says_so(self):
        self.client.ok("SET", "k", "v")
        self.client.ok("REPLICAOF", "127.0.0.1", 1)
        self.client.ok("CONFIG", "SET", "replica-serve-stale-data", "no")
        words = ("import", self.url(self.source), "--db", self.db)
        self.refused(self.program.run(*words), "MASTERDOWN", "replica-serve-stale-data yes")
        self.client.ok("CONFIG", "SET", "replica-serve-stale-data", "yes")
        summary = self.copied(*words)
        self.assertEqual(summary["keys"], 1)
        self.assertRegex(summary["not_copied"][0], "^newer writes, .*without a connection")

    def test_what_the_user_of_the_source_may_not_see_is_named(self):
        self.client.ok("SET", "k", "v")
        self.client.ok("ACL", "SETUSER", "reader", "on", ">p", "~*", "+@all", "-info", "-function")
        place = self.url(self.source)[:-2].removeprefix("redis://")
        target = self.url(self.start(Mayfly))[:-2]
        for words in (("--to", target), ("--db", self.db),
                      ("--to", target, "--without-functions")):
            summary = self.copied("import", f"redis://reader:p@{place}", *words)
            self.assertEqual(summary["keys"], 1)
            databases, slots, libraries = summary["not_copied"]
            self.assertRegex(databases, "^other databases, if there are any: INFO .*NOPERM")
            self.assertRegex(slots, "^slots of other nodes, if there are any: INFO .*NOPERM")
            self.assertRegex(libraries, "^libraries of functions, if there are any: FUNCTION .*NOP")
        self.refused(self.program.run("import", f"redis://reader:p@{place}", "--to", target,
                                      "--strict"), "libraries of functions", "NOPERM")

    def test_types_that_the_target_does_not_have_are_skipped_and_counted(self):
        target = self.start(Redis, "--rename-command", "XADD", "")
        self.client.ok("XADD", "x", "1-1", "f", "v")
        self.client.ok("SET", "s", "v")
        summary = self.copied("import", self.url(self.source), "--to", self.url(target))
        self.assertEqual((summary["keys"], sum(summary["skipped"].values())), (1, 1))
        self.assertIn("stream", next(iter(summary["skipped"])))

    def test_a_stream_that_the_source_does_not_dump_is_skipped_and_counted(self):
        source = self.start(Redis, "--rename-command", "DUMP", "")
        source.client().ok("XADD", "x", "1-1", "f", "v")
        summary = self.copied("import", self.url(source), "--to", self.url(self.source))
        self.assertEqual((summary["keys"], sum(summary["skipped"].values())), (0, 1))
        self.assertIn("DUMP", next(iter(summary["skipped"])))

    def test_if_absent_keeps_what_the_server_has(self):
        self.client.ok("MSET", "k", "source", "new", "1")
        self.client.ok("HSET", "h", "f", "source")
        target = self.start(Mayfly)
        theirs = target.client()
        theirs.ok("MSET", "k", "theirs", "h", "theirs")
        summary = self.copied("import", self.url(self.source), "--to", self.url(target),
                              "--if-absent")
        self.assertEqual((summary["keys"], summary["kept"]), (1, 2))
        self.assertEqual(theirs.ok("MGET", "k", "h", "new"), [b"theirs", b"theirs", b"1"])

    def test_a_full_target_and_a_replica_are_errors_with_advice(self):
        self.client.pipeline(("SET", i, "x" * 10_000) for i in range(500))
        full = self.start(Redis, "--maxmemory", "2mb")
        words = ("import", self.url(self.source), "--to")
        self.refused(self.program.run(*words, self.url(full)), "OOM", "maxmemory")
        replica = self.start(Redis, "--replicaof", "127.0.0.1", str(self.source.port))
        self.refused(self.program.run(*words, self.url(replica)), "READONLY", "primary")


class InterruptedTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.redis = self.start(Redis, "--appendonly", "yes", "--appendfsync", "no")
        self.fill(self.redis.client(), MANY)
        self.words = ["import", self.url(self.redis), "--db", self.db, "--batch", "10"]
        self.state = self.db + ".import"

    def interrupt(self, how):
        """Starts an import, and does something to it when it has begun."""
        process = self.spawn(*self.words)
        await_that(lambda: os.path.exists(self.state), "a state file")
        how(process)
        out, errors = process.communicate(timeout=program.PATIENCE_S)
        self.assertTrue(os.path.exists(self.state), errors)
        self.assertEqual(out, "")
        return process.returncode, errors

    def assert_all_copied(self):
        found = self.store_contents()
        self.assertEqual(len(found), MANY + MANY // 10)
        for i in (0, 1, MANY // 2, MANY - 1):
            self.assertEqual(found["default", b"key:%d" % i],
                             (b"value %d" % i, FAR + i if i % 2 else None))
        self.assertFalse(os.path.exists(self.state))

    def test_one_that_was_killed_goes_on_and_gives_the_same(self):
        code, _ = self.interrupt(lambda process: process.kill())
        self.assertEqual(code, -signal.SIGKILL)
        outcome = self.program.run(*self.words, "--resume")
        self.assertEqual(outcome.code, program.OK, outcome.errors)
        self.assertIn("resuming", outcome.errors)
        self.assertRegex(outcome.text, f"Copied {MANY + MANY // 20} keys")
        self.assert_all_copied()

    def test_ctrl_c_finishes_the_batch_and_says_how_to_go_on(self):
        code, errors = self.interrupt(lambda process: process.send_signal(signal.SIGINT))
        self.assertEqual(code, program.FAILED)
        self.assertIn("run the same command again", errors)
        self.assertTrue(self.program.run(*self.words, "--json").json["resumed"])
        self.assert_all_copied()

    def test_a_source_that_dies_and_comes_back_is_read_anew(self):
        code, errors = self.interrupt(lambda process: self.redis.kill())
        self.assertEqual(code, program.FAILED)
        self.assertIn("run the same command again", errors)
        self.refused(self.program.run(*self.words), "Connection refused")
        self.redis.restart()
        outcome = self.program.run(*self.words)
        self.assertEqual(outcome.code, program.OK, outcome.errors)
        self.assertIn("starting over", outcome.errors)
        self.assert_all_copied()

    def test_a_state_of_another_copy_is_not_taken_up(self):
        self.interrupt(lambda process: process.kill())
        other = [*self.words, "--match", "key:*"]
        self.refused(self.program.run(*other), "cannot resume", "--restart", self.state)
        self.assertEqual(self.program.run(*other, "--restart").code, program.OK)


class WrongInputTest(ServerCase):
    def test_what_is_no_address_of_a_server_is_refused(self):
        run = lambda *words: self.program.run("import", *words)  # noqa: E731
        self.refused(run(), "SOURCE")
        self.refused(run("http://127.0.0.1", "--db", self.db), "http://", "redis://")
        self.refused(run("redis://127.0.0.1:1x", "--db", self.db), "1x", "port")
        self.refused(run("redis://127.0.0.1"), "--db", "--to")
        self.refused(run("redis://a", "--to", "redis://a/1", "--db", self.db), "--db", "--to")
        self.refused(run("redis://a", "--to", "redis://a"), "same")
        self.refused(run("redis://a", "--db", self.db, "--batch", "0"), "--batch")
        self.refused(run(f"redis://127.0.0.1:{free_port()}", "--db", self.db), "refused")
        self.refused(run("unix:///no/such.sock", "--db", self.db), "/no/such.sock")
        self.assertFalse(os.path.exists(self.db))

    def test_a_server_that_lets_nobody_in_is_told_from_one_that_is_none(self):
        redis = self.start(Redis)
        client, port = redis.client(), redis.port
        client.ok("ACL", "SETUSER", "anna", "on", ">p@ss", "~*", "+@all")
        client.ok("ACL", "SETUSER", "default", "off")
        run = lambda who, *words: self.program.run(  # noqa: E731
            "import", f"redis://{who}127.0.0.1:{port}/0", "--db", self.db, *words)
        self.refused(run(""), "NOAUTH", "PASSWORD")
        self.refused(run("anna:wrong@"), "WRONGPASS")
        self.assertNotIn("wrong", run("anna:wrong@").errors.replace("WRONGPASS", ""))
        self.assertEqual(run("anna:p%40ss@").code, program.OK)
        words = ("import", f"redis://anna:p%40ss@127.0.0.1:{port}/99", "--db", self.db)
        self.refused(self.program.run(*words), "/99", "out of range")

    def test_what_is_no_server_of_this_kind_is_said_so(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def answer():
                connection, _ = listener.accept()
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.close()
            thread = threading.Thread(target=answer)
            thread.start()
            self.refused(self.program.run("import", f"127.0.0.1:{listener.getsockname()[1]}",
                                          "--db", self.db), "not a Redis, Valkey or Mayfly")
            thread.join()

    def test_a_store_that_cannot_be_made_is_named(self):
        redis = self.start(Redis)
        outcome = self.program.run("import", self.url(redis), "--db", self.path("no/such.db"))
        self.refused(outcome, "no/such.db")


if __name__ == "__main__":
    unittest.main()
