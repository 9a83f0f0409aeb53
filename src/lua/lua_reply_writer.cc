// SPDX-License-Identifier: Apache-2.0
// Values of Lua to replies.

#include <algorithm>
#include <cstdint>

#include "lua/lua_replies.h"
#include "lua/lua_work.h"

namespace mayfly {
namespace {

constexpr int kWriterStack = 6;            // of a value that is written
constexpr std::size_t kWrittenSteps = 16;  // of work, for each value
constexpr std::size_t kHeadMost = 32;      // bytes around a text
constexpr std::size_t kTableCost = 256;    // bytes of a reply for which a table counts at least

// Pushes the field of the table on the top, as it is there, and returns its type.
int push_raw_field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  return lua_type(lua, -1);
}

std::int64_t cut_off(double number) {
  constexpr double kLimit = 9223372036854775808.0;
  if (!(number > -kLimit && number < kLimit)) return INT64_MIN;
  return static_cast<std::int64_t>(number);
}

// The text without line ends at its end.
std::string_view trimmed(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// The text on the top, for a reply of one line: up to its first zero byte, or kScriptLineMost.
std::string_view cut_at_top(lua_State* lua) {
  const std::string_view text = text_at(lua, -1).substr(0, kScriptLineMost);
  return text.substr(0, text.find('\0'));
}

// The same without line ends.
std::string line_at_top(lua_State* lua) {
  std::string line(cut_at_top(lua));
  std::ranges::replace_if(
      line, [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return line;
}

// Writes values until the reply is too large: a table that is in others many times can make one
// that has no end.
class ReplyWriter {
 public:
  ReplyWriter(lua_State* lua, Reply& reply, int script_protocol, std::size_t most)
      : lua_(lua),
        work_(LuaWork::of(lua)),
        reply_(reply),
        is_resp3_(script_protocol > 2),
        end_most_(most > SIZE_MAX - reply.defer() ? SIZE_MAX : reply.defer() + most) {}

  // Writes the value on the top, and pops it.
  void write();
  bool is_full() const { return reply_.defer() + tables_ * kTableCost > end_most_; }

 private:
  void write_boolean(bool value);
  [[gnu::noinline]] void write_text(std::string_view text);  // write() nests deep
  bool write_marked();
  bool write_verbatim();
  void write_pairs(bool is_map);
  void write_array();

  lua_State* lua_;
  LuaWork& work_;
  Reply& reply_;
  bool is_resp3_;
  std::size_t end_most_;
  std::size_t tables_ = 0;  // that were written
};

// The table that is on the top, pair by pair. `is_map`: with values.
void ReplyWriter::write_pairs(bool is_map) {
  std::size_t count = 0;
  lua_pushnil(lua_);
  for (; lua_next(lua_, -2) != 0; ++count) {
    lua_pop(lua_, 1);
    work_.count(lua_);
  }
  if (is_map) {
    reply_.map(count);
  } else {
    reply_.set(count);
  }
  lua_pushnil(lua_);
  while (!is_full() && lua_next(lua_, -2) != 0) {
    lua_pushvalue(lua_, -2);  // the key is needed for the next step
    write();
    if (is_map) {
      write();
    } else {
      lua_pop(lua_, 1);
    }
  }
}

// Up to the first nil. They are counted first: to insert the head later would cost as much as there
// is in it, at each depth.
void ReplyWriter::write_array() {
  int count = 0;
  for (;; ++count) {
    lua_rawgeti(lua_, -1, count + 1);
    const bool is_end = lua_isnil(lua_, -1);
    lua_pop(lua_, 1);
    work_.count(lua_);
    if (is_end) break;
  }
  reply_.array(static_cast<std::size_t>(count));
  for (int i = 1; i <= count && !is_full(); ++i) {
    lua_rawgeti(lua_, -1, i);
    write();
  }
}

// {string = text, format = text}, on the top.
bool ReplyWriter::write_verbatim() {
  if (push_raw_field(lua_, "format") != LUA_TSTRING) return false;
  std::string letters = line_at_top(lua_);
  letters.resize(3, ' ');
  lua_pop(lua_, 1);
  if (push_raw_field(lua_, "string") != LUA_TSTRING) return false;
  const std::string_view text = text_at(lua_, -1);
  work_.count_copy(lua_, text.size());
  reply_.verbatim(letters, text);
  return true;
}

// A table that stands for a type that Lua does not have. False if it is none of these.
bool ReplyWriter::write_marked() {
  const LuaStackGuard guard(lua_);
  const int table = lua_gettop(lua_);
  const auto has = [&](const char* name, int type) {
    lua_settop(lua_, table);
    return push_raw_field(lua_, name) == type;
  };
  if (has("err", LUA_TSTRING)) {
    reply_.error(trimmed(cut_at_top(lua_)));
  } else if (has("ok", LUA_TSTRING)) {
    reply_.simple(line_at_top(lua_));
  } else if (has("double", LUA_TNUMBER)) {
    reply_.number(lua_tonumber(lua_, -1));
  } else if (has("big_number", LUA_TSTRING)) {
    reply_.big_number(line_at_top(lua_));
  } else if (has("verbatim_string", LUA_TTABLE) && write_verbatim()) {
    return true;
  } else if (has("map", LUA_TTABLE)) {
    write_pairs(true);
  } else if (has("set", LUA_TTABLE)) {
    write_pairs(false);
  } else {
    return false;
  }
  return true;
}

void ReplyWriter::write_boolean(bool value) {
  if (is_resp3_) return reply_.boolean(value);
  if (value) return reply_.integer(1);
  reply_.null();
}

// A long text is written in pieces: the system gives memory for it while it is copied.
void ReplyWriter::write_text(std::string_view text) {
  if (text.size() <= LuaWork::kPiece) return reply_.bulk(text);
  std::string& out = reply_.out();
  out.reserve(out.size() + text.size() + kHeadMost);
  out += '$';
  out += std::to_string(text.size());
  out += "\r\n";
  work_.in_pieces(lua_, text.size(), [&](std::size_t begin, std::size_t some) {
    out.append(text.substr(begin, some));
  });
  out += "\r\n";
}

void ReplyWriter::write() {
  if (lua_checkstack(lua_, kWriterStack) == 0) {
    reply_.error("ERR reached lua stack limit");
    return lua_pop(lua_, 1);
  }
  work_.count(lua_, kWrittenSteps);
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      write_text(text_at(lua_, -1));
      break;
    case LUA_TBOOLEAN:
      write_boolean(lua_toboolean(lua_, -1) != 0);
      break;
    case LUA_TNUMBER:
      reply_.integer(cut_off(lua_tonumber(lua_, -1)));
      break;
    case LUA_TTABLE:
      ++tables_;
      if (!write_marked()) write_array();
      break;
    default:
      reply_.null();
      break;
  }
  lua_pop(lua_, 1);
}

}  // namespace

void write_reply(lua_State* lua, Reply& reply, int script_protocol, std::size_t bytes_most) {
  const std::size_t begin = reply.defer();
  ReplyWriter writer(lua, reply, script_protocol, bytes_most);
  writer.write();
  if (!writer.is_full()) return;
  reply.out().resize(begin);
  reply.error("ERR the reply of the script is too large");
}

}  // namespace mayfly
