// SPDX-License-Identifier: Apache-2.0
#include "resp/request.h"

#include <algorithm>
#include <cstring>

#include "resp/inline_words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr int kPlainDigitsMax = 15;
constexpr std::string_view kBadLineEnd = "invalid CRLF in request";

// Where the line that begins with `text` has its `end`, or npos. Only `limit` bytes and one more
// are searched, and none before `searched`, so that the outcome does not depend on how the bytes
// were cut into pieces.
std::size_t find_line_end(std::string_view text, char end, std::size_t searched,
                          std::size_t limit) {
  return text.substr(0, limit + 1).find(end, searched);
}

bool is_line_end(const char* at) { return at[0] == '\r' && at[1] == '\n'; }

// Reads the number at `at` if it is plain: a few digits and the end of the line, all of it there.
// Returns what follows, or null.
inline const char* read_plain_number(const char* at, const char* end, std::size_t& number) {
  if (end - at < 3) return nullptr;
  const auto figure = [](char byte) { return static_cast<unsigned char>(byte - '0'); };
  std::size_t value = figure(*at++);
  if (value > 9) return nullptr;
  if (value > 0) {
    for (int digits = 1; digits < kPlainDigitsMax && at < end && figure(*at) <= 9; ++digits) {
      value = value * 10 + figure(*at++);
    }
  }
  if (end - at < 2 || !is_line_end(at)) return nullptr;
  number = value;
  return at + 2;
}

}  // namespace

Parsed RequestParser::parse(std::string_view bytes) {
  consumed_ = 0;
  wanted_ = 0;
  if (failed_) return Parsed::error;

  for (;;) {
    const std::string_view request = bytes.substr(consumed_);
    if (step_ == Step::start && searched_ == 0) begin();
    if (request.empty()) return Parsed::incomplete;

    Found found;
    if (step_ != Step::start) {
      found = read_words(request);
    } else if (request.front() == '*') {
      found = read_array(request);
    } else {
      found = read_line(request);
    }
    if (found == Found::incomplete) return Parsed::incomplete;
    if (found == Found::error) return Parsed::error;

    consumed_ += at_;
    at_ = 0;
    searched_ = 0;
    step_ = Step::start;
    if (found == Found::request) return Parsed::request;
  }
}

void RequestParser::reset() {
  step_ = Step::start;
  failed_ = false;
  at_ = 0;
  searched_ = 0;
  consumed_ = 0;
  wanted_ = 0;
  error_.clear();
  begin();
}

void RequestParser::begin() {
  places_.clear();
  words_.clear();
  if (std::max({places_.capacity(), words_.capacity(), unquoted_.capacity()}) > kWordsKept) {
    std::vector<Place>().swap(places_);
    std::vector<std::string_view>().swap(words_);
    std::string().swap(unquoted_);
  }
}

RequestParser::Found RequestParser::read_array(std::string_view request) {
  std::int64_t count = 0;
  const Found found = read_length(request, count);
  if (found == Found::incomplete) return found;
  if (found == Found::error) return failed_ ? found : fail("too big mbulk count string");
  if (found == Found::nothing || count > limits_.words) return fail("invalid multibulk length");
  if (count > kWordsBeforeAuth && !limits_.authenticated) {
    return fail("unauthenticated multibulk length");
  }
  if (count <= 0) return Found::nothing;

  missing_ = count;
  step_ = Step::length;
  return read_plain_words(request) ? Found::request : read_words(request);
}

// Nearly every request is whole and plain: it is read here, with everything in registers. Where
// that ends, what has been found so far is turned into offsets, and read_words() goes on.
bool RequestParser::read_plain_words(std::string_view request) {
  const std::size_t limit = limits_.authenticated
                                ? limits_.bulk_bytes
                                : std::min<std::size_t>(limits_.bulk_bytes, kBulkBeforeAuth);
  const char* at = request.data() + at_;
  const char* const end = request.data() + request.size();
  std::int64_t missing = missing_;
  for (; missing > 0; --missing) {
    std::size_t size = 0;
    const char* const bulk =
        at < end && *at == '$' ? read_plain_number(at + 1, end, size) : nullptr;
    if (bulk == nullptr || size > limit) break;
    if (static_cast<std::size_t>(end - bulk) < size + 2 || !is_line_end(bulk + size)) break;
    words_.emplace_back(bulk, size);
    at = bulk + size + 2;
  }
  if (missing == 0) {
    at_ = static_cast<std::size_t>(at - request.data());
    return true;
  }
  for (const std::string_view word : words_) {
    places_.push_back({static_cast<std::size_t>(word.data() - request.data()), word.size()});
  }
  words_.clear();
  missing_ = missing;
  at_ = static_cast<std::size_t>(at - request.data());
  return false;
}

RequestParser::Found RequestParser::read_words(std::string_view request) {
  while (missing_ > 0) {
    if (step_ == Step::length) {
      const Found found = read_bulk_length(request);
      if (found != Found::request) return found;
      step_ = Step::bulk;
    }
    if (request.size() < at_ + bulk_bytes_ + 2) {
      wanted_ = at_ + bulk_bytes_ + 2;
      return Found::incomplete;
    }
    if (!is_line_end(request.data() + at_ + bulk_bytes_)) return fail(kBadLineEnd);
    places_.push_back({at_, bulk_bytes_});
    at_ += bulk_bytes_ + 2;
    --missing_;
    step_ = Step::length;
  }

  words_.reserve(places_.size());
  for (const Place& place : places_) words_.emplace_back(request.data() + place.offset, place.size);
  return Found::request;
}

RequestParser::Found RequestParser::read_bulk_length(std::string_view request) {
  if (at_ >= request.size()) return Found::incomplete;
  const char sign = request[at_];
  std::int64_t size = 0;
  const Found found = read_length(request, size);
  if (found == Found::incomplete) return found;
  if (found == Found::error) return failed_ ? found : fail("too big bulk count string");
  if (sign != '$') return fail(std::string("expected '$', got '").append(1, sign).append("'"));
  if (found == Found::nothing || size < 0 || static_cast<std::size_t>(size) > limits_.bulk_bytes) {
    return fail("invalid bulk length");
  }
  if (size > kBulkBeforeAuth && !limits_.authenticated) return fail("unauthenticated bulk length");

  bulk_bytes_ = static_cast<std::size_t>(size);
  return Found::request;
}

// Found::request: read. Found::nothing: it is no number. Found::error: its line is too long, or
// does not end as it must, which has been said.
RequestParser::Found RequestParser::read_length(std::string_view request, std::int64_t& value) {
  std::size_t number = 0;
  // Where the sign should be may be the end of an empty line.
  const char* const next =
      request[at_] == '\r'
          ? nullptr
          : read_plain_number(request.data() + at_ + 1, request.data() + request.size(), number);
  if (next == nullptr) return read_odd_length(request, value);

  value = static_cast<std::int64_t>(number);
  searched_ = 0;
  at_ = static_cast<std::size_t>(next - request.data());
  return Found::request;
}

RequestParser::Found RequestParser::read_odd_length(std::string_view request, std::int64_t& value) {
  const std::string_view line = request.substr(at_);
  const std::size_t end = find_line_end(line, '\r', searched_, limits_.line_bytes);
  if (end == std::string_view::npos) {
    if (line.size() > limits_.line_bytes) return Found::error;
    searched_ = line.size();
    return Found::incomplete;
  }
  searched_ = end;
  if (line.size() < end + 2) return Found::incomplete;
  if (!is_line_end(line.data() + end)) return fail(kBadLineEnd);

  searched_ = 0;
  at_ += end + 2;
  if (end == 0) return Found::nothing;
  const auto number = parse_integer(line.substr(1, end - 1));
  if (!number) return Found::nothing;
  value = *number;
  return Found::request;
}

RequestParser::Found RequestParser::read_line(std::string_view request) {
  const std::size_t end = find_line_end(request, '\n', searched_, limits_.line_bytes);
  if (end == std::string_view::npos) {
    if (request.size() > limits_.line_bytes) return fail("too big inline request");
    searched_ = request.size();
    return Found::incomplete;
  }
  at_ = end + 1;
  std::string_view line = request.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!split_inline(line, words_, unquoted_)) return fail("unbalanced quotes in request");
  return words_.empty() ? Found::nothing : Found::request;
}

RequestParser::Found RequestParser::fail(std::string_view text) {
  failed_ = true;
  error_ = "Protocol error: ";
  error_ += text;
  return Found::error;
}

}  // namespace mayfly
