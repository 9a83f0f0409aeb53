#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of `make docs` that need neither Doxygen nor MkDocs: the link check, the filter of headers,
and the page of the Python API."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/site"))
import check_links  # noqa: E402
import header_filter  # noqa: E402
import python_api  # noqa: E402


class LinksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "b").mkdir()
        (self.root / "b/two.html").write_text('<h1 id="here">Two</h1><a href="../one.html">up</a>')

    def check(self, text):
        """The exit code of the check of a site with this page, and what it prints."""
        (self.root / "one.html").write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = check_links.main(["", str(self.root)])
        return code, out.getvalue().splitlines()

    def test_good_links_pass(self):
        good = ('<a href="b/two.html#here">x</a> <a href="#me" id="me">y</a>'
                '<a href="https://example.org/">z</a> <img src="data:image/png;base64,AA==">')
        self.assertEqual(self.check(good), (0, ["links: none dead"]))

    def test_dead_links_fail_with_their_place(self):
        for link, why in [("b/three.html", "no such file"), ("b/two.html#there", "no such anchor"),
                          ("#there", "no such anchor"), ("b/", "leads to a folder"),
                          ("../other.html", "leads out of the site"),
                          ("/b/two.html", "is absolute, and works on one server only")]:
            with self.subTest(link=link):
                code, lines = self.check(f'<p>\n<a href="{link}">x</a>')
                self.assertEqual(code, 1)
                self.assertEqual(lines, [f"one.html:2: {link}: {why}", "links: 1 dead"])

    def test_a_page_may_load_nothing_from_the_network(self):
        code, lines = self.check('<script src="https://cdn.example.org/x.js"></script>')
        self.assertEqual(code, 1)
        self.assertIn("is loaded from the network", lines[0])


class HeaderFilterTest(unittest.TestCase):
    def convert(self, text):
        top = "// SPDX-License-Identifier: Apache-2.0\n// Box: holds <things>.\n//\n//   Box b;\n\n"
        return header_filter.convert(top + text).splitlines()

    def test_the_opening_comment_describes_file_and_class(self):
        lines = self.convert("class Box {\n};\n")
        self.assertEqual(lines[:2], ["/// \\file", "/// Box: holds \\<things\\>."])
        self.assertIn("/// \\class mayfly::Box", lines)
        self.assertEqual(lines[-6:-3], ["/// ~~~{.cpp}", "/// Box b;", "/// ~~~"])

    def test_comments_before_and_behind_declarations_are_documentation(self):
        lines = self.convert("// What.\nint f();\nint x;  // in ms\n        // and more\n")
        self.assertEqual(lines[-4:], ["/// What.", "int f();", "int x;  ///< in ms",
                                      "        ///< and more"])

    def test_comments_in_bodies_and_alone_are_not(self):
        text = "// Alone.\n\ninline int f() {\n  // Why.\n  return 1;  // one\n}\n"
        self.assertEqual(self.convert(text)[-6:], text.splitlines())


class PythonApiTest(unittest.TestCase):
    def test_the_page_has_every_exported_class_with_its_signatures(self):
        page = python_api.page(ROOT / "python/mayfly")
        for text in ["### KVStore\n", "### Cache\n", "### ttl_cache\n", "## mayfly.aio\n",
                     "KVStore.put(key", "await "]:
            self.assertIn(text, page)


if __name__ == "__main__":
    unittest.main()
