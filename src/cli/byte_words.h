// SPDX-License-Identifier: Apache-2.0
// ByteWords: how keys and values are written on the command line and printed.
//
//   word       these bytes, as they are             @FILE    what is in a file
//   -          what comes on the standard input     @@word   a word that begins with @
//   --hex and --base64 are for words, and for what is printed; files and input are always raw.

#pragma once

#include <string>
#include <string_view>

#include "cli/cli_command.h"
#include "mayfly/result.h"

namespace mayfly {

class ByteWords {
 public:
  void add_options(CliCommand command);

  // The bytes that a word stands for. The standard input can be asked for once.
  Result<std::string> read(const std::string& word) const;

  // The same for a word in a line of input, where - and @ mean nothing.
  Result<std::string> decode(std::string_view word) const;

  // As text on a line: UTF-8 as it is, other bytes as <hex:...>; or all as --hex or --base64 say.
  std::string text(std::string_view bytes) const;

  // The same, but always on one line: what has a new line or another control character in it is
  // <hex:...>, too.
  std::string line(std::string_view bytes) const;

  // As a value of JSON: a string; or, if it is no UTF-8, {"base64": "..."}.
  std::string json(std::string_view bytes) const;

  bool is_coded() const { return is_hex_ || is_base64_; }  // what is printed is no plain text

 private:
  bool is_hex_ = false;
  bool is_base64_ = false;
  bool is_literal_ = false;
};

}  // namespace mayfly
