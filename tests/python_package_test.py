#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package, as a user gets it: a wheel that pip installs into an empty environment.

There its own tests run (python/tests, by pytest), and the Python in the documents: every ```python
block of README.md and docs/. The blocks of a document share their names and a folder of their own.
One that cannot run has the comment <!-- no-run --> before it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- no-run -->\s*\n)?```python\n(.*?)^```", re.DOTALL | re.MULTILINE)

# Runs blocks of code that come as JSON: [[place, code], ...]. An error names its place.
RUNNER = """
import json, sys, traceback
names = {"__name__": "__main__"}
for place, code in json.load(sys.stdin):
    try:
        exec(compile(code, place, "exec"), names)
    except BaseException:
        traceback.print_exc()
        sys.exit(f"{place} failed")
"""


def find_python():
    """A Python that has pytest: Debian's own, for which Debian's packages are, or this one."""
    for python in ("/usr/bin/python3", sys.executable):
        probe = [python, "-c", "import pytest, hypothesis, venv, pip"]
        try:
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return python
        except FileNotFoundError:
            continue
    raise AssertionError("no Python here has pytest: `scripts/bootstrap.sh test` installs it")


def blocks(path):
    """The blocks of a document that are to run, and where they are."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match.group(1) is None:
            line = text.count("\n", 0, match.start(2)) + 1
            code = "\n" * (line - 1) + match.group(2)  # so that errors have the right line
            yield [str(path.relative_to(ROOT)), code]


class PythonPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        python, wheels = find_python(), cls.folder / "wheels"
        # Debian's packages for the tests, and Debian's pip, are seen from within.
        venv = [python, "-m", "venv", "--system-site-packages", "--without-pip"]
        subprocess.run([*venv, cls.folder / "venv"], check=True)
        cls.python = cls.folder / "venv" / "bin" / "python"
        pip = [cls.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--no-index", "--wheel-dir", wheels, ROOT], check=True)
        cls.wheel = next(wheels.glob("*.whl"))
        subprocess.run([*pip, "install", "--no-index", cls.wheel], check=True)

    def run_python(self, *arguments, codes=(0,), **keywords):
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        keywords.setdefault("cwd", self.folder)
        done = subprocess.run([self.python, *arguments], env=environment, text=True,
                              capture_output=True, check=False, **keywords)
        self.assertIn(done.returncode, codes, done.stdout[-20_000:] + done.stderr[-5000:])
        return done.stdout

    def test_the_package_passes_its_own_tests(self):
        tests = ROOT / "python" / "tests"
        said = self.run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
                               "--rootdir", tests, tests)
        self.assertGreater(int(re.search(r"(\d+) passed", said).group(1)), 300, said)

    def test_what_is_imported_is_the_installed_package_with_the_version_of_the_project(self):
        said = self.run_python("-c", "import mayfly; print(mayfly.__file__, mayfly.__version__)")
        file, version = said.split()
        self.assertTrue(file.startswith(str(self.folder)), file)
        self.assertIn(f"project(mayfly VERSION {version} ", (ROOT / "CMakeLists.txt").read_text())

    def test_the_wheel_has_types_and_lists_its_files(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            record = wheel.read(next(n for n in names if n.endswith("/RECORD"))).decode()
        self.assertEqual([row.split(",")[0] for row in record.splitlines()], names)
        for name in ("mayfly/__init__.py", "mayfly/py.typed", "mayfly/_mayfly.pyi"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if "test" in name])

    def test_the_module_shows_nothing_but_its_entry(self):
        module = next((self.folder / "venv").rglob("_mayfly.*.so"))
        said = subprocess.run(["nm", "-D", "--defined-only", module], capture_output=True,
                              text=True, check=True).stdout
        ours = [line.split()[-1] for line in said.splitlines()]
        ours = [name for name in ours if not name.startswith("_ZNSt") and "mayfly" in name]
        self.assertEqual(ours, ["PyInit__mayfly"])

    def test_a_source_archive_has_what_is_needed(self):
        code = "import build_backend, sys; print(build_backend.build_sdist(sys.argv[1]))"
        name = self.run_python("-c", code, self.folder, cwd=ROOT / "python").strip()
        said = subprocess.run(["tar", "-tzf", self.folder / name], capture_output=True, text=True,
                              check=True).stdout
        for wanted in ("/pyproject.toml\n", "/PKG-INFO\n", "/src/python/module.cc\n",
                       "/python/mayfly/__init__.py\n", "/CMakeLists.txt\n"):
            self.assertIn(wanted, said)

    def test_the_benchmarks_measure_everything_they_promise(self):
        """What they measure is another matter: how fast a machine is fails no test."""
        folder, quickly = ROOT / "bench" / "python", ("--quick", "--json")
        said = json.loads(self.run_python(folder / "bench.py", *quickly))
        measured = {(run["case"], run["system"]) for run in said["runs"]}
        for case, system in [("random get", "mayfly get"), ("random get", "sqlite3 SELECT"),
                             ("batched put with TTL", "mayfly put_many"),
                             ("batched put with TTL", "sqlite3 executemany"),
                             ("dbm-like use", "mayfly.dbm"), ("dbm-like use", "dbm.gnu"),
                             ("dbm-like use", "shelve"), ("cache", "mayfly.Cache"),
                             ("decorator", "mayfly.ttl_cache")]:
            self.assertIn((case, system), measured)
        self.assertTrue(all(run["metrics"]["us"] > 0 for run in said["runs"]))
        said = json.loads(self.run_python(folder / "batches.py", *quickly))
        self.assertEqual(len(said["runs"]), 8 * 3 * 3)
        self.assertEqual({run["system"] for run in said["runs"]}, {"put_many", "loop", "sqlite3"})

    def test_the_python_in_the_documents_runs(self):
        documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        count = 0
        for number, path in enumerate(documents):
            found = list(blocks(path))
            count += len(found)
            folder = self.folder / f"document_{number}"
            folder.mkdir()
            with self.subTest(document=path.name):
                if found:
                    self.run_python("-c", RUNNER, input=json.dumps(found), cwd=folder)
        self.assertGreater(count, 5, "the blocks are not found")


if __name__ == "__main__":
    unittest.main()
