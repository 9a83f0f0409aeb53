// SPDX-License-Identifier: Apache-2.0
// LuaWork: counts the work of library functions, so that a script can be interrupted in them.
//
//   LuaWork& work = LuaWork::of(lua);
//   for (...) work.count(lua, bytes_of_this_piece);
//
// LuaJIT calls the hook of a state between instructions only, and a call of a function in C is one
// instruction, however long it takes. So each function whose time grows with its input counts its
// steps here. After kAtOnce steps, or when an alarm has rung (LuaAlarm), the hook is called, which
// may raise an error of Lua. A step is a byte that is copied, an element that is moved, an item of
// a pattern: some nanoseconds at most. A piece of work has kPiece steps at most.

#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "lua/lua_api.h"

namespace mayfly {

class LuaWork {
 public:
  static constexpr std::size_t kAtOnce = 1'000'000;
  static constexpr std::size_t kPiece = std::size_t{1} << 18;

  // Of the state to which the thread of Lua belongs.
  static LuaWork& of(lua_State* lua);

  void count(lua_State* lua, std::size_t steps = 1) {
    steps_ += steps;
    if (steps_ >= kAtOnce || is_due_ != 0) give_way(lua);
  }

  // Bytes that LuaJIT copies or compares at once: many of them are a step.
  void count_copy(lua_State* lua, std::size_t bytes) { count(lua, 1 + bytes / kCopiedInStep); }

  // Calls `piece(begin, count)` for parts of `size` steps, one behind the other.
  template <class Piece>
  void in_pieces(lua_State* lua, std::size_t size, Piece piece) {
    for (std::size_t begin = 0; begin < size;) {
      const std::size_t some = std::min(size - begin, kPiece);
      piece(begin, some);
      begin += some;
      count(lua, some);
    }
  }

  // Whether the hook is called at the next count. May be set by a handler of signals.
  void set_due(bool is_due) { is_due_ = is_due ? 1 : 0; }
  bool is_due() const { return is_due_ != 0; }

  // The most steps between two calls of the hook so far, for tests.
  std::size_t largest() const { return largest_; }

 private:
  static constexpr std::size_t kCopiedInStep = 16;

  void give_way(lua_State* lua);

  std::size_t steps_ = 0;
  std::size_t largest_ = 0;
  volatile std::sig_atomic_t is_due_ = 0;
};

// The counts and limits of the allocator of a state.
struct LuaMemory {
  std::size_t used = 0;
  std::size_t most = 0;
  bool is_limited = false;
  bool refuses_large = false;  // see pause
  LuaWork work;

  // Called while a large block is prepared, if an alarm has rung, unless it is null. It must not
  // use the state of Lua. False: the script shall end, so large blocks are refused from now on.
  bool (*pause)(void* context) = nullptr;
  void* pause_context = nullptr;
};

}  // namespace mayfly
