// SPDX-License-Identifier: Apache-2.0
// Fuzzes the loading of an append-only file: whatever the files hold, it must end with an error or
// with a log that loads the same again.
//
// The first byte of an input says how long the base is, in sixteenths of the rest; what follows is
// an increment.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "persist/aof/aof_fixture.h"

namespace {

void check_same(const mayfly::Loaded& first, const mayfly::Loaded& again) {
  if (!again.error.empty() || again.lines != first.lines) std::abort();
  if (again.report.truncated_bytes != 0) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string bytes(data + 1, data + size);
  const std::size_t base = bytes.size() * (data[0] % 17u) / 16;

  mayfly::FakeDisk disk;
  const mayfly::AofOptions options = {.directory = "data/aof"};
  disk.put(mayfly::manifest_path(options),
           "file base seq 1 type b\nfile incr seq 1 type i\nfile last seq 2 type i\n");
  disk.put("data/aof/base", bytes.substr(0, base));
  disk.put("data/aof/incr", bytes.substr(base));
  disk.put("data/aof/last", "");
  const mayfly::Loaded loaded = mayfly::load_aof(disk, options);
  if (!loaded.error.empty()) return 0;
  check_same(loaded, mayfly::load_aof(disk, options));

  // What was found is what a strict reader finds, too.
  const mayfly::AofLoadOptions strict = {.truncates_tail = false};
  check_same(loaded, mayfly::load_aof(disk, options, strict, 1));
  return 0;
}
