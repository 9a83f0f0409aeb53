#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shell: a script of lines, and a prompt on a terminal as a person has it."""

import os
import stat
import unittest

import program
from terminal import CTRL_C, CTRL_D, TAB, UP, Terminal


class ScriptTest(program.TestCase):
    def shell(self, *lines: str, words: tuple = ()) -> program.Outcome:
        return self.mayfly("shell", *words, input="".join(line + "\n" for line in lines).encode())

    def told(self, *lines: str, words: tuple = ()) -> list[str]:
        outcome = self.shell(*lines, words=words)
        self.assertEqual((outcome.code, outcome.errors), (program.OK, ""))
        return outcome.lines

    def test_prints_what_the_commands_of_the_program_print(self):
        lines = self.told("put greeting hello world --ttl 15m", "get greeting", "exists greeting",
                          "exists absent", "set-if-absent greeting x", "incr n 5", "persist n",
                          "expire n 1h", "persist n", "ttl n", "count", "count gr", "list",
                          "list --reverse --limit 1", "scan n", "list --seek h --ttl", "purge",
                          "del n", "# nothing", "", "count", "quit", "never done")
        self.assertEqual(lines, ["hello world", "true", "false", "already exists", "5",
                                 "unchanged", "changed", "changed", "no ttl", "2", "1", "greeting",
                                 "n", "n", "n\t5", "n\tno ttl", "0", "1"])

    def test_says_what_expires_and_what_is_in_the_file(self):
        lines = self.told("put a 1 --ttl 50m", "put b 1 --ttl 20m", "put c 1 --ttl 1d", "expiring",
                          "expiring 2d --limit 1")
        self.assertEqual([line.split("\t")[0] for line in lines], ["b", "a", "b"])
        self.assertIn("default", "\n".join(self.told("stat")))

    def test_a_mistyped_option_is_refused_by_every_command(self):
        self.put(a="1")
        for line, part in [("put a 2 --tl 5", "'--ttl'?"), ("list --limt 1", "'--limit'?"),
                           ("scan --reverse=1", "--reverse takes no value"),
                           ("expiring --limti 1", "'--limit'?"), ("count --prefx a", "'--prefix'?"),
                           ("get a --raw", "'--raw' is not an option"), ("ttl --a", "'--a'"),
                           ("exists -x", "'-x'"), ("purge --al", "'--al'"),
                           ("cf drop --x", "'--x'"), ("begin --now", "'--now'"),
                           ("stat --json", "'--json'"), ("list a b", "unexpected argument 'b'"),
                           ("expiring 1h --within 2h", "one TIME")]:
            with self.subTest(line):
                self.refused(self.shell(line), "line 1: ", part)
        self.assertEqual(self.told("put -- --b 2", "get -- --b", "list -- --", "count --prefix=a",
                                   "list --limit=1", "expiring --within 1h"),
                         ["2", "--b", "1", "--b"])

    def test_names_of_other_tools_are_understood(self):
        self.assertEqual(self.told("SET a 1", "keys", "ls a", "GET a", "dbsize", "rm a", "count"),
                         ["a", "a", "1", "1", "0"])
        self.assertIn("incr KEY -1", self.shell("decr a").errors)
        self.assertEqual(self.told("help set"), self.told("help put"))

    def test_stat_does_not_list_the_shell_as_a_reader(self):
        lines = ["put a 1", "put b 2", "get a", "put a 3", "list"]
        self.assertNotIn("readers", "\n".join(self.told(*lines, "stat")))
        outcome = self.shell(*lines, "stat", words=("--json",))
        self.assertEqual(outcome.json_lines[-1]["readers"], [])

    def test_answers_in_json(self):
        outcome = self.shell("put a 1", "get a", "list", "count", "incr a", "expiring",
                             words=("--json",))
        never = {"ttl": None, "deadline_ms": None, "deadline": None}
        self.assertEqual(outcome.json_lines,
                         [{"key": "a", "stored": True}, {"key": "a", "value": "1", **never},
                          {"key": "a"}, {"count": 1}, {"key": "a", "value": 2}])

    def test_its_json_is_that_of_the_commands(self):
        lines = ["put a 1 --ttl 1h", "set-if-absent a 2", "get a", "exists a", "exists absent",
                 "ttl a", "expire a 2h", "touch a 3h", "persist a", "list a", "scan a", "count",
                 "expiring", "purge", "cf create tokens", "cf list", "cf drop tokens", "del a"]
        told = self.shell(*lines, words=("--json",)).json_lines
        commands = []
        for line in lines:
            name, *words = line.split(" ")
            if name == "cf":
                name, words = f"cf {words[0]}", words[1:]
            if name in ("list", "scan"):
                words.insert(0, "--prefix")
            commands += self.mayfly(name, *words, "--json").json_lines
        shape = lambda answer: (list(answer), [type(value) for value in answer.values()])
        self.assertEqual([shape(answer) for answer in told], [shape(answer) for answer in commands])

    def test_only_a_line_that_writes_makes_a_store(self):
        for line in ["get a", "list", "count", "stat", "cf list", "cf use x", "purge", "ttl a"]:
            with self.subTest(line):
                self.refused(self.shell(line), "line 1: ", "test.db", "No such file")
                self.assertFalse(os.path.exists(self.db))
        self.refused(self.shell("put a 1", words=("--cf", "tokens")), "test.db")
        self.refused(self.shell("put a 1", words=("--read-only",)), "test.db")
        self.assertFalse(os.path.exists(self.db))
        self.assertEqual(self.told("put a 1", "get a"), ["1"])

    def test_a_cf_or_a_transaction_may_be_what_makes_it(self):
        self.assertEqual(self.told("cf create tokens", "cf list"), ["tokens"])
        self.db = self.path("other.db")
        self.assertEqual(self.told("begin", "put a 1", "commit", "get a"), ["1"])

    def test_transactions_hold_until_commit(self):
        self.assertEqual(self.told("begin", "put a 1", "get a", "commit", "get a"), ["1", "1"])
        self.assertEqual(self.told("begin", "del a", "exists a", "rollback", "exists a"),
                         ["false", "true"])

    def test_what_is_not_committed_is_rolled_back_with_a_warning(self):
        outcome = self.shell("begin", "put a 1")
        self.assertEqual(outcome.code, program.FAILED)
        self.assertIn("rolled back", outcome.errors)
        self.not_found(self.mayfly("get", "a"))

    def test_a_write_that_fails_ends_its_transaction(self):
        outcome = self.shell("put a text", "begin", "put b 1", "incr a", "commit", "exists b")
        self.assertEqual(outcome.lines, ["false"])
        self.assertIn("line 4: ", outcome.errors)
        self.assertIn("the transaction was rolled back", outcome.errors)
        self.assertIn("line 5: no transaction is open", outcome.errors)

    def test_families_are_made_used_and_dropped(self):
        lines = self.told("cf create x", "cf use x", "put a 1", "cf", "cf default", "exists a",
                          "cf x", "exists a", "cf drop x", "exists a", "cf list")
        self.assertEqual(lines, ["x", "false", "true", "false"])
        lines = self.told("begin", "cf create y", "cf use y", "put a 1", "rollback", "exists a")
        self.assertEqual(lines, ["false"])
        self.assertIn("nobody", self.shell("cf use nobody").errors)

    def test_an_error_does_not_end_it_but_is_told_by_the_exit_code(self):
        outcome = self.shell("pt a 1", "put a 1", "get", "list --revers", "get a b", "begin x",
                             "help nobody", 'get "a', "get absent", "get a")
        self.assertEqual((outcome.code, outcome.text), (program.FAILED, "1\n"))
        for part in ["line 1: unknown command 'pt'; did you mean 'put'?",
                     "line 3: get: KEY is missing (get KEY)", "line 4: list: '--revers'",
                     "line 5: get: unexpected argument 'b'",
                     "line 6: begin", "line 7: help", "line 8: get",
                     "key 'absent' not found"]:
            self.assertIn(part, outcome.errors)
        outcome = self.shell("pt a 1", "get a", words=("--stop",))
        self.assertEqual((outcome.code, outcome.text), (program.FAILED, ""))

    def test_keys_are_quoted_or_in_hex(self):
        self.assertEqual(self.told('put "a b\\x00" c', 'get "a b\\x00"', "list"),
                         ["c", "<hex:61206200>"])
        self.assertEqual(self.told("get 61206200", words=("--hex",)), ["63"])

    def test_help_names_every_command(self):
        text = "\n".join(self.told("help"))
        for name in ("put get del exists ttl expire persist touch scan list count purge expiring "
                     "cf stat begin commit rollback help quit").split():
            self.assertIn(f"\n  {name}", "\n" + text)
        self.assertEqual(self.told("help ttl"), ["  ttl KEY" + " " * 31 +
                                                 "print its remaining TTL"])

    def test_fails_with_a_reason(self):
        self.refuses_wrong_input("shell", makes_file=True)
        self.put(a="1")
        self.refuses_unknown_family("shell")
        self.assertIn("Examples:", self.program.run("shell", "--help").text)


class TerminalTest(program.TestCase):
    def test_a_person_is_told_that_the_store_is_new(self):
        terminal = self.open()
        self.assertIn("a new store", terminal.expect("test.db> "))
        self.assertTrue(os.path.exists(self.db))
        terminal.type("quit\r")
        terminal.end()
        self.assertNotIn("a new store", self.open().expect("test.db> "))

    def open(self, *words: str, **variables: str) -> Terminal:
        env = {"HOME": self.folder, "PATH": os.environ["PATH"]} | variables
        terminal = Terminal([self.program.path, "shell", "--db", self.db, *words], env, self.folder)
        self.enterContext(terminal)
        return terminal

    def ask(self, terminal: Terminal, line: str, prompt: str = "test.db> ") -> str:
        """What the shell answers to a line."""
        terminal.type(line + "\r")
        terminal.expect(line + "\n")
        return terminal.expect(prompt)

    def started(self, *words: str, prompt: str = "test.db> ", **variables: str) -> Terminal:
        terminal = self.open(*words, **variables)
        terminal.expect(prompt)
        return terminal

    def test_the_prompt_shows_the_family_and_an_open_transaction(self):
        terminal = self.started()
        self.ask(terminal, "cf create sessions")
        self.ask(terminal, "cf use sessions", "test.db/sessions> ")
        self.ask(terminal, "begin", "test.db/sessions*> ")
        self.ask(terminal, "rollback", "test.db/sessions> ")

    def test_answers_go_on_after_an_error_and_control_d_ends(self):
        terminal = self.started()
        self.assertIn("did you mean 'put'?", self.ask(terminal, "pt a 1"))
        self.ask(terminal, "put a \u00e9t\u00e9")
        self.assertEqual(self.ask(terminal, "get a"), "\u00e9t\u00e9\n")
        terminal.type(CTRL_D)
        self.assertEqual(terminal.end(), program.OK)

    def test_control_d_rolls_an_open_transaction_back(self):
        terminal = self.started()
        self.ask(terminal, "begin", "test.db*> ")
        terminal.type(CTRL_D)
        terminal.expect("rolled back")
        self.assertEqual(terminal.end(), program.OK)

    def test_tab_completes_commands_and_keys(self):
        self.put(**{"session:42": "alice", "session:51": "bob", "other": "x"})
        self.done("put", "with space", "y")
        terminal = self.started()
        terminal.type("ge" + TAB + "oth" + TAB)
        terminal.expect("get other ")
        terminal.type("\r")
        terminal.expect("x\n")
        terminal.type("get se" + TAB)
        terminal.expect("get session:")
        terminal.type(TAB)
        terminal.expect("session:42  session:51")
        terminal.type("5" + TAB + "\r")
        terminal.expect("bob\n")
        terminal.type("get wi" + TAB + "\r")
        terminal.expect('"with space"')
        terminal.expect("y\n")

    def test_the_arrow_brings_back_old_lines_also_of_the_last_time(self):
        terminal = self.started()
        self.ask(terminal, "put a remembered")
        self.ask(terminal, " put b secret")
        terminal.type(CTRL_D)
        terminal.end()
        history = os.path.join(self.folder, ".local", "state", "mayfly", "history")
        with open(history, encoding="utf-8") as file:
            self.assertEqual(file.read(), "put a remembered\n")
        self.assertEqual(stat.S_IMODE(os.stat(history).st_mode), 0o600)
        terminal = self.started()
        terminal.type(UP)
        terminal.expect("put a remembered")
        terminal.type("\r")
        terminal.expect("test.db> ")

    def test_the_history_is_where_one_wants_it_and_may_be_nowhere(self):
        for variables, place in [({"MAYFLY_HISTORY": self.path("mine")}, self.path("mine")),
                                 ({"XDG_STATE_HOME": self.path("state")},
                                  self.path("state/mayfly/history"))]:
            self.ask(self.started(**variables), "count")
            self.assertTrue(os.path.isfile(place), place)
        plain = self.write("plain", b"")
        for place in ["", plain + "/history", self.folder]:
            self.assertEqual(self.ask(self.started(MAYFLY_HISTORY=place), "count"), "0\n")

    def test_control_c_leaves_the_line_and_not_the_shell(self):
        terminal = self.started()
        terminal.type("put a wrong" + CTRL_C)
        terminal.expect("test.db> ")
        self.assertEqual(self.ask(terminal, "count"), "0\n")

    def test_control_c_ends_a_long_answer_and_not_the_shell(self):
        lines = b"".join(b'{"key":"%06d","value":"%s"}\n' % (i, b"x" * 80) for i in range(20000))
        self.done("load", input=lines)
        terminal = self.started()
        terminal.type("scan\r")
        terminal.expect("000000\t")
        terminal.type(CTRL_C)
        shown = terminal.expect("test.db> ")
        self.assertFalse("019999\t" in shown, "it was shown to the end")
        self.assertEqual(self.ask(terminal, "count"), "20000\n")


if __name__ == "__main__":
    unittest.main()
