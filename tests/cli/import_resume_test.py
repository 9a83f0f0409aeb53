#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mayfly import and export that were interrupted go on only if nothing will be missing: not with
other options, and not if the source or the target is no longer what it was. They used to count as
copied what was in another family, in a store that was deleted, or in a server that was flushed."""

import os
import shutil
import signal
import unittest

import program
from server_copy import Redis, ServerCase, await_that

from proxy import Proxy

MANY = 400
KEYS = MANY + MANY // 20     # as fill() makes them
ENTRIES = MANY + MANY // 10  # of them in a store: hashes have two fields


class InterruptedCase(ServerCase):
    def setUp(self):
        super().setUp()
        self.redis = self.start(Redis)
        self.fill(self.redis.client(), MANY)
        self.proxy = self.enterContext(Proxy(self.redis.port))

    def interrupt(self, words, state):
        """A copy that is asked to stop while it waits for the server behind the proxy: so it copies
        one batch."""
        self.proxy.stall()
        process = self.spawn(*words, "--batch", MANY // 4)
        await_that(lambda: self.proxy.pairs, "a connection")
        process.send_signal(signal.SIGINT)
        self.proxy.go_on()
        out, errors = process.communicate(timeout=program.PATIENCE_S)
        self.assertEqual((process.returncode, out), (program.FAILED, ""), errors)
        self.assertIn("run the same command again", errors)
        self.assertTrue(os.path.exists(state))
        await_that(lambda: not self.proxy.pairs, "the end of the connection")

    def finished(self, words, *says):
        """Runs it to its end. Returns the numbers of its summary."""
        outcome = self.program.run(*words, "--json")
        self.assertEqual(outcome.code, program.OK, outcome.errors)
        for part in says:
            self.assertIn(part, outcome.errors)
        self.assertEqual(outcome.json["resumed"], not says)
        return outcome.json

    def is_another(self, words, *parts):
        """It is refused, with words that help."""
        self.refused(self.program.run(*words), "cannot resume", "same options", "--restart", *parts)


class IntoStoreTest(InterruptedCase):
    def setUp(self):
        super().setUp()
        self.words = ["import", self.url(self.proxy), "--db", self.db]
        self.state = self.db + ".import"

    def interrupt_import(self, *words):
        self.interrupt([*self.words, *words], self.state)

    def test_another_family_is_refused_and_the_same_one_gets_all(self):
        self.interrupt_import("--cf", "one")
        self.is_another([*self.words, "--cf", "two"], "with --cf one", "with --cf two", self.state)
        self.is_another(self.words, "with --cf one", "with --cf default")
        self.finished([*self.words, "--cf", "one"])
        families = {}
        for family, _ in self.store_contents():
            families[family] = families.get(family, 0) + 1
        self.assertEqual(families, {"one": MANY, "one.hash": MANY // 10})

    def test_if_absent_must_be_said_again(self):
        self.put(**{"key:1": "theirs"})
        self.interrupt_import("--if-absent")
        self.is_another(self.words, "with --if-absent", "without --if-absent")
        self.finished([*self.words, "--if-absent"])
        found = self.store_contents()
        self.assertEqual(found["default", b"key:1"], (b"theirs", None))
        self.assertEqual(len(found), ENTRIES)

    def test_if_absent_must_not_be_added(self):
        self.interrupt_import()
        self.is_another([*self.words, "--if-absent"], "without --if-absent, not with --if-absent")

    def test_with_if_absent_what_it_has_put_itself_counts_as_there(self):
        self.done("cf create", "hash")
        self.interrupt_import("--if-absent")
        self.done("cf drop", "hash")
        summary = self.finished([*self.words, "--if-absent"], "starting over")
        self.assertGreater(summary["kept"], 0)
        self.assertEqual(summary["keys"] + summary["kept"], KEYS)
        self.assertEqual(len(self.store_contents()), ENTRIES)

    def test_a_store_that_was_deleted_gets_all(self):
        self.interrupt_import()
        for name in os.listdir(self.folder):
            if self.path(name) != self.state:
                os.remove(self.path(name))
        summary = self.finished(self.words, "is not the same store", "starting over")
        self.assertEqual(summary["keys"], KEYS)
        self.assertEqual(len(self.store_contents()), ENTRIES)

    def test_a_store_that_was_replaced_by_an_older_copy_gets_all(self):
        self.put(mine="1")
        self.done("backup", self.path("old.db"))
        self.interrupt_import()
        shutil.move(self.path("old.db"), self.db)
        summary = self.finished(self.words, "is older", "starting over")
        self.assertEqual(summary["keys"], KEYS)
        self.assertEqual(len(self.store_contents()), ENTRIES + 1)

    def test_a_store_that_was_cleared_gets_all(self):
        self.interrupt_import()
        self.done("clear")
        summary = self.finished(self.words, "and now has 0", "starting over")
        self.assertEqual(summary["keys"], KEYS)
        self.assertEqual(len(self.store_contents()), ENTRIES)

    def test_a_store_that_others_write_to_is_gone_on_with(self):
        self.interrupt_import()
        self.put(mine="1")
        self.assertEqual(self.finished(self.words)["keys"], KEYS)
        self.assertEqual(len(self.store_contents()), ENTRIES + 1)

    def test_what_must_not_happen_and_has_happened_is_an_error(self):
        self.interrupt_import()
        with open(self.state, encoding="utf-8") as file:
            text = file.read()
        self.write("test.db.import", text.replace("end\n", "skipped 3 stream\nend\n").encode())
        strict = self.program.run(*self.words, "--strict")
        self.refused(strict, "--strict", "3 keys were skipped", "--restart")
        text = text.replace("deadlines_dropped 0", "deadlines_dropped 2")
        self.write("test.db.import", text.encode())
        self.refused(self.program.run(*self.words), "2 member TTLs", "--without-member-ttl",
                     "--restart")
        self.finished([*self.words, "--strict", "--without-member-ttl"])

    def test_a_source_that_was_flushed_and_filled_again_is_read_anew(self):
        self.interrupt_import()
        client = self.redis.client()
        client.ok("FLUSHALL")
        self.fill(client, MANY)
        summary = self.finished(self.words, "emptied", "starting over")
        self.assertEqual(summary["keys"], KEYS)

    def test_a_state_of_another_version_is_refused(self):
        self.write("test.db.import", b"mayfly copy 1\nfrom x\nto y\nend\n")
        self.refused(self.program.run(*self.words), "not a state file of this version", "--restart")


class IntoServerTest(InterruptedCase):
    def setUp(self):
        super().setUp()
        self.target = self.start(Redis)
        self.client = self.target.client()
        self.state = self.path("state")
        self.words = ["import", self.url(self.proxy), "--to", self.url(self.target),
                      "--state", self.state]

    def test_a_target_that_was_flushed_gets_all(self):
        self.interrupt(self.words, self.state)
        self.client.ok("FLUSHALL")
        summary = self.finished(self.words, self.url(self.target), "emptied", "starting over")
        self.assertEqual((summary["keys"], self.client.ok("DBSIZE")), (KEYS, KEYS))

    def test_a_target_that_was_flushed_and_filled_by_others_gets_all(self):
        self.interrupt(self.words, self.state)
        self.client.ok("FLUSHDB")
        self.client.pipeline(("SET", f"theirs:{i}", i) for i in range(MANY))
        self.finished(self.words, "emptied", "starting over")
        self.assertEqual(self.client.ok("DBSIZE"), KEYS + MANY)

    def test_a_target_from_which_keys_were_deleted_gets_all(self):
        self.interrupt(self.words, self.state)
        self.client.ok("DEL", *self.client.ok("KEYS", "*"))
        self.finished(self.words, "and now has 0", "starting over")
        self.assertEqual(self.client.ok("DBSIZE"), KEYS)

    def test_a_target_in_which_keys_have_expired_is_gone_on_with(self):
        short = [f"short:{i}" for i in range(1000)]
        self.client.pipeline(("SET", key, "v") for key in short)
        self.interrupt(self.words, self.state)
        self.client.pipeline(("PEXPIRE", key, 100) for key in short)
        await_that(lambda: self.client.ok("EXISTS", *short) == 0, "keys expire")
        self.assertEqual(self.finished(self.words)["keys"], KEYS)
        self.assertEqual(self.client.ok("DBSIZE"), KEYS)

    def test_a_server_that_does_not_tell_who_it_is_gets_all(self):
        self.client.ok("ACL", "SETUSER", "anna", "on", ">secret", "~*", "+@all", "-info")
        self.words[3] = f"redis://anna:secret@127.0.0.1:{self.target.port}"
        self.interrupt(self.words, self.state)
        self.finished(self.words, "run_id", "starting over")
        self.assertEqual(self.client.ok("DBSIZE"), KEYS)


class ExportTest(InterruptedCase):
    def setUp(self):
        super().setUp()
        self.copied("import", self.url(self.redis), "--db", self.db)
        self.target = self.start(Redis)
        self.proxy = self.enterContext(Proxy(self.target.port))
        self.words = ["export", self.url(self.proxy), "--db", self.db]
        self.state = self.db + ".export"

    def test_another_family_is_refused_and_the_same_one_gives_all(self):
        self.interrupt(self.words, self.state)
        self.is_another([*self.words, "--cf", "hash"], "with --cf default", "with --cf hash")
        self.assertEqual(self.finished(self.words)["keys"], KEYS)
        self.assertEqual(self.target.client().ok("DBSIZE"), KEYS)

    def test_a_target_that_died_and_came_back_empty_gets_all(self):
        self.interrupt(self.words, self.state)
        self.target.kill()
        self.target.restart()
        summary = self.finished(self.words, self.url(self.proxy), "restarted", "starting over")
        self.assertEqual((summary["keys"], self.target.client().ok("DBSIZE")), (KEYS, KEYS))

    def test_a_store_that_was_made_anew_is_read_anew(self):
        self.interrupt(self.words, self.state)
        os.remove(self.db)
        self.put(**{"a": "1", "zzz": "2"})
        summary = self.finished(self.words, "is not the same store", "starting over")
        self.assertEqual(summary["keys"], 2)
        self.assertEqual(self.target.client().ok("MGET", "a", "zzz"), [b"1", b"2"])


if __name__ == "__main__":
    unittest.main()
