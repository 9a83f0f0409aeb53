// SPDX-License-Identifier: Apache-2.0
// WholeFile: a file that is written under another name, and gets its own when it is complete. Until
// then the one that was there stays as it was, also if the disk fills up.
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
  // What is no file (/dev/null, a named pipe) is written to and not replaced; neither is a link,
  // but what it leads to.
  static Result<WholeFile> create(const std::string& path);

  WholeFile(WholeFile&&) noexcept = default;
  ~WholeFile();

  std::string& text() { return text_; }  // what is to be written next; append to it

  // To be asked after each line. False: something is wrong, and finish() says what.
  bool go_on() { return text_.size() < kPieceBytes || write(); }

  // Writes the rest and gives the file its name.
  Status finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

  WholeFile(std::string path, bool is_plain);
  bool write();

  SystemDisk disk_;
  std::string path_;
  std::string written_;
  bool is_plain_;
  std::unique_ptr<DiskFile> file_;  // null when it has its own name
  std::string text_;
  Status status_ = Done{};
};

// Whether `path` means the standard output, which is written as everything else is that is printed:
// a file to which it leads must not be replaced under the feet of whoever writes to it, too.
bool is_standard_output(const std::string& path);

// Code::invalid if `path` leads to the store, or to one of the files that it keeps beside it.
Status check_is_not_store(const std::string& path, const std::string& store);

}  // namespace mayfly
