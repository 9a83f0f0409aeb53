// SPDX-License-Identifier: Apache-2.0
// Reading and writing files and the standard input. Errors name the file and the cause.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

// Creates the directory and its parents unless they exist.
Status make_directory(const std::filesystem::path& directory);

// Checks that the file can be written. Leaves an empty file if there was none.
Status check_writable(const std::filesystem::path& path);

// Writes a file, replacing an existing one.
Status write_file(const std::filesystem::path& path, std::string_view content);

// The content of a file, or of standard input.
Result<std::string> read_file(const std::filesystem::path& path);
Result<std::string> read_input();

// The lines of a file or of standard input, of any length.
//
//   Result<InputLines> input = InputLines::open("words.txt");   // "" and "-": standard input
//   if (!input) return input.error();
//   while (input->next()) use(input->number(), input->line());
//   if (const Status status = input->status(); !status) return status.error();
class InputLines {
 public:
  // Code::io if the file cannot be read.
  static Result<InputLines> open(const std::string& path);

  // Moves to the next line. False at the end or after a failure.
  bool next();
  Status status() const;

  // REQUIRES: next() returned true. Without the newline; valid until the next call.
  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }  // from 1 on

  // The size is 0 if it is not known.
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t size() const { return size_; }

  // "'dump.jsonl'", "standard input".
  const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  struct Free {
    void operator()(char* memory) const;
  };

  InputLines(std::FILE* file, std::string name);

  std::unique_ptr<std::FILE, Close> file_;
  std::string name_;
  std::unique_ptr<char, Free> room_;
  std::size_t room_size_ = 0;
  std::string_view line_;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t size_ = 0;
  int failure_ = 0;  // errno
};

}  // namespace mayfly
