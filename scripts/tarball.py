#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a static build into an archive, and tries the program in a root that has nothing else.

    scripts/tarball.py build/tarball-build build/tarball      what `make tarball` runs

The archive has what the Debian package `mayfly` has, the guides, and the licences of the libraries
that are linked in. Its bytes depend on the sources and the compiler only.
"""

import contextlib
import gzip
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Debian's packages of what is linked in: their licences ask to be passed on.
LINKED = ("libc6-dev", "libstdc++-12-dev", "libfmt-dev", "libcli11-dev", "liblmdb-dev",
          "libxxhash-dev", "libjemalloc-dev", "libedit-dev", "libbsd-dev", "libmd-dev",
          "libncurses-dev")
DEADLINE_SECONDS = 20


def name():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"project\(mayfly VERSION ([0-9.]+)", text)[1]
    return f"mayfly-{version}-linux-{platform.machine()}"


def fill(folder, build):
    subprocess.run(["cmake", "--install", build, "--component", "server", "--strip", "--prefix",
                    folder], check=True, stdout=subprocess.DEVNULL)
    for file in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    for unit in (folder / "lib/systemd/system").glob("*.service"):
        unit.write_text(unit.read_text().replace("/usr/bin/mayfly", "/usr/local/bin/mayfly"))
    (folder / "licences").mkdir()
    for package in LINKED:
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if text.exists():  # on another system than Debian they are elsewhere
            shutil.copy(text, folder / "licences" / f"{package}.txt")


def pack(folder, archive):
    """Writes the same archive for the same files: sorted, without users, with one time for all."""
    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True,
        text=True, check=False).stdout or 0)

    def anonymous(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = moment
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    with open(archive, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, moment) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            tar.add(path, path.relative_to(folder.parent), recursive=False, filter=anonymous)


def in_root(root):
    """The start of a command that sees only `root` and /proc; none if that is not allowed here."""
    enter = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    as_root = [] if os.geteuid() == 0 else ["-r"]
    prefix = ["unshare", *as_root, "-m", "sh", "-c", enter, root]
    works = subprocess.run([*prefix, "/bin/mayfly", "--version"], capture_output=True, check=False)
    return prefix if works.returncode == 0 else None


def ask(port, text):
    """The answer of the server, once it listens."""
    end = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS) as link:
                link.sendall(text)
                return link.recv(1000)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def serving(command, port):
    server = subprocess.Popen([*command, "serve", "--port", str(port), "--dir", "/data"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=DEADLINE_SECONDS)[0]
        if server.returncode != 0:
            sys.exit(f"tarball: the server ended with {server.returncode}:\n{output}")
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f"tarball: {what}: expected {wanted!r}, got {got!r}")


def run(command, *words, text=""):
    done = subprocess.run([*command, *words], input=text, capture_output=True, text=True,
                          timeout=DEADLINE_SECONDS, check=False)
    if done.returncode != 0:
        sys.exit(f"tarball: mayfly {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def try_out(archive):
    """Unpacks the archive as the only contents of a root, and uses server and store there."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        with tarfile.open(archive) as tar:
            tar.extractall(root)
        for path in (root / name()).iterdir():
            path.rename(root / path.name)
        for made in ("data", "proc"):
            (root / made).mkdir()
        prefix = in_root(str(root))
        if prefix is None:
            print("tarball: not tried in an empty root: this user may not make one")
            return
        command = [*prefix, "/bin/mayfly"]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with serving(command, port):
            expect(ask(port, b"PING\r\n"), b"+PONG\r\n", "PING")
            expect(ask(port, b"SET k v EX 100\r\n"), b"+OK\r\n", "SET")
            expect(ask(port, b"BGREWRITEAOF\r\n")[:1], b"+", "BGREWRITEAOF")
        run(command, "rdb", "/data/dump.rdb", "--check")
        store = ("--db", "/data/a.db")
        run(command, "put", *store, "k", "v", "--ttl", "1h")
        expect(run(command, "get", *store, "k"), "v\n", "get")
        expect(run(command, "shell", *store, text="get k\n"), "v\n", "shell")
    print("tarball: server, store and shell work in a root that has nothing else")


def main(build, out):
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    folder = out / name()
    folder.mkdir(parents=True)
    fill(folder, build)
    archive = out / f"{name()}.tar.gz"
    pack(folder, archive)
    shutil.rmtree(folder)
    try_out(archive)
    print(f"tarball: {archive}, {archive.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
