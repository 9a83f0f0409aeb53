# SPDX-License-Identifier: Apache-2.0
"""Nodes whose wall clocks are wrong, by a library that is loaded before them.

    with WrongClocks([0, 400]) as clocks, Cluster(1, 1, network=clocks) as cluster:
        cluster.create()                        # the second node is 400 ms ahead of the first
        clocks.set(0, HOUR_MS)                  # now the first one is an hour ahead
"""

import os
import shutil
import struct
import subprocess
import tempfile

SECOND_MS = 1000
HOUR_MS = 3600 * SECOND_MS
DAY_MS = 24 * HOUR_MS
LOOPBACK = ("127.0.0.1", [])

# It adds the number in the file CLOCK_OFFSET_FILE, which may change, to the wall clock of a
# process, in whichever way that is asked for. Clocks that count since the boot are not touched, as
# no step of a wall clock touches them.
SOURCE = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long* offset;

__attribute__((constructor)) static void open_offset(void) {
  const char* const path = getenv("CLOCK_OFFSET_FILE");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* const map = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (map != MAP_FAILED) offset = map;
  close(file);
}

int clock_gettime(clockid_t id, struct timespec* out) {
  const long result = syscall(SYS_clock_gettime, id, out);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    const long long second_ns = 1000000000LL;
    const long long offset_ms = offset ? *offset : 0;
    long long ns = out->tv_nsec + offset_ms % 1000 * 1000000LL;
    out->tv_sec += offset_ms / 1000 + (ns >= second_ns) - (ns < 0);
    out->tv_nsec = (ns + second_ns) % second_ns;
  }
  return (int)result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


class WrongClocks:
    """What a Cluster takes for a network: where its processes run, perhaps in another one."""

    def __init__(self, offsets_ms, network=None):
        self.offsets_ms = offsets_ms
        self.network = network
        self.files = []  # of the nodes, in their order
        self.folder = tempfile.mkdtemp(prefix="mayfly-clocks-")
        self.library = os.path.join(self.folder, "clock_offset.so")

    def __enter__(self):
        subprocess.run(["cc", "-x", "c", "-shared", "-fPIC", "-o", self.library, "-"],
                       input=SOURCE.encode(), check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def place(self, offset_ms, within=LOOPBACK):
        host, prefix = within
        self.files.append(os.path.join(self.folder, f"offset-{len(self.files)}"))
        self.set(len(self.files) - 1, offset_ms)
        return host, [*prefix, "env", f"LD_PRELOAD={self.library}",
                      f"CLOCK_OFFSET_FILE={self.files[-1]}"]

    def places(self, kind, count):
        places = self.network.places(kind, count) if self.network else [LOOPBACK] * count
        if kind == "etcd":
            return places
        return [self.place(offset, place) for offset, place in zip(self.offsets_ms, places)]

    def set(self, number, offset_ms):
        """At once, whether or not the node runs."""
        is_new = not os.path.exists(self.files[number])
        with open(self.files[number], "wb" if is_new else "r+b") as file:
            file.write(struct.pack("=q", offset_ms))
