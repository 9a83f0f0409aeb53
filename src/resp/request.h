// SPDX-License-Identifier: Apache-2.0
// RequestParser: finds the requests in the bytes that a client has sent.
//
//   for (;;) {
//     const Parsed parsed = parser.parse(input.view());
//     if (parsed == Parsed::request) run(parser.words());
//     input.consume(parser.consumed());                       // after every call
//     if (parsed == Parsed::request) continue;
//     if (parsed == Parsed::error) return fail(parser.error());  // "-ERR " is not part of it
//     return input.want(parser.wanted());
//   }
//
// A request is an array of bulks (*2\r\n$3\r\nGET\r\n$1\r\nk\r\n) or a line of words (GET k\r\n),
// in which a word may be quoted as redis-cli does it. Empty lines and arrays without words are
// skipped: they count as consumed and are no request.
//
// Nothing is copied, quoted words apart: words are views into the bytes of the last call. When a
// request is not complete yet, the parser remembers how far it got, as an offset, so that the bytes
// may move before the next call and none is looked at twice.
//
// Cost: O(bytes that are new), and no allocation once the longest request has been seen. Requests
// of more than kWordsKept words give the memory of their words back when the next begins.

#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

using Words = std::span<const std::string_view>;

enum class Parsed { request, incomplete, error };

struct RequestLimits {
  std::size_t bulk_bytes = std::size_t{512} << 20;  // proto-max-bulk-len
  std::int64_t words = INT_MAX;                     // in an array
  std::size_t line_bytes = std::size_t{64} << 10;   // of an inline request, or of a length

  // A client that has yet to say its password gets kWordsBeforeAuth and kBulkBeforeAuth instead.
  bool authenticated = true;
};

class RequestParser {
 public:
  using Limits = RequestLimits;

  static constexpr std::int64_t kWordsBeforeAuth = 10;
  static constexpr std::int64_t kBulkBeforeAuth = 16 * 1024;
  static constexpr std::size_t kWordsKept = 1024;

  explicit RequestParser(const Limits& limits = {}) : limits_(limits) {}

  // May be changed at any time; holds for the lengths that are read from then on.
  Limits& limits() { return limits_; }

  // Looks for one request in `bytes`, which begin with the first byte that has not been consumed.
  // After an error the parser says the same error until reset().
  Parsed parse(std::string_view bytes);

  // The words of the request that parse() has found, at least one; valid as long as its bytes, and
  // until the next call.
  Words words() const { return words_; }

  // How many bytes the caller must drop from the front before the next call. Not 0 even when the
  // request is incomplete, if something before it was skipped.
  std::size_t consumed() const { return consumed_; }

  // What is wrong, after an error: "Protocol error: invalid bulk length".
  const std::string& error() const { return error_; }

  // After `incomplete`: how many bytes there must be (once consumed() have been dropped) for the
  // bulk that has begun to be complete, or 0 if none has. A hint for reserving memory.
  std::size_t wanted() const { return wanted_; }

  // Its memory in bytes. The words of a long request take several times as much as its bytes.
  std::size_t memory() const {
    return places_.capacity() * sizeof(Place) + words_.capacity() * sizeof(std::string_view) +
           unquoted_.capacity();
  }

  // Forgets a request that is half read and an error.
  void reset();

 private:
  enum class Step { start, length, bulk };
  enum class Found { request, incomplete, error, nothing };

  // Where a word is, relative to the begin of its request.
  struct Place {
    std::size_t offset;
    std::size_t size;
  };

  void begin();
  // Each reads on in `request`, the bytes from the begin of the present request.
  Found read_array(std::string_view request);
  bool read_plain_words(std::string_view request);
  Found read_words(std::string_view request);
  Found read_bulk_length(std::string_view request);
  Found read_line(std::string_view request);
  Found fail(std::string_view text);

  // The number in the line at at_, behind the letter that it begins with. Moves at_ past it.
  Found read_length(std::string_view request, std::int64_t& value);
  Found read_odd_length(std::string_view request, std::int64_t& value);

  Limits limits_;
  Step step_ = Step::start;
  bool failed_ = false;
  std::size_t at_ = 0;          // how far the request has been read, from its begin
  std::size_t searched_ = 0;    // there is no end of the present line before this
  std::int64_t missing_ = 0;    // words of the array that are still to come
  std::size_t bulk_bytes_ = 0;  // of the bulk at at_, in Step::bulk
  std::size_t consumed_ = 0;
  std::size_t wanted_ = 0;
  std::vector<Place> places_;
  std::vector<std::string_view> words_;
  std::string unquoted_;  // the bytes of words that were quoted
  std::string error_;
};

}  // namespace mayfly
