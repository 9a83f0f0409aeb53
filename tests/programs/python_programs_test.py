#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's programs in Python that need scripts or queues, against the real program: redis-py's
locks and scripts, Celery, RQ. Each is a file beside this one, for Debian's own Python.
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import Mayfly, environment  # noqa: E402

PYTHON = "/usr/bin/python3"


class PythonProgramsTest(unittest.TestCase):
    def run_with_a_server(self, program):
        with Mayfly() as server:
            done = subprocess.run([PYTHON, "-B", os.path.join(HERE, program)], text=True,
                                  env=environment(server), capture_output=True, check=False,
                                  timeout=100)
            self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)

    def test_redis_py(self):
        self.run_with_a_server("redis_scripts.py")

    def test_celery(self):
        self.run_with_a_server("celery_queue.py")

    def test_rq(self):
        self.run_with_a_server("rq_queue.py")


if __name__ == "__main__":
    unittest.main()
