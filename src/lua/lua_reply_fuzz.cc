// SPDX-License-Identifier: Apache-2.0
// Fuzzes the conversions of replies: what is pushed can be written, and what was written comes back
// with the same size. (The order of a table's keys is not fixed.)

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lua/lua_replies.h"
#include "lua/lua_state.h"

namespace {

// Pushes a reply and writes it; empty if it is none.
std::string there_and_back(mayfly::LuaState& state, std::string_view bytes, int protocol) {
  lua_State* const lua = state.get();
  const mayfly::LuaStackGuard guard(lua);
  const int top = lua_gettop(lua);
  if (!mayfly::push_reply(lua, bytes)) {
    if (lua_gettop(lua) != top) std::abort();
    return {};
  }
  std::string out;
  mayfly::Reply reply(out, protocol);
  mayfly::write_reply(lua, reply, protocol, 1 << 20);
  if (lua_gettop(lua) != top || out.empty()) std::abort();
  return out;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static mayfly::LuaState state;
  const std::string bytes(data, data + size);
  const std::string once = there_and_back(state, bytes, 3);
  if (!once.empty()) {
    const std::string twice = there_and_back(state, once, 3);
    if (twice.empty() || there_and_back(state, twice, 3).size() != twice.size()) std::abort();
  }
  there_and_back(state, bytes, 2);
  return 0;
}
