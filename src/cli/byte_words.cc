// SPDX-License-Identifier: Apache-2.0
#include "cli/byte_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/byte_text.h"
#include "tools/files.h"

namespace mayfly {

void ByteWords::add_options(CliCommand command) {
  const char* const group = command.is_program() ? "" : "Bytes";
  const CliOption as_hex =
      command.add_flag("--hex", is_hex_, "Keys and values are written in hexadecimal");
  const CliOption as_base64 =
      command.add_flag("--base64", is_base64_, "Keys and values are written in base64");
  const CliOption literal = command.add_flag("--literal", is_literal_,
                                             "A word is itself, also if it is - or begins with @");
  as_base64.excludes(as_hex);
  for (const CliOption option : {as_hex, as_base64, literal}) option.group(group);
}

namespace {

Result<std::string> read_named(const std::string& word) {
  Result<std::string> bytes = read_file(word.substr(1));
  if (bytes) return bytes;
  return Error{bytes.error().code,
               fmt::format("{}; a word that begins with @ names a file: for '{}' itself say '@{}'",
                           bytes.error().message, word, word)};
}

}  // namespace

Result<std::string> ByteWords::read(const std::string& word) const {
  if (!is_literal_) {
    if (word == "-") return read_input();
    if (word.starts_with("@@")) return word.substr(1);
    if (word.starts_with("@")) return read_named(word);
  }
  return decode(word);
}

Result<std::string> ByteWords::decode(std::string_view word) const {
  if (is_hex_) return from_hex(word);
  if (is_base64_) return from_base64(word);
  return std::string(word);
}

std::string ByteWords::text(std::string_view bytes) const {
  if (is_hex_) return hex(bytes);
  if (is_base64_) return base64(bytes);
  return is_utf8(bytes) ? std::string(bytes) : "<hex:" + hex(bytes) + ">";
}

std::string ByteWords::line(std::string_view bytes) const {
  const auto is_control = [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  };
  const bool is_plain = is_hex_ || is_base64_ || std::ranges::none_of(bytes, is_control);
  return is_plain ? text(bytes) : "<hex:" + hex(bytes) + ">";
}

std::string ByteWords::json(std::string_view bytes) const {
  if (is_hex_) return fmt::format("\"{}\"", hex(bytes));
  if (is_base64_) return fmt::format("\"{}\"", base64(bytes));
  return bytes_as_json(bytes);
}

}  // namespace mayfly
