# SPDX-License-Identifier: Apache-2.0
"""Nodes whose wall clocks are wrong, by a library that is loaded before them.

    with WrongClocks([0, 400]) as clocks, Cluster(1, 1, network=clocks) as cluster:
        cluster.create()                        # the second node is 400 ms ahead of the first
"""

import os
import shutil
import subprocess
import tempfile

# It adds CLOCK_OFFSET_MS to the wall clock of a process, in whichever way that is asked for. Clocks
# that count since the boot are not touched, as no step of a wall clock touches them.
SOURCE = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long offset_ms;

__attribute__((constructor)) static void read_offset(void) {
  const char* const text = getenv("CLOCK_OFFSET_MS");
  offset_ms = text ? atoll(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec* out) {
  const long result = syscall(SYS_clock_gettime, id, out);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    const long long second_ns = 1000000000LL;
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
    """What a Cluster takes for a network: where its processes run."""

    def __init__(self, offsets_ms):
        self.offsets_ms = offsets_ms
        self.folder = tempfile.mkdtemp(prefix="mayfly-clocks-")
        self.library = os.path.join(self.folder, "clock_offset.so")

    def __enter__(self):
        subprocess.run(["cc", "-x", "c", "-shared", "-fPIC", "-o", self.library, "-"],
                       input=SOURCE.encode(), check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def place(self, offset_ms):
        return "127.0.0.1", ["env", f"LD_PRELOAD={self.library}", f"CLOCK_OFFSET_MS={offset_ms}"]

    def places(self, kind, count):
        if kind == "etcd":
            return [("127.0.0.1", [])] * count
        return [self.place(self.offsets_ms[number]) for number in range(count)]
