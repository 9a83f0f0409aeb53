#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's python3-redis, which Debian's own Python has, against the real program."""

import os
import subprocess
import unittest

from mayfly_server import Mayfly, environment

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_client.py")


class PythonClientTest(unittest.TestCase):
    def test_what_a_user_does(self):
        with Mayfly() as server:
            done = subprocess.run([PYTHON, PROGRAM], env=environment(server), text=True,
                                  capture_output=True, check=False, timeout=100)
            self.assertEqual(done.returncode, 0, "\n" + done.stderr)


if __name__ == "__main__":
    unittest.main()
