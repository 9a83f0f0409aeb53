// SPDX-License-Identifier: Apache-2.0
// LuaPattern: matches patterns of Lua 5.1 (section 5.4.1 of its manual).
//
//   LuaPattern matcher(lua, subject, pattern);
//   if (const char* end = matcher.match(at)) matcher.push_captures(at, end);
//
// A pattern can take longer than anybody waits: the time grows with a power of the subject's size
// for each `*` and `-`. So each step counts as work (LuaWork): a script is interrupted here as in
// its own code. Wrong patterns are errors.

#pragma once

#include <cstddef>
#include <string_view>

#include "lua/lua_api.h"
#include "lua/lua_work.h"

namespace mayfly {

class LuaPattern {
 public:
  LuaPattern(lua_State* lua, std::string_view subject, std::string_view pattern)
      : lua_(lua),
        work_(LuaWork::of(lua)),
        begin_(subject.data()),
        end_(subject.data() + subject.size()),
        pattern_(pattern.data()),
        pattern_end_(pattern.data() + pattern.size()) {}

  // The end of the match that begins at this place of the subject; null if there is none.
  const char* match(const char* from) {
    captures_ = 0;
    return match_rest(from, pattern_);
  }

  // Pushes the captures of the match, or all of it if there are none; returns how many.
  int push_captures(const char* from, const char* end) const;
  // Pushes one of them, the first is 0.
  void push_capture(int index, const char* from, const char* end) const;
  int captures() const { return captures_; }

 private:
  static constexpr int kCapturesMost = 32;
  static constexpr int kDepthMost = 200;
  static constexpr std::ptrdiff_t kUnfinished = -1;
  static constexpr std::ptrdiff_t kPosition = -2;

  struct Capture {
    const char* begin;
    std::ptrdiff_t size;
  };

  void count_step() { work_.count(lua_); }

  const char* match_rest(const char* at, const char* pattern);
  const char* match_items(const char* at, const char* pattern);
  const char* match_longest(const char* at, const char* item, const char* item_end);
  const char* match_shortest(const char* at, const char* item, const char* item_end);
  const char* match_balanced(const char* at, const char* pair);
  const char* match_captured(const char* at, char index);
  bool is_in_set(unsigned char c, const char* set, const char* last);
  bool match_frontier(const char* at, const char* set, const char* set_end);
  const char* begin_capture(const char* at, const char* pattern, std::ptrdiff_t kind);
  const char* end_capture(const char* at, const char* pattern);
  bool match_one(const char* at, const char* item, const char* item_end);
  const char* end_of_item(const char* item);

  lua_State* lua_;
  LuaWork& work_;
  const char* begin_;
  const char* end_;
  const char* pattern_;
  const char* pattern_end_;
  Capture captured_[kCapturesMost];
  int captures_ = 0;
  int depth_ = 0;
};

}  // namespace mayfly
