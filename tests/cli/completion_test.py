#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completes words of the program in the shells themselves: bash, zsh and fish.

What they offer comes from the program, so what is tested is that each script asks it rightly and
understands the answer.
"""

import os
import shutil
import subprocess
import unittest

from program import TestCase

BASH = """
source <(mayfly completion bash)
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ :; }}
_mayfly
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

FISH = """
mayfly completion fish | source
complete -C {line}
"""


class CompletionTest(TestCase):
    def shell(self, *command, text):
        path = os.path.dirname(self.program.path) + ":" + os.environ["PATH"]
        environment = os.environ | {"PATH": path, "HOME": self.folder,
                                    "XDG_CONFIG_HOME": self.folder}
        done = subprocess.run([*command, text], env=environment, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def bash(self, line):
        return self.shell("bash", "-c", text=BASH.format(words=line))

    def zsh(self, line):
        lines = self.shell("zsh", "-fc", text=ZSH.format(words=line))
        return [found.replace("\\:", "\0").split(":")[0].replace("\0", ":") for found in lines]

    def fish(self, line):
        line = line.replace('""', "")
        lines = self.shell("fish", "--no-config", "-c", text=FISH.format(line=repr(line)))
        return [found.split("\t")[0] for found in lines]

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
                self.assertIn("store", complete('mayfly bench ""'))

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
