// SPDX-License-Identifier: Apache-2.0
#include "tools/scratch_directory.h"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): <cstdlib> need not have mkdtemp

#include <cerrno>
#include <string>
#include <system_error>

#include "tools/files.h"

namespace mayfly {

Result<ScratchDirectory> ScratchDirectory::make(const std::filesystem::path& parent) {
  if (const Status status = make_directory(parent); !status) return status.error();
  std::string name = (parent / "mayfly-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    const std::error_code why(errno, std::generic_category());
    return Error{Code::io, fmt::format("cannot create a directory in '{}': {} (choose a "
                                       "writable path)",
                                       parent.string(), why.message())};
  }
  return ScratchDirectory(name);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // what cannot be removed is in nobody's way
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace mayfly
