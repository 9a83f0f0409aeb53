# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of the Python package: what `pip install .` calls (PEP 517 and PEP 660).

CMake builds the module, in build/release or where $MAYFLY_BUILD says; what is there already is used
again. The wheel is that module, the files of python/mayfly, and three files that describe it. The
version is that of CMakeLists.txt. Nothing but the standard library is needed, and no network.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "mayfly"
SHIPPED = (".py", ".pyi", ".typed")
EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same sources make the same wheel
NOT_SOURCES = ("build", "node_modules")


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(mayfly VERSION ([0-9.]+)", text).group(1)


def fail(reason: str) -> None:
    raise SystemExit(f"mayfly: {reason}")


def build_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("MAYFLY_BUILD", ROOT / "build" / "release"))


def base_python() -> str:
    """The Python behind that of a virtual environment: its module is good for all of them."""
    return getattr(sys, "_base_executable", None) or sys.executable


def run(*command) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, check=False)
    if done.returncode != 0:
        fail(f"`{command[0]}` failed; what it says is above. These Debian packages are needed: "
             "`scripts/bootstrap.sh build python` installs them")


def check_tools() -> None:
    for tool, package in (("cmake", "cmake"), ("ninja", "ninja-build"), ("c++", "g++")):
        if shutil.which(tool) is None:
            fail(f"there is no `{tool}` here; on Debian it is in the package {package}")
    header = pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        fail(f"{header} is missing; on Debian it is in the package python3-dev")


def build_module() -> pathlib.Path:
    """Builds the module for the Python that runs this, and returns where it is."""
    check_tools()
    folder = build_folder()
    run("cmake", "--preset", "release", "-B", folder, "-DMAYFLY_PYTHON=ON",
        f"-DPython3_EXECUTABLE={base_python()}")
    run("cmake", "--build", folder, "--target", "python_module")
    return folder / "python" / f"_mayfly.{sysconfig.get_config_var('SOABI')}.so"


def tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def metadata() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    summary = re.search(r'^description = "(.*)"$', text, re.MULTILINE).group(1)
    python = re.search(r'^requires-python = "(.*)"$', text, re.MULTILINE).group(1)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: mayfly\nVersion: {version()}\nSummary: {summary}\n"
            f"License: Apache-2.0\nRequires-Python: {python}\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def wheel_text() -> str:
    return f"Wheel-Version: 1.0\nGenerator: mayfly\nRoot-Is-Purelib: false\nTag: {tag()}\n"


class Wheel:
    """A wheel that is being written; its list of contents is written last."""

    def __init__(self, folder):
        self.name = f"mayfly-{version()}-{tag()}.whl"
        self.info = f"mayfly-{version()}.dist-info"
        self.file = zipfile.ZipFile(pathlib.Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)
        self.rows = []

    def add(self, name: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.external_attr = 0o644 << 16
        self.file.writestr(entry, data, zipfile.ZIP_DEFLATED)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append((name, f"sha256={digest}", len(data)))

    def close(self) -> str:
        self.add(f"{self.info}/METADATA", metadata().encode())
        self.add(f"{self.info}/WHEEL", wheel_text().encode())
        text = io.StringIO()
        record = f"{self.info}/RECORD"
        csv.writer(text, lineterminator="\n").writerows([*self.rows, (record, "", "")])
        self.add(record, text.getvalue().encode())
        self.file.close()
        return self.name


# --- What pip calls

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    module = build_module()
    wheel = Wheel(wheel_directory)
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in SHIPPED and "__pycache__" not in path.parts:
            wheel.add(path.relative_to(PACKAGE.parent).as_posix(), path.read_bytes())
    wheel.add(f"mayfly/{module.name}", module.read_bytes())
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package stays where it is; only the module is copied to it."""
    module = build_module()
    shutil.copy2(module, PACKAGE / module.name)
    wheel = Wheel(wheel_directory)
    wheel.add("mayfly.pth", f"{PACKAGE.parent}\n".encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    base = f"mayfly-{version()}"
    name = f"{base}.tar.gz"

    def without_leftovers(entry):
        is_leftover = "__pycache__" in entry.name or entry.name.endswith((".so", ".pyc"))
        return None if is_leftover else entry

    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz") as archive:
        for source in sorted(ROOT.iterdir()):
            if not source.name.startswith(".") and source.name not in NOT_SOURCES:
                archive.add(source, f"{base}/{source.name}", filter=without_leftovers)
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        data = metadata().encode()
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []
