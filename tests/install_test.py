#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the library, and builds and runs programs that use the installed copy.

In C++ and in C, by CMake and by pkg-config, with the static library and the shared one. The users
know nothing of LMDB and xxHash, which the library needs.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["MAYFLY_BUILD"]

PROGRAM_CC = """
#include <mayfly/cache.h>
#include <mayfly/store.h>
int main() {
  const mayfly::SystemClock clock;
  mayfly::Cache<int, int> cache(clock);
  auto store = mayfly::Store::open("", clock);
  if (!store || !store->put("key", "value", std::chrono::hours(1))) return 1;
  cache.put(1, 2);
  return **store->get("key") == "value" && *cache.get(1) == 2 ? 0 : 1;
}
"""

PROGRAM_C = """
#include <kvstore.h>
int main(void) {
  KVStore* kv = NULL;
  int exists = 0;
  if (kvstore_open(NULL, &kv, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) return 1;
  if (kvstore_put(kv, "key", 3, "value", 5) != KVSTORE_OK) return 2;
  if (kvstore_exists(kv, "key", 3, &exists) != KVSTORE_OK || !exists) return 3;
  return kvstore_close(kv) == KVSTORE_OK ? 0 : 4;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES {language})
find_package(mayfly 0.1 REQUIRED)
add_executable(static {source})
target_link_libraries(static PRIVATE mayfly::mayfly)
add_executable(shared {source})
target_link_libraries(shared PRIVATE mayfly::shared)
"""

LANGUAGES = {
    "CXX": ("program.cc", PROGRAM_CC, ["g++", "-std=c++20", "-Wall", "-Werror"]),
    "C": ("program.c", PROGRAM_C, ["gcc", "-std=c99", "-Wall", "-Werror", "-pedantic-errors"]),
}


def run(*command, codes=(0,), **environment):
    done = subprocess.run(command, env=os.environ | environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in codes:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def libraries(program):
    return run("ldd", program)


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        # It is installed in one place and then moved, since no path may be in the files.
        first = os.path.join(cls.folder, "first")
        cls.prefix = os.path.join(cls.folder, "prefix")
        run("cmake", "--install", BUILD, "--prefix", first)
        shutil.move(first, cls.prefix)
        found = run("find", cls.prefix, "-name", "mayfly.pc").strip()
        cls.library = os.path.dirname(os.path.dirname(found))

    def assert_works(self, program, kind):
        run(program, LD_LIBRARY_PATH=self.library if kind == "shared" else "")
        links = "libmayfly.so" in libraries(program)
        self.assertEqual(links, kind == "shared", f"{program} is linked in another way")

    def user(self, language):
        """A folder with the source of a program in that language."""
        source, text, _ = LANGUAGES[language]
        folder = tempfile.mkdtemp(dir=self.folder)
        for name, content in [(source, text), ("CMakeLists.txt", PROJECT.format(
                language=language, source=source))]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        return folder

    def test_by_cmake(self):
        for language in LANGUAGES:
            with self.subTest(language):
                folder = self.user(language)
                run("cmake", "-S", folder, "-B", folder, "-G", "Ninja",
                    f"-DCMAKE_PREFIX_PATH={self.prefix}")
                run("cmake", "--build", folder, "-j1")
                for kind in ["static", "shared"]:
                    self.assert_works(os.path.join(folder, kind), kind)

    def flags(self, *what, package="mayfly"):
        path = os.path.join(self.library, "pkgconfig")
        return run("pkg-config", *what, package, PKG_CONFIG_PATH=path).split()

    def test_by_pkg_config(self):
        for language in LANGUAGES:
            for kind in ["static", "shared"]:
                with self.subTest(language=language, kind=kind):
                    self.build_by_pkg_config(language, kind)

    def build_by_pkg_config(self, language, kind):
        source, _, compile_it = LANGUAGES[language]
        folder = self.user(language)
        program = os.path.join(folder, kind)
        links = self.flags("--libs", package="mayfly" if kind == "shared" else "mayfly-static")
        run(*compile_it, *self.flags("--cflags"), os.path.join(folder, source), "-o", program,
            *links)
        self.assert_works(program, kind)

    def test_a_shared_link_needs_nothing_but_the_library(self):
        self.assertEqual([flag for flag in self.flags("--libs") if flag.startswith("-l")],
                         ["-lmayfly"])

    def test_a_program_without_shared_libraries(self):
        for language, (source, _, compile_it) in LANGUAGES.items():
            with self.subTest(language):
                folder = self.user(language)
                program = os.path.join(folder, "program")
                run(*compile_it, "-static", *self.flags("--cflags"), os.path.join(folder, source),
                    "-o", program, *self.flags("--static", "--libs"))
                run(program)
                self.assertIn("not a dynamic executable", run("ldd", program, codes=(0, 1)))

    def test_a_package_that_is_not_installed_leaves_nothing(self):
        folders = os.listdir(os.path.join(self.prefix, "share/doc"))
        has_module = bool(run("find", self.prefix, "-name", "mayfly", "-path", "*dist-packages*"))
        self.assertEqual("python3-mayfly" in folders, has_module)

    def test_the_service_starts_the_program_where_it_was_installed(self):
        with tempfile.TemporaryDirectory() as prefix:
            run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "server")
            folder = os.path.join(prefix, "lib/systemd/system")
            self.assertIn("mayfly.service", os.listdir(folder))
            for unit in os.listdir(folder):
                with open(os.path.join(folder, unit), encoding="utf-8") as file:
                    text = file.read()
                program = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE).group(1)
                # A server that cannot save refuses to end, and the address of `bind` is needed.
                self.assertRegex(text, r"(?m)^TimeoutStopSec=\d+min$")
                for word in ("Wants", "After"):
                    self.assertRegex(text, f"(?m)^{word}=network-online.target$")
                self.assertEqual(program, os.path.join(prefix, "bin/mayfly"))
                self.assertTrue(os.access(program, os.X_OK))

    def test_has_the_version_of_the_program(self):
        version = self.flags("--modversion")[0]
        program = run(os.path.join(self.prefix, "bin", "mayfly"), "--version")
        self.assertIn(version, program)


if __name__ == "__main__":
    unittest.main()
