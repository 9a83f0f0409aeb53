# SPDX-License-Identifier: Apache-2.0
"""File systems of their own, which can be frozen (nothing that is written there ends) or be full.
It needs root and, for Disk, loop devices.

    with Disk() as disk:
        disk.folder     # an ext4
        disk.freeze()
        disk.thaw()
"""

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import subprocess
import tempfile

BYTES = 320 << 20  # of a sparse file; etcd wants 64 MB at once, twice
THAWED_S = 90
CLONE_NEWNS = 0x20000


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=60).returncode == 0


class Mounted:
    """Something that is mounted at `folder` until the end."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="mayfly-disk-")
        self.folder = os.path.join(self.base, "mounted")
        os.mkdir(self.folder)

    def __enter__(self):
        try:
            self.mount()
        except BaseException:
            shutil.rmtree(self.base, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        self.thaw()
        # A process that used it may need a moment to end: lazily.
        run("umount", "-l", self.folder, check=False)
        shutil.rmtree(self.base, ignore_errors=True)

    def thaw(self):
        pass


class Disk(Mounted):
    is_frozen = False
    guard = None

    def mount(self):
        image = os.path.join(self.base, "image")
        with open(image, "wb") as file:
            file.truncate(BYTES)
        run("mkfs.ext4", "-q", image)
        run("mount", "-o", "loop", image, self.folder)

    def freeze(self):
        """Not for longer than THAWED_S, even if this test is killed: else it would stay so."""
        run("fsfreeze", "-f", self.folder)
        self.is_frozen = True
        self.guard = subprocess.Popen(
            ["sh", "-c", f"sleep {THAWED_S}; fsfreeze -u {self.folder}"], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def thaw(self):
        if self.is_frozen:
            run("fsfreeze", "-u", self.folder, check=False)
            self.is_frozen = False
            os.killpg(self.guard.pid, signal.SIGKILL)
            self.guard.wait()


class SmallMemory(Mounted):
    """A tmpfs with room for this much."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def mount(self):
        run("mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", self.folder)

    def fill(self):
        """Until nothing fits any more."""
        with contextlib.suppress(OSError), open(os.path.join(self.folder, "filler"), "wb",
                                                buffering=0) as file:
            while True:
                file.write(b"x" * 4096)

    def make_room(self):
        os.unlink(os.path.join(self.folder, "filler"))


@functools.cache
def is_private():
    """What is mounted from now on is seen by this process and its children only, and goes away with
    them. Asked before there are threads."""
    return (ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
            and run("mount", "--make-rprivate", "/", check=False))


@functools.cache
def is_possible(kind=Disk, *words):
    """Whether this process may mount such a thing."""
    if os.geteuid() != 0 or not is_private():
        return False
    try:
        with kind(*words):
            return True
    except (OSError, subprocess.SubprocessError):
        return False
