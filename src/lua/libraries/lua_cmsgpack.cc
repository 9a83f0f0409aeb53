// SPDX-License-Identifier: Apache-2.0
// cmsgpack: values of Lua as MessagePack (https://msgpack.org), and back.
//
//   cmsgpack.pack(value, ...)                       the values, one behind the other
//   cmsgpack.unpack(bytes)                          all values
//   cmsgpack.unpack_one(bytes [, offset])           the next offset, or -1 at the end, and a value
//   cmsgpack.unpack_limit(bytes, limit [, offset])  the same for at most so many values
//
// A table with the keys 1 to n is an array, any other one a map. Tables are packed down to
// kDepthMost; what lies deeper, and what MessagePack has no form for, becomes nil.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "lua/lua_bytes.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr int kDepthMost = 16;
constexpr int kUnpackDepthMost = 1000;

// ---- Packing ----

template <class Number>
void append_big_endian(LuaBytes& out, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  for (std::size_t i = sizeof number; i-- > 0;) out.append(bytes[i]);
}

template <class Number>
void append_marked(LuaBytes& out, unsigned mark, Number number) {
  out.append(static_cast<char>(mark));
  append_big_endian(out, number);
}

void pack_integer(LuaBytes& out, std::int64_t number) {
  if (number >= 0) {
    if (number <= 0x7F) {
      out.append(static_cast<char>(number));
    } else if (number <= 0xFF) {
      append_marked(out, 0xCC, static_cast<std::uint8_t>(number));
    } else if (number <= 0xFFFF) {
      append_marked(out, 0xCD, static_cast<std::uint16_t>(number));
    } else if (number <= 0xFFFFFFFF) {
      append_marked(out, 0xCE, static_cast<std::uint32_t>(number));
    } else {
      append_marked(out, 0xCF, static_cast<std::uint64_t>(number));
    }
  } else if (number >= -32) {
    out.append(static_cast<char>(number));
  } else if (number >= INT8_MIN) {
    append_marked(out, 0xD0, static_cast<std::int8_t>(number));
  } else if (number >= INT16_MIN) {
    append_marked(out, 0xD1, static_cast<std::int16_t>(number));
  } else if (number >= INT32_MIN) {
    append_marked(out, 0xD2, static_cast<std::int32_t>(number));
  } else {
    append_marked(out, 0xD3, number);
  }
}

void pack_number(LuaBytes& out, double number) {
  constexpr double kLimit = 9223372036854775808.0;
  const bool is_whole = number >= -kLimit && number < kLimit && std::trunc(number) == number;
  if (is_whole) return pack_integer(out, static_cast<std::int64_t>(number));
  const auto single = static_cast<float>(number);
  if (static_cast<double>(single) == number) return append_marked(out, 0xCA, single);
  append_marked(out, 0xCB, number);
}

// The head of a text, an array or a map; `small` if the size fits into its first byte.
struct HeadForm {
  unsigned small;
  std::size_t small_most;
  unsigned mark8;  // 0: there is none
  unsigned mark16;
  unsigned mark32;
};
constexpr HeadForm kTextHead = {0xA0, 31, 0xD9, 0xDA, 0xDB};
constexpr HeadForm kArrayHead = {0x90, 15, 0, 0xDC, 0xDD};
constexpr HeadForm kMapHead = {0x80, 15, 0, 0xDE, 0xDF};

void pack_head(LuaBytes& out, const HeadForm& form, std::size_t size) {
  if (size <= form.small_most) {
    out.append(static_cast<char>(form.small | size));
  } else if (form.mark8 != 0 && size <= 0xFF) {
    append_marked(out, form.mark8, static_cast<std::uint8_t>(size));
  } else if (size <= 0xFFFF) {
    append_marked(out, form.mark16, static_cast<std::uint16_t>(size));
  } else {
    append_marked(out, form.mark32, static_cast<std::uint32_t>(size));
  }
}

void pack_value(lua_State* lua, LuaBytes& out, int depth);

struct TableShape {
  std::size_t count = 0;
  bool is_array = true;
};

// Of the table on the top.
TableShape shape_of(lua_State* lua) {
  TableShape shape;
  double largest = 0;
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    LuaWork::of(lua).count(lua);
    ++shape.count;
    const double key = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : 0;
    if (key < 1 || std::trunc(key) != key) shape.is_array = false;
    largest = std::max(largest, key);
  }
  if (largest != static_cast<double>(shape.count)) shape.is_array = false;
  return shape;
}

void pack_table(lua_State* lua, LuaBytes& out, int depth) {
  const TableShape shape = shape_of(lua);
  if (shape.is_array) {
    pack_head(out, kArrayHead, shape.count);
    for (std::size_t i = 1; i <= shape.count; ++i) {
      lua_rawgeti(lua, -1, static_cast<int>(i));
      pack_value(lua, out, depth + 1);
    }
    return;
  }
  pack_head(out, kMapHead, shape.count);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pushvalue(lua, -2);
    pack_value(lua, out, depth + 1);
    pack_value(lua, out, depth + 1);
  }
}

// Packs the value on the top, and pops it.
void pack_value(lua_State* lua, LuaBytes& out, int depth) {
  luaL_checkstack(lua, 4, "in function mp_pack");
  int type = lua_type(lua, -1);
  if (type == LUA_TTABLE && depth == kDepthMost) type = LUA_TNIL;
  switch (type) {
    case LUA_TSTRING: {
      const std::string_view text = text_at(lua, -1);
      pack_head(out, kTextHead, text.size());
      out.append(text);
      break;
    }
    case LUA_TBOOLEAN:
      out.append(lua_toboolean(lua, -1) != 0 ? '\xC3' : '\xC2');
      break;
    case LUA_TNUMBER:
      pack_number(out, lua_tonumber(lua, -1));
      break;
    case LUA_TTABLE:
      pack_table(lua, out, depth);
      break;
    default:
      out.append('\xC0');
      break;
  }
  lua_pop(lua, 1);
}

int pack(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
  luaL_checkstack(lua, 4, "Too many arguments for MessagePack pack.");
  LuaBytes out(lua);
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(lua, i);
    pack_value(lua, out, 0);
  }
  out.push();
  return 1;
}

// ---- Unpacking ----

// What is left of the input. Errors are raised in Lua.
struct PackedInput {
  lua_State* lua;
  std::string_view rest;

  std::string_view take(std::size_t size) {
    if (size > rest.size()) luaL_error(lua, "Missing bytes in input.");
    LuaWork::of(lua).count_copy(lua, size);
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  template <class Number>
  Number number() {
    const std::string_view bytes = take(sizeof(Number));
    char turned[sizeof(Number)];
    for (std::size_t i = 0; i < sizeof(Number); ++i) turned[i] = bytes[sizeof(Number) - 1 - i];
    Number value;
    std::memcpy(&value, turned, sizeof value);
    return value;
  }
};

void unpack_value(PackedInput& input, int depth);

void unpack_array(PackedInput& input, std::size_t count, int depth) {
  lua_State* const lua = input.lua;
  lua_newtable(lua);
  for (std::size_t i = 1; i <= count; ++i) {
    unpack_value(input, depth + 1);
    lua_rawseti(lua, -2, static_cast<int>(i));
  }
}

void unpack_map(PackedInput& input, std::size_t count, int depth) {
  lua_State* const lua = input.lua;
  lua_newtable(lua);
  for (std::size_t i = 0; i < count; ++i) {
    unpack_value(input, depth + 1);
    const bool is_key = !lua_isnil(lua, -1) &&
                        !(lua_type(lua, -1) == LUA_TNUMBER && std::isnan(lua_tonumber(lua, -1)));
    unpack_value(input, depth + 1);
    if (!is_key) luaL_error(lua, "Bad data format in input.");
    lua_rawset(lua, -3);
  }
}

void push_number_of(PackedInput& input, unsigned mark) {
  lua_State* const lua = input.lua;
  switch (mark) {
    case 0xCA:
      return lua_pushnumber(lua, input.number<float>());
    case 0xCB:
      return lua_pushnumber(lua, input.number<double>());
    case 0xCC:
      return lua_pushnumber(lua, input.number<std::uint8_t>());
    case 0xCD:
      return lua_pushnumber(lua, input.number<std::uint16_t>());
    case 0xCE:
      return lua_pushnumber(lua, input.number<std::uint32_t>());
    case 0xCF:
      return lua_pushnumber(lua, static_cast<double>(input.number<std::uint64_t>()));
    case 0xD0:
      return lua_pushnumber(lua, input.number<std::int8_t>());
    case 0xD1:
      return lua_pushnumber(lua, input.number<std::int16_t>());
    case 0xD2:
      return lua_pushnumber(lua, input.number<std::int32_t>());
    default:
      return lua_pushnumber(lua, static_cast<double>(input.number<std::int64_t>()));
  }
}

// A value whose first byte does not hold its size.
void unpack_marked(PackedInput& input, unsigned mark, int depth) {
  lua_State* const lua = input.lua;
  switch (mark) {
    case 0xC0:
      return lua_pushnil(lua);
    case 0xC2:
    case 0xC3:
      return lua_pushboolean(lua, mark == 0xC3 ? 1 : 0);
    case 0xC4:
    case 0xD9:
      return push_text(lua, input.take(input.number<std::uint8_t>()));
    case 0xC5:
    case 0xDA:
      return push_text(lua, input.take(input.number<std::uint16_t>()));
    case 0xC6:
    case 0xDB:
      return push_text(lua, input.take(input.number<std::uint32_t>()));
    case 0xDC:
      return unpack_array(input, input.number<std::uint16_t>(), depth);
    case 0xDD:
      return unpack_array(input, input.number<std::uint32_t>(), depth);
    case 0xDE:
      return unpack_map(input, input.number<std::uint16_t>(), depth);
    case 0xDF:
      return unpack_map(input, input.number<std::uint32_t>(), depth);
    default:
      if (mark >= 0xCA && mark <= 0xD3) return push_number_of(input, mark);
      luaL_error(lua, "Bad data format in input.");
  }
}

void unpack_value(PackedInput& input, int depth) {
  lua_State* const lua = input.lua;
  luaL_checkstack(lua, 4,
                  "too many return values at once; use unpack_one or unpack_limit instead.");
  if (depth > kUnpackDepthMost) luaL_error(lua, "Bad data format in input.");
  const auto mark = static_cast<unsigned char>(input.take(1)[0]);
  if (mark < 0x80) return lua_pushnumber(lua, mark);
  if (mark >= 0xE0) return lua_pushnumber(lua, static_cast<signed char>(mark));
  if (mark < 0x90) return unpack_map(input, mark & 0x0F, depth);
  if (mark < 0xA0) return unpack_array(input, mark & 0x0F, depth);
  if (mark < 0xC0) return push_text(lua, input.take(mark & 0x1F));
  unpack_marked(input, mark, depth);
}

// Unpacks at most `limit` values from `offset` on; 0: all, without the next offset.
int unpack_from(lua_State* lua, lua_Integer limit, lua_Integer offset) {
  const std::string_view bytes = text_at(lua, 1);
  if (offset < 0 || limit < 0) {
    return luaL_error(lua, "Invalid request to unpack with offset of %d and limit of %d.",
                      static_cast<int>(offset), static_cast<int>(bytes.size()));
  }
  if (offset > static_cast<lua_Integer>(bytes.size())) {
    return luaL_error(lua, "Start offset %d greater than input length %d.",
                      static_cast<int>(offset), static_cast<int>(bytes.size()));
  }
  const bool is_all = limit == 0 && offset == 0;
  PackedInput input{lua, bytes.substr(static_cast<std::size_t>(offset))};
  int count = 0;
  for (; !input.rest.empty() && (is_all || count < limit); ++count) unpack_value(input, 0);
  if (is_all) return count;
  const std::size_t next = bytes.size() - input.rest.size();
  luaL_checkstack(lua, 1, "too many values");
  lua_pushnumber(lua, input.rest.empty() ? -1 : static_cast<double>(next));
  lua_insert(lua, -(count + 1));
  return count + 1;
}

int unpack(lua_State* lua) {
  luaL_checkstring(lua, 1);
  return unpack_from(lua, 0, 0);
}

int unpack_one(lua_State* lua) {
  luaL_checkstring(lua, 1);
  return unpack_from(lua, 1, optional_integer(lua, 2, 0));
}

int unpack_limit(lua_State* lua) {
  luaL_checkstring(lua, 1);
  const lua_Integer limit = checked_integer(lua, 2);
  return unpack_from(lua, limit, optional_integer(lua, 3, 0));
}

}  // namespace

void push_cmsgpack(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {{"pack", pack},
                                            {"unpack", unpack},
                                            {"unpack_one", unpack_one},
                                            {"unpack_limit", unpack_limit},
                                            {nullptr, nullptr}};
  lua_newtable(lua);
  luaL_register(lua, nullptr, kFunctions);
  push_text(lua, "cmsgpack");
  lua_setfield(lua, -2, "_NAME");
  push_text(lua, "lua-cmsgpack 0.4.0");
  lua_setfield(lua, -2, "_VERSION");
}

}  // namespace mayfly
