// SPDX-License-Identifier: Apache-2.0
// cjson: values of Lua as JSON, and back.
//
//   cjson.encode(value)      cjson.decode(text)      cjson.null      cjson.new()
//
// It has the functions, settings and messages of the library lua-cjson, on which scripts count. It
// is our own, because that library allocates outside of Lua: no limit holds for it, it ends the
// process when there is no memory, and Debian's version writes behind its buffer if a text is very
// long (CVE-2022-24834).
//
// The settings are those of a table that cjson.new() made; the table `cjson` is shared by all
// scripts, and what one sets holds for the next, as scripts of libraries expect.

#pragma once

#include <string_view>

#include "lua/lua_api.h"

namespace mayfly {

struct JsonOptions {
  enum Invalid : int { refused, written, as_null };  // NaN and infinities

  int sparse_convert = 0;  // whether a sparse array becomes an object, else it is an error
  int sparse_ratio = 2;    // it is sparse if it has room for so many times its elements; 0: never
  int sparse_safe = 10;    // and its last index is beyond this
  int encode_depth_most = 1000;
  int decode_depth_most = 1000;
  int precision = 14;  // digits of a number
  int keep_buffer = 1;
  int encode_invalid = refused;
  int decode_invalid = 1;  // whether 0x10, 010, inf and nan are numbers
};

// Pushes the value at the index as JSON; raises an error if it has none.
void encode_json(lua_State* lua, int index, const JsonOptions& options);

// Pushes the value of the text, which a zero byte ends; raises an error if it is no JSON.
void decode_json(lua_State* lua, std::string_view text, const JsonOptions& options);

}  // namespace mayfly
