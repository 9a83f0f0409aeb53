#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A store without memory: the thread of its log at each of its allocations, and a process whose
address space is limited (RLIMIT_AS). Afterwards the store is sound, no lock is kept, and another
process can write at once. src/capi/tests has the calls.
"""

import os
import subprocess
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["MAYFLY_BUILD"], "tests", "memory", "store_memory")


class StoreMemoryTest(unittest.TestCase):
    def run_mode(self, mode):
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None,
                                         prefix="mayfly-") as folder:
            done = subprocess.run([PROGRAM, mode, folder], capture_output=True, text=True,
                                  timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            print(done.stdout, end="")

    def test_the_thread_of_the_log_goes_on_when_there_is_memory_again(self):
        self.run_mode("thread")

    def test_a_process_with_little_address_space_keeps_a_sound_store(self):
        self.run_mode("address-space")


if __name__ == "__main__":
    unittest.main()
