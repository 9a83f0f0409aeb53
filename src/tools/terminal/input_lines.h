// SPDX-License-Identifier: Apache-2.0
// InputLines: the lines of a file or of the standard input, one after the other, however long.
//
//   Result<InputLines> input = InputLines::open("words.txt");   // "" and "-": the standard input
//   if (!input) return input.error();
//   while (input->next()) use(input->number(), input->line());
//   if (const Status status = input->status(); !status) return status.error();

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

class InputLines {
 public:
  // Code::io if there is no such file, or it cannot be read.
  static Result<InputLines> open(const std::string& path);

  // Moves to the next line. False at the end, or when reading failed.
  bool next();
  Status status() const;

  // REQUIRES: next() said true. Without the end of the line, and valid until the next one.
  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }  // from 1 on

  // How far it has come; the size is 0 if nobody knows it.
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t size() const { return size_; }

  // "dump.jsonl", "the standard input".
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
