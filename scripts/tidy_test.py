#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each house rule once, in a small tree made for it, and sees that just this rule fires."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tidy
from house_rules import cpp, structure

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
TOP = LICENCE + "// What it is.\n\n"
HEADER = TOP + "#pragma once\n\n"
TABLE = {
    "base": {"may_use": [], "headers": ["mayfly/time.h"]},
    "expiry": {"may_use": ["base"], "headers": ["mayfly/heap.h"]},
    "cache": {"may_use": ["expiry"], "headers": []},
    "net": {"may_use": ["base"], "headers": []},
}
GOOD = {
    "CMakeLists.txt": "mayfly_module(base)\nmayfly_module(expiry DEPENDS mayfly_base)\n"
    "mayfly_module(cache DEPENDS mayfly_expiry fmt::fmt)\n",
    "README.md": "# Title\n\n## Part\n\n```sh\n# a comment\n```\n",
    "include/mayfly/time.h": HEADER + "using Time = long;\n",
    "include/mayfly/heap.h": HEADER + '#include "mayfly/time.h"\n\ninline Time least;\n',
    "src/base/clock.cc": TOP + '#include "mayfly/time.h"\n\nTime t = clock_gettime();\n',
    "src/expiry/heap.cc": LICENCE + '#include "mayfly/heap.h"\n',
    "src/cache/cache_test.cc": TOP + '#include "mayfly/heap.h"\n#include "mayfly/time.h"\n',
    "scripts/modules.json": json.dumps(TABLE),
    "scripts/run.sh": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# What it does.\nls\n",
    "examples/cpp/first.cc": TOP + '#include "mayfly/heap.h"\n\nint main() {}\n',
    "build/debug/bad.cc": "using namespace std;\n",
}
MARKER = "TO" + "DO"


def body(lines):
    return "{\n" + "  ;\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in GOOD.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def problems(self, compiling=False):
        rules = [rule for rule in tidy.RULES if compiling or rule is not structure.lone_header]
        _, found = tidy.check(self.root, rules)
        return [f"{problem.path}:{problem.line}: {rule}" for rule, problem in found]

    def expect(self, rule, path, text, line=1, compiling=False):
        """With `text` in the file `path`, this rule fires there, and no other does anywhere."""
        self.write(path, text)
        self.assertEqual(self.problems(compiling), [f"{path}:{line}: {rule}"])

    def expect_good(self, path, text):
        self.write(path, text)
        self.assertEqual(self.problems(), [])


class TextTest(TidyTest):
    def test_good_tree_has_no_problem(self):
        self.assertEqual(self.problems(compiling=True), [])

    def test_file_of_401_lines(self):
        self.expect("file length", "src/base/a.cc", TOP + "int x;\n" * 398, line=401)

    def test_file_of_400_lines_is_good(self):
        self.expect_good("src/base/a.cc", TOP + "int x;\n" * 397)

    def test_test_of_801_lines(self):
        self.expect("file length", "src/base/a_test.cc", TOP + "int x;\n" * 798, line=801)

    def test_test_of_800_lines_is_good(self):
        self.expect_good("src/base/a_test.cc", TOP + "int x;\n" * 797)

    def test_function_of_71_lines(self):
        self.expect("function length", "src/base/a.cc", TOP + "void f() " + body(71), line=4)

    def test_function_of_70_lines_is_good(self):
        self.expect_good("src/base/a.cc", TOP + "void f() " + body(70))

    def test_python_function_of_71_lines(self):
        text = "# SPDX-License-Identifier: Apache-2.0\n# What.\ndef f():\n" + "    f()\n" * 70
        self.expect("function length", "scripts/a.py", text, line=3)

    def test_line_of_101_columns(self):
        self.expect("columns", "src/base/a.cc", TOP + "//" + "x" * 99, line=4)

    def test_line_of_100_wide_characters_is_good(self):
        self.expect_good("src/base/a.cc", TOP + "//" + "─" * 98)

    def test_licence_missing_in_cpp(self):
        self.expect("licence", "src/base/a.cc", "// What it is.\n")

    def test_licence_missing_below_shebang(self):
        self.expect("licence", "scripts/run.sh", "#!/bin/sh\n# What it does.\n", line=2)

    def test_first_comment_missing(self):
        self.expect("first comment", "src/base/a.cc", LICENCE + "int x;\n")

    def test_first_comment_missing_in_python(self):
        self.expect("first comment", "scripts/a.py", LICENCE.replace("//", "#") + "x = 1\n")

    def test_first_comment_missing_in_a_test_although_the_header_has_one(self):
        text = LICENCE + '#include "mayfly/heap.h"\n'
        self.expect("first comment", "src/expiry/heap_test.cc", text)

    def test_marker_in_a_comment(self):
        self.expect("markers", "src/base/a.cc", TOP + f"// {MARKER}: later\n", line=4)

    def test_marker_in_a_document(self):
        self.expect("markers", "docs/a.md", f"# Title\n{MARKER}\n", line=2)

    def test_second_title(self):
        self.expect("titles", "docs/a.md", "# One\n\n# Two\n", line=3)


class CodeTest(TidyTest):
    def expect_each(self, rule, path, lines):
        for line in lines:
            with self.subTest(line):
                self.expect(rule, path, TOP + line + "\n", line=4)

    def test_system_clock(self):
        self.expect_each(
            "system clock",
            "src/base/a.cc",
            [
                "auto t = std::chrono::steady_clock::now();",
                "using C = std::chrono::system_clock;",
                "long t = time(nullptr);",
                "auto t = std::time(0);",
                "int r = ::clock_gettime(id, &spec);",
                "int r = gettimeofday(&tv, nullptr);",
            ],
        )

    def test_words_like_the_system_clock_are_good(self):
        words = "// steady_clock\nauto s = R\"x(steady_clock)x\";\nauto t = entry.time(0);\n"
        self.expect_good("src/base/a.cc", TOP + words)

    def test_sleeping_cpp_test(self):
        self.expect_each(
            "sleeping test",
            "src/base/a_test.cc",
            [
                "void f() { std::this_thread::sleep_for(1ms); }",
                "void f() { std::this_thread::sleep_until(t); }",
                "void f() { ::usleep(10); }",
                "void f() { sleep(1); }",
            ],
        )

    def test_sleeping_on_our_alarm_is_good(self):
        self.expect_good("src/base/a_test.cc", TOP + "void f() { alarm.sleep_until(t); }\n")

    def test_sleeping_scripts(self):
        top = "# SPDX-License-Identifier: Apache-2.0\n# What.\n"
        self.expect("sleeping test", "tests/a_test.py", top + "time.sleep(1)\n", line=3)
        self.write("tests/a_test.py", top)
        self.expect("sleeping test", "tests/a_test.sh", top + "sleep 1\n", line=3)

    def test_using_namespace(self):
        self.expect("using namespace", "src/base/a.cc", TOP + "using namespace std;\n", line=4)

    def test_using_namespace_of_literals_is_good(self):
        text = "using namespace std::chrono_literals;\nusing namespace std::literals;\n"
        self.expect_good("src/base/a.cc", TOP + text)

    def test_shared_ownership(self):
        self.expect("shared ownership", "src/base/a.cc", TOP + "std::shared_ptr<T> p;\n", line=4)

    def test_pragma_once_missing(self):
        text = TOP + "// Not code: #pragma once\n"
        self.expect("pragma once", "include/mayfly/time.h", text)


class StructureTest(TidyTest):
    def test_public_header_in_no_module(self):
        self.write("src/base/a.cc", TOP + '#include "mayfly/new.h"\n')
        self.expect("module table", "include/mayfly/new.h", HEADER)

    def test_table_names_a_header_that_does_not_exist(self):
        table = TABLE | {"net": {"may_use": ["base"], "headers": ["mayfly/gone.h"]}}
        self.expect("module table", "scripts/modules.json", json.dumps(table))

    def test_build_against_the_table(self):
        text = GOOD["CMakeLists.txt"] + "mayfly_module(net\n  DEPENDS mayfly_cache)\n"
        self.expect("module table", "CMakeLists.txt", text, line=4)

    def test_module_without_a_row(self):
        text = GOOD["CMakeLists.txt"] + "mayfly_module(odd)\n"
        self.expect("module table", "CMakeLists.txt", text, line=4)

    def test_include_of_a_higher_module(self):
        text = TOP + '#include "mayfly/heap.h"\n'
        self.expect("module includes", "src/base/a.cc", text, line=4)

    def test_include_of_a_higher_module_in_a_public_header(self):
        text = HEADER + '#include "mayfly/heap.h"\n'
        self.expect("module includes", "include/mayfly/time.h", text, line=6)

    def test_include_of_a_private_header_of_another_module(self):
        self.write("src/net/socket.h", HEADER)
        text = TOP + '#include "net/socket.h"\n'
        self.expect("module includes", "src/cache/a.cc", text, line=4)

    def test_private_header_in_an_example(self):
        self.write("src/base/bits.h", HEADER)
        text = TOP + '#include "base/bits.h"\n'
        self.expect("module includes", "examples/cpp/first.cc", text, line=4)

    def test_private_header_in_a_public_one(self):
        self.write("src/base/bits.h", HEADER)
        text = HEADER + '#include "base/bits.h"\n'
        self.expect("module includes", "include/mayfly/time.h", text, line=6)

    def test_quoted_include_without_its_module(self):
        text = TOP + '#include "bits.h"\n'
        self.expect("module includes", "src/base/a.cc", text, line=4)

    def test_source_in_a_folder_that_the_build_does_not_name(self):
        self.expect("dead source", "src/net/a.cc", TOP)

    def test_source_in_a_folder_of_a_module_is_good(self):
        self.expect_good("src/base/deep/a.cc", TOP)

    def test_folder_of_31_files(self):
        for number in range(31):
            self.write(f"src/base/deep/a{number:02}.cc", TOP)
        self.assertEqual(self.problems(), ["src/base/deep/a00.cc:1: crowded folder"])

    def test_header_that_nothing_includes(self):
        self.expect("dead source", "src/base/bits.h", HEADER + '#include "base/bits.h"\n')

    def test_header_that_does_not_compile_alone(self):
        text = HEADER + "inline std::string name;\n"
        self.expect("lone header", "include/mayfly/heap.h", text, compiling=True)

    def test_header_that_its_source_does_not_begin_with(self):
        self.write("src/base/a.cc", TOP + '#include <regex>\n#include "base/a.h"\n')
        text = HEADER + "inline std::regex* out = nullptr;\n"
        self.expect("lone header", "src/base/a.h", text, compiling=True)

    def test_header_that_its_source_begins_with_is_left_to_the_build(self):
        self.write("src/base/a.cc", TOP + '#include "base/a.h"\n')
        self.write("src/base/a.h", HEADER + "inline std::regex* out = nullptr;\n")
        self.assertEqual(self.problems(compiling=True), [])


class ProgramTest(TidyTest):
    def run_tidy(self):
        command = [sys.executable, tidy.__file__, "--root", self.root, "--no-compile"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_good_tree_ends_with_0_and_one_line(self):
        status, lines = self.run_tidy()
        self.assertEqual((status, len(lines)), (0, 1))

    def test_bad_tree_ends_with_1_and_a_line_for_each_problem(self):
        self.write("src/base/a.cc", TOP + "using namespace std;\nusing namespace boost;\n")
        status, lines = self.run_tidy()
        self.assertEqual((status, len(lines)), (1, 3))
        self.assertRegex(lines[0], r"^src/base/a\.cc:4: using namespace: `using namespace std`: ")


class FunctionsTest(unittest.TestCase):
    """What the scanner takes for a function, and what it does not."""

    def expect_lengths(self, text, lengths):
        found = [function.length for function in cpp.functions(cpp.blank(text))]
        self.assertEqual(found, lengths, text)

    def test_functions(self):
        for head in [
            "void f()",
            "auto f() const noexcept -> std::vector<int>",
            "template <class T>\n  requires std::integral<T>\nT f(T t)",
            "template <class T>\nvoid f(T t) requires requires(T u) { u.x(); }",
            "S::S(int a) : a_(a), b_{a}, c_{{1}, 2}",
            "S() : a_{1}",
            "struct tm convert(struct tm in)",
            "bool operator()(int a, Options o = {}) const",
            "TEST(Suite, Claim)",
            "const auto f = [](int a)",
            "const auto f = [&]",
            "enum Kind kind() &&",
        ]:
            with self.subTest(head):
                self.expect_lengths(f"int x{{1}};\n{head} {body(9)}", [9 + head.count("\n")])

    def test_scopes_are_looked_into(self):
        for head in [
            "namespace mayfly::base",
            "namespace",
            'extern "C"',
            "class [[nodiscard]] C final : public B<int>",
            "template <class T, class = decltype(T())>\nstruct alignas(64) S",
            "union U",
        ]:
            with self.subTest(head):
                self.expect_lengths(f"{head} {{\n private:\n  void f() {body(5)}\n}};\n", [5])

    def test_values_are_no_functions(self):
        for text in [
            "constexpr Row kRows[] = {\n{f(1)},\n};",
            "std::array<int, size(x)> a{\n1};",
            "enum class When : unsigned {\na,\nb };",
            "template <class T>\nconcept C = requires(T t) {\n{ t.f() } -> std::same_as<int>;\n};",
            "#define BODY {\nint x;",
            "auto text = R\"(void f() {\n})\";  // void g() {",
            "char c = '{', d = '\\'';\nlong n = 1'000'000;\nauto s = \"\\\"{\";",
        ]:
            with self.subTest(text):
                self.expect_lengths(text + "\nvoid f() {}", [1])

    def test_lambdas_count_with_their_function(self):
        self.expect_lengths("void f() {\n  g([] {\n    h();\n  });\n}\n", [5])


if __name__ == "__main__":
    unittest.main()
