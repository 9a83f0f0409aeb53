// SPDX-License-Identifier: Apache-2.0
// WholeFile: writes a file under a temporary name and renames it when it is complete. Until then an
// existing file stays unchanged, also if the disk is full.
//
//   Result<WholeFile> file = WholeFile::create(path);
//   for (...) {
//     file->text() += "a line\n";
//     if (!file->go_on()) break;
//   }
//   return file->finish();

#pragma once

#include <memory>
#include <string>

#include "mayfly/result.h"
#include "persist/disk/disk.h"

namespace mayfly {

class WholeFile {
 public:
  // A special file (/dev/null, a pipe) is written to and not replaced. A link is followed.
  static Result<WholeFile> create(const std::string& path);

  WholeFile(WholeFile&&) noexcept = default;
  ~WholeFile();

  std::string& text() { return text_; }  // append to it

  // Call it after each line. False: writing failed, and finish() returns the error.
  bool go_on() { return text_.size() < kPieceBytes || write(); }

  // Writes the rest and renames the file.
  Status finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

  WholeFile(std::string path, bool is_plain);
  bool write();

  SystemDisk disk_;
  std::string path_;
  std::string written_;
  bool is_plain_;
  std::unique_ptr<DiskFile> file_;  // null after the rename
  std::string text_;
  Status status_ = Done{};
};

// Whether `path` is standard output. The file that it is redirected to must not be replaced.
bool is_standard_output(const std::string& path);

// Code::invalid if `path` is the store or one of the files beside it.
Status check_is_not_store(const std::string& path, const std::string& store);

}  // namespace mayfly
