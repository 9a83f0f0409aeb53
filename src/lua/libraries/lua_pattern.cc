// SPDX-License-Identifier: Apache-2.0
#include "lua/libraries/lua_pattern.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace mayfly {
namespace {

// Whether %a, %d and so on, or another character behind the %, is one for `c`.
bool is_in_class(unsigned char c, unsigned char name) {
  const auto found = [&] {
    switch (std::tolower(name)) {
      case 'a':
        return std::isalpha(c) != 0;
      case 'c':
        return std::iscntrl(c) != 0;
      case 'd':
        return std::isdigit(c) != 0;
      case 'l':
        return std::islower(c) != 0;
      case 'p':
        return std::ispunct(c) != 0;
      case 's':
        return std::isspace(c) != 0;
      case 'u':
        return std::isupper(c) != 0;
      case 'w':
        return std::isalnum(c) != 0;
      case 'x':
        return std::isxdigit(c) != 0;
      case 'z':
        return c == 0;
      default:
        return (name == c) != (std::isupper(name) != 0);  // is turned below
    }
  }();
  return found != (std::isupper(name) != 0);
}

}  // namespace

// Whether `c` is in the set [...]; `last` is its bracket.
bool LuaPattern::is_in_set(unsigned char c, const char* set, const char* last) {
  const bool is_positive = set[1] != '^';
  const char* at = is_positive ? set + 1 : set + 2;
  const char* counted = set;
  bool is_found = false;
  for (; at < last && !is_found; ++at) {
    if (static_cast<std::size_t>(at - counted) >= LuaWork::kPiece) {
      work_.count(lua_, static_cast<std::size_t>(at - std::exchange(counted, at)));
    }
    const auto first = static_cast<unsigned char>(*at);
    if (first == '%') {
      ++at;
      is_found = is_in_class(c, static_cast<unsigned char>(*at));
    } else if (at[1] == '-' && at + 2 < last) {
      at += 2;
      is_found = first <= c && c <= static_cast<unsigned char>(*at);
    } else {
      is_found = first == c;
    }
  }
  work_.count(lua_, static_cast<std::size_t>(at - counted));
  return is_found == is_positive;
}

// An item is a character, a class or a set, without what says how often.
const char* LuaPattern::end_of_item(const char* item) {
  const char* at = item + 1;
  if (*item == '%') {
    if (at == pattern_end_) luaL_error(lua_, "malformed pattern (ends with '%%')");
    return at + 1;
  }
  if (*item != '[') return at;
  if (at < pattern_end_ && *at == '^') ++at;
  do {  // a bracket that comes first is one of the set
    if (at == pattern_end_) luaL_error(lua_, "malformed pattern (missing ']')");
    count_step();
    if (*at++ == '%' && at < pattern_end_) ++at;
  } while (at == pattern_end_ || *at != ']');
  return at + 1;
}

bool LuaPattern::match_one(const char* at, const char* item, const char* item_end) {
  count_step();
  if (at >= end_) return false;
  const auto c = static_cast<unsigned char>(*at);
  switch (*item) {
    case '.':
      return true;
    case '%':
      return is_in_class(c, static_cast<unsigned char>(item[1]));
    case '[':
      return is_in_set(c, item, item_end - 1);
    default:
      return static_cast<unsigned char>(*item) == c;
  }
}

const char* LuaPattern::match_longest(const char* at, const char* item, const char* item_end) {
  const char* last = at;
  while (match_one(last, item, item_end)) ++last;
  for (; last >= at; --last) {
    if (const char* const end = match_rest(last, item_end + 1)) return end;
  }
  return nullptr;
}

const char* LuaPattern::match_shortest(const char* at, const char* item, const char* item_end) {
  for (;; ++at) {
    if (const char* const end = match_rest(at, item_end + 1)) return end;
    if (!match_one(at, item, item_end)) return nullptr;
  }
}

// %bxy: from an x to the y that belongs to it.
const char* LuaPattern::match_balanced(const char* at, const char* pair) {
  if (pattern_end_ - pair < 2) luaL_error(lua_, "unbalanced pattern");
  if (at >= end_ || *at != pair[0]) return nullptr;
  int open = 1;
  while (++at < end_) {
    count_step();
    if (*at == pair[1]) {
      if (--open == 0) return at + 1;
    } else if (*at == pair[0]) {
      ++open;
    }
  }
  return nullptr;
}

// %f[set]: between a character that is not in the set and one that is.
bool LuaPattern::match_frontier(const char* at, const char* set, const char* set_end) {
  const auto before = static_cast<unsigned char>(at == begin_ ? '\0' : at[-1]);
  const auto behind = static_cast<unsigned char>(at == end_ ? '\0' : *at);
  return !is_in_set(before, set, set_end - 1) && is_in_set(behind, set, set_end - 1);
}

// %1: the same text as the capture has.
const char* LuaPattern::match_captured(const char* at, char index) {
  const int number = index - '1';
  if (number < 0 || number >= captures_ || captured_[number].size == kUnfinished) {
    luaL_error(lua_, "invalid capture index");
  }
  const Capture& capture = captured_[number];
  const auto size = static_cast<std::size_t>(capture.size);
  if (static_cast<std::size_t>(end_ - at) < size) return nullptr;
  for (std::size_t begin = 0; begin < size; begin += LuaWork::kPiece) {
    const std::size_t some = std::min(size - begin, LuaWork::kPiece);
    work_.count(lua_, some);
    if (std::memcmp(capture.begin + begin, at + begin, some) != 0) return nullptr;
  }
  return at + size;
}

const char* LuaPattern::begin_capture(const char* at, const char* pattern, std::ptrdiff_t kind) {
  if (captures_ == kCapturesMost) luaL_error(lua_, "too many captures");
  captured_[captures_] = {at, kind};
  ++captures_;
  const char* const end = match_rest(at, pattern);
  if (end == nullptr) --captures_;
  return end;
}

const char* LuaPattern::end_capture(const char* at, const char* pattern) {
  int open = captures_ - 1;
  while (open >= 0 && captured_[open].size != kUnfinished) --open;
  if (open < 0) luaL_error(lua_, "invalid pattern capture");
  captured_[open].size = at - captured_[open].begin;
  const char* const end = match_rest(at, pattern);
  if (end == nullptr) captured_[open].size = kUnfinished;
  return end;
}

const char* LuaPattern::match_rest(const char* at, const char* pattern) {
  if (++depth_ > kDepthMost) luaL_error(lua_, "pattern too complex");
  const char* const end = match_items(at, pattern);
  --depth_;
  return end;
}

const char* LuaPattern::match_items(const char* at, const char* pattern) {
  while (pattern != pattern_end_) {
    count_step();
    const bool is_last = pattern + 1 == pattern_end_;
    const char next = is_last ? '\0' : pattern[1];
    if (*pattern == '(') {
      return next == ')' ? begin_capture(at, pattern + 2, kPosition)
                         : begin_capture(at, pattern + 1, kUnfinished);
    }
    if (*pattern == ')') return end_capture(at, pattern + 1);
    if (*pattern == '$' && is_last) return at == end_ ? at : nullptr;
    if (*pattern == '%' && next == 'b') {
      at = match_balanced(at, pattern + 2);
      if (at == nullptr) return nullptr;
      pattern += 4;
      continue;
    }
    if (*pattern == '%' && next == 'f') {
      const char* const set = pattern + 2;
      if (set == pattern_end_ || *set != '[')
        luaL_error(lua_, "missing '[' after '%%f' in pattern");
      pattern = end_of_item(set);
      if (!match_frontier(at, set, pattern)) return nullptr;
      continue;
    }
    if (*pattern == '%' && next >= '0' && next <= '9') {
      at = match_captured(at, next);
      if (at == nullptr) return nullptr;
      pattern += 2;
      continue;
    }

    const char* const item_end = end_of_item(pattern);
    const char how_often = item_end == pattern_end_ ? '\0' : *item_end;
    if (how_often == '*') return match_longest(at, pattern, item_end);
    if (how_often == '-') return match_shortest(at, pattern, item_end);
    const bool is_there = match_one(at, pattern, item_end);
    if (how_often == '+') return is_there ? match_longest(at + 1, pattern, item_end) : nullptr;
    if (how_often == '?') {
      if (is_there) {
        if (const char* const end = match_rest(at + 1, item_end + 1)) return end;
      }
      pattern = item_end + 1;
      continue;
    }
    if (!is_there) return nullptr;
    ++at;
    pattern = item_end;
  }
  return at;
}

void LuaPattern::push_capture(int index, const char* from, const char* end) const {
  if (index >= captures_) {
    if (index != 0) luaL_error(lua_, "invalid capture index");
    work_.count_copy(lua_, static_cast<std::size_t>(end - from));
    return push_text(lua_, {from, static_cast<std::size_t>(end - from)});
  }
  const Capture& capture = captured_[index];
  if (capture.size == kUnfinished) luaL_error(lua_, "unfinished capture");
  if (capture.size == kPosition) return lua_pushinteger(lua_, capture.begin - begin_ + 1);
  work_.count_copy(lua_, static_cast<std::size_t>(capture.size));
  push_text(lua_, {capture.begin, static_cast<std::size_t>(capture.size)});
}

int LuaPattern::push_captures(const char* from, const char* end) const {
  const int count = captures_ == 0 ? 1 : captures_;
  luaL_checkstack(lua_, count, "too many captures");
  for (int i = 0; i < count; ++i) push_capture(i, from, end);
  return count;
}

}  // namespace mayfly
