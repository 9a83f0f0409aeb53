// SPDX-License-Identifier: Apache-2.0
// AofRequests: writes requests to a sink, for the rewrite of an append-only file as commands.
//
//   AofRequests out(sink, progress);
//   out.request({"SELECT", Digits(0).text()});
//   out.begin(4, {"RPUSH", key});  out.word("a");  out.word("b");
//   Result<SaveProgress> done = out.finish();
//
// After the first error it writes nothing more; finish() returns the error.

#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "mayfly/time.h"
#include "persist/rdb/rdb_save.h"
#include "resp/encode.h"

namespace mayfly {

// A number as a word.
class Digits {
 public:
  template <class Integer>
  explicit Digits(Integer number)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr) {}
  explicit Digits(Time moment) : Digits(std::int64_t{moment.time_since_epoch().count()}) {}

  std::string_view text() const {
    return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
  }

 private:
  std::array<char, 24> text_;
  const char* end_;
};

class AofRequests {
 public:
  // How many members, elements or the like are in one request at most.
  static constexpr std::size_t kBatch = 64;

  // Both must outlive it.
  AofRequests(ByteSink& sink, const OnSaveProgress& progress) : sink_(sink, progress) {}

  void request(std::initializer_list<std::string_view> words) { begin(words.size(), words); }

  // A request of so many words in all that begins with these. The others follow.
  void begin(std::size_t words, std::initializer_list<std::string_view> first) {
    if (buffer_.size() >= kBufferBytes) hand_over();
    append_length(buffer_, '*', words);
    for (const std::string_view word : first) append_bulk(buffer_, word);
  }
  void word(std::string_view word) { append_bulk(buffer_, word); }

  // Words that are encoded already.
  void encoded(std::string_view words) { buffer_ += words; }

  void count_key() { sink_.count_key(); }

  bool has_failed() const { return !status_.ok(); }

  Result<SaveProgress> finish() {
    hand_over();
    if (!status_) return status_.error();
    return sink_.done;
  }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;  // handed to the sink at once

  void hand_over() {
    if (status_) status_ = sink_.write(buffer_);
    buffer_.clear();
  }

  ReportingSink sink_;
  std::string buffer_;
  Status status_ = Done{};
};

}  // namespace mayfly
