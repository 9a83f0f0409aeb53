#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that misuse the C++ API do not compile, and the compiler says why in a sentence."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# All of it in one program, since compiling takes long. The comment is what the line must be told.
WRONG = """
#include <memory>
#include "mayfly/sharded_cache.h"

using namespace mayfly;

struct Point { int x, y; };
struct Same { bool operator==(const Same&) const = default; };
struct Hashed { int x; };
template <>
struct std::hash<Hashed> {
  std::size_t operator()(const Hashed&) const { return 0; }
};

void wrong() {
  SteadyClock clock;
  Cache<int, int> a(SteadyClock{});                   // use of deleted function .*Cache
  ShardedCache<int, int> b(SteadyClock{}, {}, 4);     // use of deleted function .*ShardedCache
  Cache<Same, int> c(clock);                          // the key has no hash
  ShardedCache<Same, int> d(clock);                   // the key has no hash
  ShardedCache<int, std::unique_ptr<int>> e(clock);   // the value can't be copied
}

void right() {
  SteadyClock clock;
  const Clock& any = clock;
  Cache<int, std::unique_ptr<int>> f(any);
  ShardedCache<std::string, Point> g(clock);
}
"""


def compile_errors(code, standard="c++20"):
    command = [os.environ.get("CXX", "g++"), f"-std={standard}", f"-I{ROOT / 'include'}",
               "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=code, text=True, capture_output=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    return re.findall(r"error: (.*)", done.stderr), done.stderr


class MisuseTest(unittest.TestCase):
    def test_each_wrong_line_is_told_what_is_wrong_with_it(self):
        errors, said = compile_errors(WRONG)
        wanted = re.findall(r"// (.*[^.])$", WRONG.split("void wrong")[1], re.MULTILINE)
        self.assertEqual(len(wanted), 5)
        for sentence in wanted:
            self.assertRegex("\n".join(errors), sentence, said)
        for line, text in enumerate(WRONG.splitlines(), 1):
            if re.search(r" [fg]\(", text):
                self.assertNotIn(f"<stdin>:{line}:", said)

    def test_a_key_that_cannot_be_compared_is_one_error(self):
        uses = "cache.put(Hashed{1}, 2); cache.get(Hashed{1}); cache.erase(Hashed{1});"
        start = WRONG.split("void wrong")[0]
        for kind in ("Cache", "ShardedCache"):
            errors, said = compile_errors(f"{start} void use() {{ SteadyClock clock; "
                                          f"{kind}<Hashed, int> cache(clock); {uses} }}")
            self.assertEqual(len(errors), 1, said[:3000])
            self.assertIn("the key has no operator==", errors[0])
            self.assertLess(said.count("\n"), 20, said)

    def test_an_older_language_is_the_only_error(self):
        headers = sorted(path.name for path in (ROOT / "include/mayfly").glob("*.h"))
        self.assertIn("store.h", headers)
        for header in headers:
            with self.subTest(header):
                errors, said = compile_errors(f'#include "mayfly/{header}"\n', "c++17")
                self.assertTrue(errors, "it says nothing")
                self.assertIn("needs C++20", errors[0], said[:2000])
                self.assertLess(said.count("\n"), 16, said[:2000])


if __name__ == "__main__":
    unittest.main()
