# SPDX-License-Identifier: Apache-2.0
"""Each program of examples/python checks what it tells, and ends with 0 if all of it holds."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parents[2] / "examples" / "python").glob("*.py"))


def test_the_programs_are_found():
    assert len(PROGRAMS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_holds(program, tmp_path):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, program], cwd=tmp_path, env=environment, timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "  yes: " in done.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
