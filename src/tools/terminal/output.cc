// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/output.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace mayfly {
namespace {

// C's streams leave in errno what the system said, if it said anything.
[[noreturn]] void fail() {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
}

}  // namespace

void write_output(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail();
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

}  // namespace mayfly
