// SPDX-License-Identifier: Apache-2.0
// LuaAlarm: calls the hook of a state of Lua some milliseconds from now, whatever the script does.
//
//   LuaAlarm::watch(state, hook);  // before a script runs
//   LuaAlarm::again();             // at the end of the hook: it rings once
//   LuaAlarm::release();           // when no script runs
//
// A hook that is called after 100,000 instructions may wait for minutes: one instruction can join
// or compare hundreds of megabytes. So a timer of the system sends a signal to this thread, whose
// handler makes the next instruction call the hook, and the next count of LuaWork as well. The
// timer is not stopped at the end of a script, and not started while it runs: a short script costs
// no call of the system.
//
// If the system has no timer to give, the hook is called after kInstructions only.

#pragma once

#include "lua/lua_api.h"

namespace mayfly {

class LuaState;

struct LuaAlarm {
  static constexpr int kInstructions = 100'000;  // the hook is also called after them
  static constexpr int kMillis = 10;             // until it rings

  // REQUIRES: the state lives until release(). One state is watched at a time in a thread.
  static void watch(LuaState& state, lua_Hook hook);
  static void again();
  static void release();
};

}  // namespace mayfly
