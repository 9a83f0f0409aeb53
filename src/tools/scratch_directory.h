// SPDX-License-Identifier: Apache-2.0
// ScratchDirectory: a fresh directory for files that nobody will need, removed with its owner.

#pragma once

#include <filesystem>

#include "mayfly/result.h"

namespace mayfly {

class ScratchDirectory {
 public:
  // Makes one below `parent`, which is made too, unless it is there.
  static Result<ScratchDirectory> make(const std::filesystem::path& parent);

  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace mayfly
