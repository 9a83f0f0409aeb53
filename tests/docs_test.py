#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents keep their word: links lead somewhere, and the C++ and the C in them compile.

A ```cpp block of README.md or docs/ compiles as it stands if it has a main. Otherwise it is put
into a function, or into a namespace if it begins by declaring a type, after PRELUDE, which has what
such blocks may use. A ```c block is put into a function that has an open store, `kv`; one with a
main is linked and run. A block that cannot compile has the comment <!-- not compiled --> before it.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {"build", "node_modules"}
NOT_COMPILED = "<!-- not compiled -->"

PRELUDE = """
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include "mayfly/cache.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/sharded_cache.h"
#include "mayfly/store.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/window_queue.h"

using namespace mayfly;
using namespace std::chrono_literals;

struct Session { std::string user; };
struct Page { std::string text; };
extern Session session;
Page render(const std::string& path);
void use(const Session& session);
void log(const std::string& line);
void wait_for_events(Millis timeout);
void handle_events();
void schedule_another_purge();

namespace documents {
extern ManualClock clock;
extern Cache<std::string, Session> sessions;
extern ShardedCache<std::string, Page> pages;
extern Store store;
}
"""


class Block(NamedTuple):
    path: str
    line: int  # of its first line of code
    language: str
    code: str
    is_marked: bool  # as not to be compiled


def documents():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [n for n in folders if not n.startswith(".") and n not in SKIPPED_FOLDERS]
        for name in sorted(names):
            if name.endswith(".md"):
                yield (pathlib.Path(folder) / name).relative_to(ROOT).as_posix()


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def split(path, text):
    """The blocks of code in a document, and its text with them (and inline code) blanked."""
    blocks, prose, code, start, language = [], [], None, 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```(.*)", line)
        if fence and code is None:
            code, start, language = [], number + 1, fence.group(1).strip()
        elif fence:
            before = "\n".join(prose).rstrip().endswith(NOT_COMPILED)
            blocks.append(Block(path, start, language, "\n".join(code) + "\n", before))
            prose += [""] * (len(code) + 2)
            code = None
        elif code is not None:
            code.append(line)
        else:
            prose.append(re.sub(r"`[^`]*`", "`code`", line))
    return blocks, "\n".join(prose)


def links(prose):
    found = re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", prose)
    found += re.findall(r"(?m)^\[[^\]]+\]:\s*(\S+)", prose)
    found += re.findall(r"<(?:img|a)\b[^>]*(?:src|href)=\"([^\"]+)\"", prose)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(text):
    """The names by which the sections of a document can be linked."""
    _, prose = split("", re.sub(r"`", "", text))
    titles = re.findall(r"(?m)^#+\s+(.*?)\s*$", prose)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path):
    _, prose = split(path, read(path))
    for link in links(prose):
        target, _, anchor = link.partition("#")
        file = (ROOT / path).parent / target if target else ROOT / path
        if not file.exists():
            yield f"{path}: {link}: there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{path}: {link}: there is no such section"


def blocks_of(language):
    for path in documents():
        if path == "README.md" or path.startswith("docs/"):
            yield from (block for block in split(path, read(path))[0] if block.language == language)


def cpp_blocks():
    return blocks_of("cpp")


def has_main(block):
    return re.search(r"\bint main\b", block.code) is not None


def wrap(number, block):
    """A block as part of a larger file; the compiler's messages name its place in the document."""
    place = f'#line {block.line} "{block.path}"\n'
    if re.match(r"(//.*\n)*(class|struct|template|using|static_assert)\b", block.code):
        return f"namespace documents::block_{number} {{\n{place}{block.code}}}\n"
    return f"namespace documents {{\nvoid block_{number}() {{ {{\n{place}{block.code}}} }}\n}}\n"


def c_unit(number, block):
    place = f'#line {block.line} "{block.path}"\n'
    if has_main(block):
        return place + block.code
    return ('#include <stdio.h>\n#include "kvstore_histogram.h"\n'
            f"void block_{number}(KVStore* kv) {{\n{place}{block.code}}}\n")


def translation_units():
    blocks = [block for block in cpp_blocks() if not block.is_marked]
    parts = [wrap(i, block) for i, block in enumerate(blocks) if not has_main(block)]
    yield PRELUDE + "".join(parts)
    for block in blocks:
        if has_main(block):
            yield f'#line {block.line} "{block.path}"\n{block.code}'


class DocsTest(unittest.TestCase):
    def test_every_link_leads_to_a_file_or_section_that_exists(self):
        self.assertEqual([problem for path in documents() for problem in broken_links(path)], [])

    def test_links_are_found_at_all(self):
        text = "[a](x.md) ![b](y.svg \"title\") `[c](z)` [d](https://e.f) [g](#h)\n\n[i]: j.md\n"
        self.assertEqual(links(split("", text)[1]), ["x.md", "y.svg", "#h", "j.md"])
        self.assertGreater(sum(len(links(split("", read(p))[1])) for p in documents()), 50)

    def test_every_cpp_block_compiles(self):
        self.assertGreater(len(list(cpp_blocks())), 20, "the blocks are not found")
        compiler = os.environ.get("CXX", "g++")
        with tempfile.TemporaryDirectory() as folder:
            jobs = []
            for number, text in enumerate(translation_units()):
                source = pathlib.Path(folder) / f"unit_{number}.cc"
                source.write_text(text, encoding="utf-8")
                command = [compiler, "-fsyntax-only", "-std=c++20", "-Werror=unused-result",
                           "-I", ROOT / "include", source]
                jobs.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            messages = [job.communicate()[1] for job in jobs]
            for job, message in zip(jobs, messages):
                self.assertEqual(job.returncode, 0, message)

    def test_every_c_block_compiles_and_programs_run(self):
        blocks = list(blocks_of("c"))
        self.assertGreater(len(blocks), 5, "the blocks are not found")
        self.assertTrue(any(map(has_main, blocks)))
        build = os.environ["MAYFLY_BUILD"]
        for number, block in enumerate(blocks):
            with self.subTest(place=f"{block.path}:{block.line}"), \
                    tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder) / "block.c"
                source.write_text(c_unit(number, block), encoding="utf-8")
                command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", source,
                           "-I", ROOT / "include"]
                if not has_main(block):
                    subprocess.run([*command, "-fsyntax-only"], check=True)
                    continue
                subprocess.run([*command, f"-L{build}", "-lmayfly", f"-Wl,-rpath,{build}",
                                "-o", source.with_suffix("")], check=True)
                subprocess.run([source.with_suffix("")], cwd=folder, check=True)

    def test_few_blocks_are_exempt(self):
        blocks = list(cpp_blocks())
        self.assertLess(sum(block.is_marked for block in blocks) * 10, len(blocks))

    def test_the_readme_shows_the_example_as_it_is(self):
        example = read("examples/cpp/quick_start.cc")
        code = example[example.index("#include"):]
        self.assertIn(code, [block.code for block in cpp_blocks() if block.path == "README.md"])


if __name__ == "__main__":
    unittest.main()
