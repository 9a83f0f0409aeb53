#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients from npm against the real program: see client_*.js for what each does.

The packages are installed into node_modules here, as package-lock.json says, if they are not there.
"""

import fcntl
import glob
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import Mayfly, environment  # noqa: E402


def install():
    """Once, and again when the list of packages has changed."""
    lock, installed = (os.path.join(HERE, name) for name in
                       ("package-lock.json", "node_modules/.installed-lock.json"))
    with open(os.path.join(HERE, "package.json"), encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(installed):
            with open(lock, encoding="utf-8") as new, open(installed, encoding="utf-8") as old:
                if new.read() == old.read():
                    return
        # The optional packages are machine code for some systems, which nothing here needs.
        subprocess.run(["npm", "ci", "--omit=optional", "--ignore-scripts", "--no-audit",
                        "--no-fund", "--loglevel", "error"], cwd=HERE, check=True, timeout=250,
                       stdin=subprocess.DEVNULL)
        shutil.copy(lock, installed)


class NodeClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install()

    def test_clients(self):
        for path in sorted(glob.glob(os.path.join(HERE, "client_*.js"))):
            with self.subTest(os.path.basename(path)), Mayfly() as server:
                done = subprocess.run(["node", "--test", path], cwd=HERE, env=environment(server),
                                      capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
