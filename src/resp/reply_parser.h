// SPDX-License-Identifier: Apache-2.0
// ReplyParser: reads replies in RESP2 and RESP3, as a client does. For tests, benchmarks, and
// wherever Mayfly is a client itself.
//
//   ReplyParser parser;
//   const Parsed parsed = parser.parse(input.view());
//   input.consume(parser.consumed());                     // after every call
//   if (parsed == Parsed::request) show(parser.value());  // here `request` means: a whole reply
//
// Elements that have arrived are kept in the parser, so that a reply of any size can come in
// pieces and is read once. Attributes (|) are read and dropped.
//
// A reply has a limit: of its bytes, and kValueBytes for each of its elements. A larger one is an
// error as soon as its length is known, before the bytes are there. Lines are at most kLineMost.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "resp/request.h"

namespace mayfly {

struct ReplyValue {
  enum class Kind {
    simple,      // text
    error,       // text, from - or !
    integer,     // integer
    bulk,        // text
    null,        // from $-1, *-1 or _
    number,      // number, and text as it was written
    boolean,     // integer is 0 or 1
    verbatim,    // text, without the format
    big_number,  // text
    array,       // items
    map,         // items: key, value, key, value ...
    set,         // items
    push,        // items
    attribute,   // never seen outside the parser
  };

  Kind kind = Kind::null;
  std::string text;
  std::int64_t integer = 0;
  double number = 0;
  std::vector<ReplyValue> items;

  // One line, for people and to be compared:
  //
  //   OK    "a\r\n"    (integer) 1    (double) 1.5    (true)    (nil)    (error) ERR no
  //   ["a", "b"]    (set) ["a"]    (push) ["a"]    {"key": "value"}    (verbatim) "a"    (big) 1
  std::string to_text() const;
};

class ReplyParser {
 public:
  static constexpr std::size_t kDepthMax = 128;
  static constexpr std::size_t kValueBytes = 96;         // of memory, beside the text
  static constexpr std::size_t kLineMost = 1024 * 1024;  // of a line

  ReplyParser() = default;
  explicit ReplyParser(std::size_t most) : most_(most) {}

  // The limit from here on.
  void set_most(std::size_t most) { most_ = most; }

  // Reads on. `bytes` begin with the first byte that has not been consumed.
  Parsed parse(std::string_view bytes);

  // The reply that parse() has found. May be moved from.
  ReplyValue& value() { return value_; }

  // How many bytes the caller must drop from the front before the next call.
  std::size_t consumed() const { return consumed_; }

  // What is wrong, after an error. There is no way on from there but a new connection.
  const std::string& error() const { return error_; }

 private:
  struct Open {
    ReplyValue value;
    std::size_t missing;  // items still to come
  };

  enum class Step { more, whole, incomplete, error };

  Step read_one(std::string_view bytes);
  Step read_bulk(char letter, std::string_view line, std::string_view rest);
  Step open(ReplyValue::Kind kind, std::string_view line);
  Step add(ReplyValue value);
  bool has_room(std::size_t bytes) const;
  Step too_large();
  Step fail(std::string_view text, std::string_view detail = {});

  std::size_t most_ = std::numeric_limits<std::size_t>::max();
  std::size_t size_ = 0;  // of this reply, so far
  std::vector<Open> open_;
  ReplyValue value_;
  std::size_t consumed_ = 0;
  std::string error_;
};

// The whole of `bytes` as replies, in their canonical form, one a line. For tests.
std::string replies_to_text(std::string_view bytes);

}  // namespace mayfly
