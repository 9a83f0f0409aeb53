// SPDX-License-Identifier: Apache-2.0
// Values of Lua as replies, and replies as values of Lua, by the rules that all scripts count on.
//
//   reply                         in Lua                      and back
//   integer                       number                      an integer, cut off
//   bulk                          string                      bulk
//   null bulk, null array         false                       (false) null
//   array                         table                       array, up to the first nil
//   status                        {ok = text}                 status
//   error                         {err = text}                error
//
// After redis.setresp(3) also:
//
//   null                          nil                         null
//   boolean                       boolean                     boolean
//   double                        {double = number}           double
//   map, set                      {map = {}}, {set = {}}      map, set
//   big number                    {big_number = text}         big number
//   verbatim                      {verbatim_string = {string = text, format = text}}

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lua/lua_api.h"
#include "resp/reply.h"

namespace mayfly {

// Pushes the reply at the begin of `bytes`, in either protocol, and takes it off them. An error
// becomes a table, as push_error() makes it. False if the bytes are no whole reply, or nested
// deeper than any command's; then nothing is pushed.
bool push_reply(lua_State* lua, std::string_view& bytes);

// Writes the value on the top as a reply, and pops it. `script_protocol` is what setresp() said. A
// reply that would have more bytes is an error instead: a table that is in others many times can
// make one that has no end.
inline constexpr std::size_t kScriptReplyMost = std::size_t{1} << 30;
void write_reply(lua_State* lua, Reply& reply, int script_protocol,
                 std::size_t bytes_most = kScriptReplyMost);

// Bytes of a script's error or status; the rest is cut off.
inline constexpr std::size_t kScriptLineMost = std::size_t{1} << 20;

// Pushes {err = text}. A text without a code gets ERR: one that begins with '-' has a code.
void push_error(lua_State* lua, std::string_view text);

// Raises push_error() of the text. It does not return.
int raise_error(lua_State* lua, std::string_view text);

// The arguments of redis.call(): texts, and numbers as texts.
class LuaWords {
 public:
  // False if one is neither. The views are valid while the arguments are on the stack, and until
  // the next read().
  bool read(lua_State* lua);
  const std::vector<std::string_view>& words() const { return words_; }

 private:
  std::vector<std::string_view> words_;
  std::string numbers_;
};

}  // namespace mayfly
