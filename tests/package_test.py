#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages, unpacks them, and uses what is in them as somebody would who installed
them: starts the server, compiles a program, imports the Python package."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["MAYFLY_BUILD"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "server"))

from mayfly_server import Mayfly  # noqa: E402

PROGRAM_C = """
#include <kvstore.h>
int main(void) {
  KVStore* kv = NULL;
  if (kvstore_open(NULL, &kv, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) return 1;
  return kvstore_close(kv) == KVSTORE_OK ? 0 : 2;
}
"""


def run(*command, **environment):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=os.environ | environment).stdout


def version():
    """The one in CMakeLists.txt, which is the only place where it stands."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return file.read().partition("project(mayfly VERSION ")[2].split()[0]


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", cls.folder)
        cls.packages = {os.path.basename(path).split("_")[0]: path
                        for path in glob.glob(os.path.join(cls.folder, "*.deb"))}
        cls.root = os.path.join(cls.folder, "root")
        for path in cls.packages.values():
            run("dpkg-deb", "-x", path, cls.root)

    def at(self, *parts):
        return os.path.join(self.root, "usr", *parts)

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.packages[package], name).strip()

    def test_there_are_four_and_all_have_the_version(self):
        self.assertEqual(set(self.packages),
                         {"mayfly", "libmayfly0.1", "libmayfly-dev", "python3-mayfly"})
        for package in self.packages:
            self.assertEqual(self.field(package, "Version"), version())
        self.assertEqual(run(self.at("bin/mayfly"), "--version").strip(), f"mayfly {version()}")

    def test_what_they_need_is_said(self):
        self.assertIn("liblmdb0", self.field("mayfly", "Depends"))
        self.assertIn("liblmdb0", self.field("libmayfly0.1", "Depends"))
        self.assertIn(f"libmayfly0.1 (= {version()})", self.field("libmayfly-dev", "Depends"))
        self.assertIn("python3", self.field("python3-mayfly", "Depends"))

    def test_only_a_cluster_needs_libcurl(self):
        self.assertEqual(self.field("mayfly", "Recommends"), "libcurl4")
        for package in self.packages:
            self.assertNotIn("libcurl", self.field(package, "Depends"))
        self.assertNotIn("libcurl", run("ldd", self.at("bin/mayfly")))

    def test_each_says_under_which_license_it_comes(self):
        for package in self.packages:
            with open(self.at("share/doc", package, "copyright"), encoding="utf-8") as file:
                self.assertIn("Apache-2.0", file.read())

    def test_the_server_starts(self):
        installed = Mayfly()
        installed.command = [self.at("bin/mayfly"), "serve"]
        with installed as server:
            client = server.client()
            self.assertEqual(client.ask("HSETEX", "h", "EX", "60", "FIELDS", "1", "f", "v"), 1)
            self.assertEqual(client.ask("HTTL", "h", "FIELDS", "1", "f"), [60])

    def test_a_program_can_be_compiled(self):
        source = os.path.join(self.folder, "program.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM_C)
        program = os.path.join(self.folder, "program")
        run("gcc", "-I", self.at("include"), source, "-o", program, "-L", self.at("lib"),
            "-lmayfly")
        run(program, LD_LIBRARY_PATH=self.at("lib"))

    def test_python_imports_it(self):
        folder = self.at("lib/python3/dist-packages")
        program = "import mayfly; print(mayfly.__version__, mayfly.__file__)"
        text = run("/usr/bin/python3", "-c", program, PYTHONPATH=folder)
        self.assertEqual(text.split(), [version(), os.path.join(folder, "mayfly/__init__.py")])

    def test_manual_completions_and_service_are_there(self):
        for path in ["share/man/man1/mayfly.1", "share/man/man1/mayfly-serve.1",
                     "share/man/man1/mayfly-put.1", "share/bash-completion/completions/mayfly",
                     "share/zsh/vendor-completions/_mayfly",
                     "share/fish/vendor_completions.d/mayfly.fish",
                     "lib/systemd/system/mayfly.service", "lib/systemd/system/mayfly@.service"]:
            self.assertTrue(os.path.getsize(self.at(path)) > 0, path)


if __name__ == "__main__":
    unittest.main()
