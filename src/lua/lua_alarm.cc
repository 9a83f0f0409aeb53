// SPDX-License-Identifier: Apache-2.0
#include "lua/lua_alarm.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr int kSignal = SIGVTALRM;

// Of this thread, to which its timer sends the signal.
struct Watch {
  lua_State* volatile lua = nullptr;  // null: nothing is watched
  LuaWork* volatile work = nullptr;
  volatile lua_Hook hook = nullptr;
  volatile std::sig_atomic_t is_running = 0;  // the timer
  bool has_timer = false;
  bool is_tried = false;
  timer_t timer{};
};
constinit thread_local Watch watch_here;

// lua_sethook() may be called by a handler if the mask stays as it is.
void ring(int) {
  const int saved = errno;
  watch_here.is_running = 0;
  if (lua_State* const lua = watch_here.lua; lua != nullptr) {
    watch_here.work->set_due(true);
    lua_sethook(lua, watch_here.hook, LUA_MASKCOUNT, 1);
  }
  errno = saved;
}

void make_timer() {
  watch_here.is_tried = true;
  struct sigaction action {};
  action.sa_handler = ring;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (::sigaction(kSignal, &action, nullptr) != 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event._sigev_un._tid = ::gettid();
  watch_here.has_timer = ::timer_create(CLOCK_MONOTONIC, &event, &watch_here.timer) == 0;
}

void start_timer() {
  if (watch_here.is_running != 0) return;
  if (!watch_here.is_tried) make_timer();
  if (!watch_here.has_timer) return;
  watch_here.is_running = 1;
  itimerspec after{};
  after.it_value.tv_nsec = LuaAlarm::kMillis * 1'000'000L;
  ::timer_settime(watch_here.timer, 0, &after, nullptr);
}

}  // namespace

void LuaAlarm::watch(LuaState& state, lua_Hook hook) {
  watch_here.hook = hook;
  watch_here.work = &state.work();
  watch_here.lua = state.get();
  start_timer();
}

void LuaAlarm::again() {
  if (watch_here.lua == nullptr) return;
  watch_here.work->set_due(false);
  lua_sethook(watch_here.lua, watch_here.hook, LUA_MASKCOUNT, kInstructions);
  start_timer();
}

void LuaAlarm::release() {
  watch_here.lua = nullptr;
  if (watch_here.work != nullptr) watch_here.work->set_due(false);
  watch_here.work = nullptr;
}

}  // namespace mayfly
