// SPDX-License-Identifier: Apache-2.0
// What the commands on a store print: long answers line by line, deadlines, sizes.

#pragma once

#include <cstdint>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// Lines for the standard output, written in large pieces.
//
//   Lines lines;
//   for (...) {
//     lines.text() += "a line\n";
//     if (!lines.go_on()) break;
//   }
//   return lines.finish();
class Lines {
 public:
  std::string& text() { return text_; }  // what is to be written next; append to it

  // To be asked after each line: whether anybody still reads.
  bool go_on() { return text_.size() < kPieceBytes || write(); }

  // Writes the rest. That whoever read has left (`mayfly list | head`) is no error.
  Status finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
  bool write();

  std::string text_;
  int failure_ = 0;  // errno
};

// "ttl": 29.5, "deadline_ms": 1790000000000, "deadline": "2026-..Z"; each null if it never expires.
std::string deadline_json(Time deadline, Time now);

// A duration in seconds, or null if there is none: Millis::max().
std::string seconds_json(Millis duration);

// "512 B", "12.4 MB": in powers of 1000.
std::string size_text(std::uint64_t bytes);

}  // namespace mayfly
