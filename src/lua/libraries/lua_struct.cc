// SPDX-License-Identifier: Apache-2.0
// struct: values of Lua as the bytes of C structures, and back.
//
//   struct.pack(format, value, ...)   struct.unpack(format, bytes [, from])   struct.size(format)
//
//   > <      big-endian, little-endian, which is the default   !n   align to at most n bytes
//   b B h H l L T   numbers of 1, 2, 8 and 8 (size_t) bytes   i I n   of n bytes; 4 without n
//   f d      float, double                                     x    a byte of padding
//   s        a text that a zero byte ends                      cn   n bytes; c0 in unpack: as many
//                                                                   as the number before says

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "lua/lua_bytes.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr std::size_t kIntegerMost = 32;
constexpr std::size_t kFieldSteps = 4;
constexpr std::size_t kAlignMost = 8;  // without a number behind `!`

// Reads a format from its begin to its end.
struct StructFormat {
  lua_State* lua;
  const char* at;
  LuaWork& work = LuaWork::of(lua);
  bool is_little = true;
  std::size_t align_most = 1;
  std::size_t total = 0;  // bytes so far

  struct Field {
    char type;
    std::size_t size;
  };

  // The next field that has a size; false at the end.
  bool next(Field& field) {
    while (*at != 0) {
      work.count(lua, kFieldSteps);
      field.type = *at++;
      switch (field.type) {
        case ' ':
          continue;
        case '>':
          is_little = false;
          continue;
        case '<':
          is_little = true;
          continue;
        case '!': {
          const std::size_t most = number(kAlignMost);
          if (most == 0 || (most & (most - 1)) != 0) {
            luaL_error(lua, "alignment %d is not a power of 2", static_cast<int>(most));
          }
          align_most = most;
          continue;
        }
        default:
          field.size = size_of(field.type);
          return true;
      }
    }
    return false;
  }

  // How many bytes of padding come before the field. If its size is no power of 2, they align
  // nothing, but are the same ones everywhere.
  std::size_t padding(const Field& field) const {
    if (field.size == 0 || field.type == 'c') return 0;
    const std::size_t align = std::min(field.size, align_most);
    return (align - (total & (align - 1))) & (align - 1);
  }

 private:
  std::size_t number(std::size_t missing) {
    if (std::isdigit(static_cast<unsigned char>(*at)) == 0) return missing;
    std::size_t value = 0;
    while (std::isdigit(static_cast<unsigned char>(*at)) != 0) {
      work.count(lua);
      value = value * 10 + static_cast<std::size_t>(*at++ - '0');
      if (value > INT32_MAX) luaL_error(lua, "integral size overflow");
    }
    return value;
  }

  std::size_t size_of(char type) {
    switch (type) {
      case 'b':
      case 'B':
      case 'x':
        return 1;
      case 'h':
      case 'H':
        return 2;
      case 'l':
      case 'L':
      case 'T':
      case 'd':
        return 8;
      case 'f':
        return 4;
      case 's':
        return 0;
      case 'c':
        return number(1);
      case 'i':
      case 'I': {
        const std::size_t size = number(4);
        if (size > kIntegerMost) {
          luaL_error(lua, "integral size %d is larger than limit of %d", static_cast<int>(size),
                     static_cast<int>(kIntegerMost));
        }
        return size;
      }
      default:
        luaL_argerror(lua, 1, lua_pushfstring(lua, "invalid format option '%c'", type));
        return 0;
    }
  }
};

bool is_integer(char type) { return std::strchr("bBhHlLTiI", type) != nullptr; }
bool is_signed(char type) { return std::strchr("bhli", type) != nullptr; }

// What is too large for 64 bits becomes 0, as it does elsewhere; too small, the least number.
std::uint64_t bits_of(double value) {
  if (value < 0)
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(std::max(value, -9.2233720368547758e18)));
  return value < 18446744073709551616.0 ? static_cast<std::uint64_t>(value) : 0;
}

// Bytes beyond the eighth are zero, also of a negative number.
void append_integer(LuaBytes& out, double value, std::size_t size, bool is_little) {
  const std::uint64_t bits = std::isnan(value) ? 0 : bits_of(value);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = is_little ? i : size - 1 - i;
    out.append(place < 8 ? static_cast<char>(bits >> (8 * place)) : '\0');
  }
}

double read_integer(std::string_view bytes, bool is_little, bool with_sign) {
  std::uint64_t bits = 0;
  const std::size_t size = bytes.size();
  for (std::size_t i = std::min<std::size_t>(size, 8); i-- > 0;) {
    const char byte = is_little ? bytes[i] : bytes[size - 1 - i];
    bits = bits << 8 | static_cast<unsigned char>(byte);
  }
  if (!with_sign) return static_cast<double>(bits);
  if (size == 0) return 0;
  const std::size_t unused = size < 8 ? 64 - 8 * size : 0;
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

template <class Number>
void append_float(LuaBytes& out, double value, bool is_little) {
  const auto number = static_cast<Number>(value);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  if (!is_little) std::reverse(bytes, bytes + sizeof number);
  out.append(std::string_view(bytes, sizeof number));
}

template <class Number>
double read_float(std::string_view from, bool is_little) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, from.data(), sizeof bytes);
  if (!is_little) std::reverse(bytes, bytes + sizeof bytes);
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return static_cast<double>(number);
}

// ---- pack ----

// A text: `c` cuts it to its size, `c0` takes it whole, `s` adds a zero byte.
void pack_text(lua_State* lua, LuaBytes& out, const StructFormat::Field& field, int argument) {
  luaL_checkstring(lua, argument);
  const std::string_view text = text_at(lua, argument);
  const std::size_t size = field.size == 0 ? text.size() : field.size;
  luaL_argcheck(lua, text.size() >= size, argument + 1, "string too short");
  out.append(text.substr(0, size));
  if (field.type == 's') out.append('\0');
}

int struct_pack(lua_State* lua) {
  StructFormat format{lua, luaL_checkstring(lua, 1)};
  StructFormat::Field field{};
  LuaBytes out(lua);
  int argument = 2;
  while (format.next(field)) {
    out.append(format.padding(field), '\0');
    if (is_integer(field.type)) {
      append_integer(out, checked_number(lua, argument++), field.size, format.is_little);
    } else if (field.type == 'x') {
      out.append('\0');
    } else if (field.type == 'f') {
      append_float<float>(out, checked_number(lua, argument++), format.is_little);
    } else if (field.type == 'd') {
      append_float<double>(out, checked_number(lua, argument++), format.is_little);
    } else {
      pack_text(lua, out, field, argument++);
    }
    format.total = out.size();
  }
  out.push();
  return 1;
}

// ---- unpack ----

// Pushes the text at the begin of `rest`; returns how many bytes it takes.
std::size_t unpack_text(lua_State* lua, StructFormat::Field field, std::string_view rest,
                        int& pushed) {
  if (field.type == 's') {
    const std::size_t end = rest.find('\0');
    if (end == rest.npos) luaL_error(lua, "unfinished string in data");
    LuaWork::of(lua).count_copy(lua, end);
    push_text(lua, rest.substr(0, end));
    return end + 1;
  }
  if (field.size == 0) {
    if (pushed == 0 || !is_number(lua, -1)) {
      luaL_error(lua, "format 'c0' needs a previous size");
    }
    const double size = lua_tonumber(lua, -1);
    lua_pop(lua, 1);
    --pushed;
    if (!(size >= 0) || size > static_cast<double>(rest.size())) {
      luaL_argerror(lua, 2, "data string too short");
    }
    field.size = static_cast<std::size_t>(size);
  }
  LuaWork::of(lua).count_copy(lua, field.size);
  push_text(lua, rest.substr(0, field.size));
  return field.size;
}

int struct_unpack(lua_State* lua) {
  StructFormat format{lua, luaL_checkstring(lua, 1)};
  luaL_checkstring(lua, 2);
  const std::string_view bytes = text_at(lua, 2);
  const lua_Integer from = optional_integer(lua, 3, 1);
  luaL_argcheck(lua, from != 0, 3, "offset must be 1 or greater");
  format.total = static_cast<std::size_t>(from) - 1;  // huge if it is negative
  StructFormat::Field field{};
  int pushed = 0;
  while (format.next(field)) {
    format.total += format.padding(field);
    luaL_argcheck(lua, format.total <= bytes.size() && field.size <= bytes.size() - format.total, 2,
                  "data string too short");
    luaL_checkstack(lua, 2, "too many results");
    const std::string_view rest = bytes.substr(format.total);
    std::size_t taken = field.size;
    ++pushed;
    if (is_integer(field.type)) {
      lua_pushnumber(
          lua, read_integer(rest.substr(0, field.size), format.is_little, is_signed(field.type)));
    } else if (field.type == 'f') {
      lua_pushnumber(lua, read_float<float>(rest, format.is_little));
    } else if (field.type == 'd') {
      lua_pushnumber(lua, read_float<double>(rest, format.is_little));
    } else if (field.type == 'x') {
      --pushed;
    } else {
      --pushed;
      taken = unpack_text(lua, field, rest, pushed);
      ++pushed;
    }
    format.total += taken;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(format.total + 1));
  return pushed + 1;
}

int struct_size(lua_State* lua) {
  StructFormat format{lua, luaL_checkstring(lua, 1)};
  StructFormat::Field field{};
  while (format.next(field)) {
    if (field.type == 's') luaL_argerror(lua, 1, "option 's' has no fixed size");
    if (field.type == 'c' && field.size == 0) {
      luaL_argerror(lua, 1, "option 'c0' has no fixed size");
    }
    format.total += format.padding(field) + field.size;
  }
  lua_pushnumber(lua, static_cast<double>(format.total));
  return 1;
}

}  // namespace

void push_struct(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {
      {"pack", struct_pack}, {"unpack", struct_unpack}, {"size", struct_size}, {nullptr, nullptr}};
  lua_newtable(lua);
  luaL_register(lua, nullptr, kFunctions);
}

}  // namespace mayfly
