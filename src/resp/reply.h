// SPDX-License-Identifier: Apache-2.0
// Reply: writes replies at the end of a string, in RESP2 or RESP3.
//
//   Reply reply(link.output(), 3);
//   reply.map(1);
//   reply.bulk("field");
//   reply.null();                                  // %1\r\n$5\r\nfield\r\n_\r\n
//
// What a protocol does not have is written as its clients expect: in RESP2 a map is an array of
// twice the length, a set and a push are arrays, a number, a verbatim and a big number are bulks,
// and a boolean is 1 or 0.
//
// A Reply is two words; make one wherever it is needed. The string must outlive it. It allocates
// nothing but what the string needs to grow.
//
// How many elements an aggregate has may turn out later:
//
//   const std::size_t place = reply.defer();
//   for (...) reply.bulk(...), ++count;
//   reply.array_at(place, count);                  // moves what was written since
//
// Cost of array_at and its like: a move of the bytes since defer().

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mayfly {

class Reply {
 public:
  // `protocol` is 2 or 3.
  Reply(std::string& out, int protocol) : out_(&out), protocol_(protocol) {}

  int protocol() const { return protocol_; }
  std::string& out() { return *out_; }

  void ok() { out_->append("+OK\r\n", 5); }
  void simple(std::string_view text);  // +text; line ends in it become spaces
  void error(std::string_view text);   // -text, with its code: "ERR syntax error"; likewise
  void integer(std::int64_t value);
  void bulk(std::string_view bytes);
  void bulk_integer(std::int64_t value);  // the digits as a bulk
  void null();                            // $-1 or _
  void null_array();                      // *-1 or _
  void number(double value);              // as format_double() has it; inf, -inf and nan too
  void boolean(bool value);
  void verbatim(std::string_view format, std::string_view text);  // `format` has three letters
  void big_number(std::string_view digits);
  void raw(std::string_view bytes) { out_->append(bytes); }  // a reply that is already encoded

  // The head of an aggregate; its elements follow (of a map, a key and a value each).
  void array(std::size_t count);
  void map(std::size_t count);
  void set(std::size_t count);
  void push(std::size_t count);

  // A place for a head that will be inserted later. Deferred places nest: the inner one is filled
  // first.
  std::size_t defer() const { return out_->size(); }
  void array_at(std::size_t place, std::size_t count);
  void map_at(std::size_t place, std::size_t count);
  void set_at(std::size_t place, std::size_t count);

 private:
  std::string* out_;
  int protocol_;
};

}  // namespace mayfly
