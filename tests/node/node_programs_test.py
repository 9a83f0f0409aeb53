#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs from npm that need scripts, or the server's word that a key has changed: queues, locks,
limiters and caches against the real program. See program_*.js for what each does.
"""

import glob
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "server")]

from mayfly_server import Mayfly, environment  # noqa: E402
from node_clients_test import install  # noqa: E402

AT_ONCE = 3  # most of the time they wait for a window or a delay to end


def run(path):
    """The outcome of one program with a server of its own."""
    with Mayfly() as server:
        return subprocess.run(["node", "--test", path], cwd=HERE, env=environment(server),
                              capture_output=True, text=True, check=False, timeout=100)


class NodeProgramsTest(unittest.TestCase):
    def test_programs(self):
        install()
        paths = sorted(glob.glob(os.path.join(HERE, "program_*.js")))
        self.assertTrue(paths)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for path, done in zip(paths, pool.map(run, paths)):
                with self.subTest(os.path.basename(path)):
                    self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
