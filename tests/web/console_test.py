#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The web console: type check and unit tests of web/, then the page in Debian's Chromium against
the real program. See console_*.mjs for what is done there.

    tests/web/console_test.py --screenshots     makes the pictures of docs/console.md again

The packages are installed into $MAYFLY_BUILD/web-test, as web/package-lock.json says.
"""

import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WEB = os.path.join(ROOT, "web")
BUILD = os.path.abspath(os.environ.get("MAYFLY_BUILD", os.path.join(ROOT, "build/release")))
FOLDER = os.path.join(BUILD, "web-test")
MODULES = os.path.join(FOLDER, "node_modules")


def node(*words, timeout_s=250, **more_environment):
    """Runs it in a process group of its own, of which nothing is left afterwards."""
    environment = {**os.environ, "NODE_PATH": MODULES, "MODULES": MODULES, **more_environment}
    environment.setdefault("MAYFLY", os.path.join(BUILD, "mayfly"))
    process = subprocess.Popen(["node", *words], cwd=ROOT, env=environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


class ConsoleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        status, output = node(os.path.join(WEB, "install.mjs"), "--out", FOLDER, "--dev")
        if status != 0:
            raise AssertionError(output)

    def succeeds(self, *words, **more):
        status, output = node(*words, **more)
        self.assertEqual(status, 0, "\n" + output)
        return output

    def test_types(self):
        # The compiler looks for packages beside the sources, and there are none.
        sources = os.path.join(FOLDER, "types")
        shutil.rmtree(sources, ignore_errors=True)
        os.makedirs(sources)
        shutil.copytree(os.path.join(WEB, "src"), os.path.join(sources, "src"))
        shutil.copy(os.path.join(WEB, "tsconfig.json"), sources)
        self.succeeds(os.path.join(MODULES, "typescript/bin/tsc"), "-p", sources)

    def test_units(self):
        out = os.path.join(FOLDER, "units")
        self.succeeds(os.path.join(WEB, "build.mjs"), "--modules", MODULES, "--out", out, "--tests")
        files = sorted(glob.glob(os.path.join(out, "**/*_test.mjs"), recursive=True))
        self.assertTrue(files)
        self.succeeds("--test", *files)

    def test_browser(self):
        files = sorted(glob.glob(os.path.join(HERE, "console_*_test.mjs")))
        self.assertTrue(files)
        for path in files:
            with self.subTest(os.path.basename(path)):
                output = self.succeeds("--test", path)
                print(*(line for line in output.splitlines() if "first paint" in line), sep="\n")


if __name__ == "__main__":
    if "--screenshots" in sys.argv:
        ConsoleTest.setUpClass()
        result, text = node(os.path.join(HERE, "screenshots.mjs"))
        print(text, end="")
        sys.exit(result)
    unittest.main()
