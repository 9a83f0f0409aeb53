#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completes words of the program in the shells themselves: bash, zsh and fish.

What they offer comes from the program, so what is tested is that each script asks it rightly and
understands the answer; and, on a terminal, that what the Tab key wrote is one word, whatever is in
the key.
"""

import os
import shlex
import shutil
import subprocess
import unittest

from program import TestCase
from terminal import TAB, Terminal

BASH = """
source <(mayfly completion bash)
COMP_LINE={line}
COMP_POINT=${{#COMP_LINE}}
compopt() {{ compgen -f -- "${{words[-1]}}"; }}
_mayfly mayfly {last} ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

# _describe and _files are zsh's own, and need a terminal; these print what they are given.
ZSH = """
compdef() {{ }}
_describe() {{ print -rl -- "${{(@P)2}}"; }}
_files() {{ print FILES; }}
source <(mayfly completion zsh)
words=({words})
CURRENT=$#words
_mayfly
"""

# `show` is completed as mayfly is, and prints the words that it was given.
BASH_PROMPT = """
PS1='ready> '
bind 'set enable-bracketed-paste off'
source <(mayfly completion bash)
show() { printf '<%s>' "$@"; echo; }
complete -F _mayfly show
"""
ZSH_PROMPT = """
PROMPT='ready> '
unsetopt zle_bracketed_paste prompt_sp
autoload -U compinit
compinit -u -d dump
source <(mayfly completion zsh)
show() { printf '<%s>' "$@"; echo }
compdef _mayfly show
"""

FISH = """
mayfly completion fish | source
complete -C {line}
"""


# What is typed before the Tab key, and the key that it is to become.
TYPED = [
    ("ev", "ev;touch pwned"),
    ("'ev", "ev;touch pwned"),
    ('"ev', "ev;touch pwned"),
    ("ev\\;to", "ev;touch pwned"),
    ("do", "do$(touch pwned) `touch pwned` $HOME"),
    ('"do', "do$(touch pwned) `touch pwned` $HOME"),
    ("'do", "do$(touch pwned) `touch pwned` $HOME"),
    ("qu", "qu'o\"te\\back!bang"),
    ('"qu', "qu'o\"te\\back!bang"),
    ("'qu", "qu'o\"te\\back!bang"),
    ("key", "key with space"),
    ("key\\ wi", "key with space"),
    ("st", "star*?[a]{b,c}~#&|<>"),
    ("co", "co:lon:s"),
    ("co:lon", "co:lon:s"),
    ("größ", "größe ß"),
]


class CompletionTest(TestCase):
    def shell(self, *command, text):
        environment = os.environ | {"PATH": self.around(), "HOME": self.folder,
                                    "XDG_CONFIG_HOME": self.folder}
        done = subprocess.run([*command, text], env=environment, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def bash(self, line):
        line = line.replace('""', "")
        last = line.split(" ")[-1].split("=")[-1]
        found = self.shell("bash", "-c", text=BASH.format(line=shlex.quote(line),
                                                          last=shlex.quote(last)))
        return [word for word in found if word]

    def zsh(self, line):
        lines = self.shell("zsh", "-fc", text=ZSH.format(words=line))
        return [found.replace("\\:", "\0").split(":")[0].replace("\0", ":") for found in lines]

    def fish(self, line):
        line = line.replace('""', "")
        lines = self.shell("fish", "--no-config", "-c", text=FISH.format(line=repr(line)))
        return [found.split("\t")[0] for found in lines]

    def words_after_tab(self, shell, prompt, cases):
        """What `show` is given as its last word, for each of what is typed."""
        self.write("prompt", prompt.encode())
        environment = os.environ | {"HOME": self.folder, "MAYFLY_DB": self.db, "HISTFILE": "",
                                    "LC_ALL": "C.UTF-8", "PS1": "", "PROMPT": "",
                                    "PATH": self.around()}
        with Terminal([shutil.which(shell[0]), *shell[1:]], environment, self.folder) as terminal:
            terminal.type("source ./prompt\r")
            for typed, _ in cases:
                terminal.expect("ready> ")
                terminal.type(f"show get {typed}{TAB}\r")
                terminal.expect("<get>")
                yield terminal.expect("\n")
            terminal.expect("ready> ")
            terminal.type("exit\r")
            terminal.end()

    def check_words_after_tab(self, shell, prompt, cases):
        for key in {key for _, key in cases}:
            self.done("put", "--literal", key, "1")
        for (typed, key), word in zip(cases, self.words_after_tab(shell, prompt, cases)):
            with self.subTest(typed):
                self.assertEqual(word, f"<{key}>")
        self.assertFalse(os.path.exists(self.path("pwned")), "a key was run as a command")

    def test_bash_writes_a_key_as_one_word_that_is_never_run(self):
        self.check_words_after_tab(["bash", "--norc", "-i"], BASH_PROMPT, TYPED)

    def test_zsh_writes_a_key_as_one_word_that_is_never_run(self):
        self.check_words_after_tab(["zsh", "-fi"], ZSH_PROMPT, TYPED)

    def test_fish_understands_what_was_typed_with_quotes(self):
        for key in {key for _, key in TYPED}:
            self.done("put", "--literal", key, "1")
        for typed, key in TYPED:
            with self.subTest(typed):
                self.write("line", f"mayfly get --db {self.db} {typed}".encode())
                found = self.shell("fish", "--no-config", "-c",
                                   text=FISH.format(line="(cat line)"))
                self.assertEqual([word.split("\t")[0] for word in found], [key])

    def test_bash_goes_on_where_two_keys_part_inside_a_quote(self):
        self.done("put", "ev;a", "1")
        cases = [("ev" + TAB + ";a", "ev;a")]
        self.done("put", "ev b", "1")
        self.check_words_after_tab(["bash", "--norc", "-i"], BASH_PROMPT, cases)

    def around(self):
        return os.path.dirname(self.program.path) + ":" + os.environ["PATH"]

    def shells(self):
        for name in ["bash", "zsh", "fish"]:
            self.assertTrue(shutil.which(name), f"{name} is not installed: run bootstrap.sh test")
            yield name, getattr(self, name)

    def test_every_shell_completes_commands(self):
        for name, complete in self.shells():
            with self.subTest(name):
                self.assertEqual(complete("mayfly exi"), ["exists"])
                self.assertIn("get", complete('mayfly ""'))
                self.assertNotIn("complete", complete('mayfly ""'), "it is for scripts only")

    def test_every_shell_completes_options_and_their_values(self):
        for name, complete in self.shells():
            with self.subTest(name):
                self.assertEqual(complete("mayfly put --tt"), ["--ttl"])
                self.assertEqual(sorted(complete('mayfly put --sync ""')),
                                 ["full", "normal", "off"])

    def test_every_shell_completes_keys_and_families_of_the_store(self):
        self.done("put", "session:1", "a")
        self.done("put", "session:2", "b")
        self.done("cf create", "tokens")
        for name, complete in self.shells():
            with self.subTest(name):
                db = f"--db {self.db}"
                self.assertEqual(complete(f"mayfly get {db} sess"), ["session:1", "session:2"])
                self.assertEqual(complete(f"mayfly get {db} --cf to"), ["tokens"])

    def test_every_shell_completes_families_where_one_is_named(self):
        self.done("cf create", "tokens")
        for name, complete in self.shells():
            with self.subTest(name):
                self.assertEqual(complete(f"mayfly cf drop --db {self.db} to"), ["tokens"])
                self.assertEqual(complete(f"mayfly cf ttl --db {self.db} to"), ["tokens"])
                self.assertEqual(complete(f"mayfly cf create --db {self.db} to"), [])

    def test_every_shell_understands_a_value_behind_an_equals_sign(self):
        self.done("put", "session:1", "a")
        self.done("cf create", "tokens")
        for name, complete in self.shells():
            with self.subTest(name):
                db = f"--db={self.db}"
                self.assertEqual(complete(f"mayfly get {db} sess"), ["session:1"])
                found = complete(f"mayfly get {db} --cf=to")
                self.assertEqual(found, ["tokens" if name == "bash" else "--cf=tokens"])

    def test_help_is_completed_with_commands(self):
        self.assertIn(b"exists\t", self.program.run("complete", "help", "exi").out)
        self.assertIn(b"drop\t", self.program.run("complete", "help", "cf", "").out)

    def test_a_key_that_cannot_be_written_is_not_offered(self):
        for key in [b"k\nb", b"k\tb", b"k\x1b[2J", b"k\x7f", b"k\xff", b"kind"]:
            self.done("put", key, "1")
        self.done("put", "--", "-k", "1")
        self.done("put", "@@k", "1")
        asked = lambda *words: self.program.run("complete", "get", "--db", self.db, *words).lines
        self.assertEqual(asked("k"), ["kind\tkey"])
        self.assertEqual(asked(""), ["@@k\tkey", "kind\tkey"])
        self.assertEqual(asked("--", "-"), ["-k\tkey"])
        self.assertEqual(asked("@@"), ["@@k\tkey"])

    def test_every_shell_completes_files(self):
        self.done("put", "k", "v")
        name = os.path.basename(self.db)
        for shell, complete in self.shells():
            with self.subTest(shell):
                found = complete(f"mayfly get --db {name[:-1]}")
                self.assertIn("FILES" if shell == "zsh" else name, found)

    def test_a_file_that_is_no_store_offers_nothing(self):
        with open(self.db, "wb") as file:
            file.write(b"not a store")
        self.assertEqual(self.program.run("complete", "get", "--db", self.db, "").out, b"")

    def test_an_unknown_shell_is_refused(self):
        done = self.program.run("completion", "tcsh")
        self.assertEqual(done.code, 1)
        self.assertIn(b"bash", done.err)


if __name__ == "__main__":
    unittest.main()
