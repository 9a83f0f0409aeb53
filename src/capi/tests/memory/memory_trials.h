// SPDX-License-Identifier: Apache-2.0
// Trials of calls without memory, and the checks after each. Included by one source of a program,
// since it includes failing_memory.h.

#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "capi/tests/memory/failing_memory.h"
#include "capi/tests/memory/memory_world.h"

namespace mayfly::internal {

inline constexpr int kMost = 3000;  // allocations of a call, in case it never succeeds

inline OtherProcess& other_process() {
  static OtherProcess process;
  return process;
}

class StoreMemoryTest : public testing::Test {
 protected:
  StoreMemoryTest() { FailingMemory::watch_this_thread(); }

  // Each allocation of the call fails; then all from each on. Returns how many times any failed.
  int try_all(const Trial& trial) {
    int failures = 0;
    for (const bool and_all_later : {false, true}) {
      for (int which = 1;; ++which) {
        SCOPED_TRACE(trial.name + ", allocation " + std::to_string(which) +
                     (and_all_later ? " and all later" : ""));
        EXPECT_LT(which, kMost);
        if (try_once(trial, which, and_all_later)) break;
        if (HasFailure()) return failures;
        ++failures;
      }
    }
    world_.close();
    try_once(trial, 0, false);
    world_.close();
    EXPECT_EQ(open_files(), files_) << trial.name;
    return failures;
  }

  // True: no allocation failed.
  bool try_once(const Trial& trial, int which, bool and_all_later) {
    world_.fill();
    trial.prepare(world_);
    Outcome outcome = Outcome::failed;
    FailingMemory::arm(which, and_all_later);
    try {
      outcome = trial.run(world_);
    } catch (const std::bad_alloc&) {
      outcome = Outcome::no_memory;
    }
    const bool has_failed = FailingMemory::disarm();
    EXPECT_NE(outcome, Outcome::failed) << failure_text;
    if (!has_failed) {
      EXPECT_EQ(outcome, Outcome::done);
    }
    verify(trial, outcome);
    trial.after(world_);
    return !has_failed;
  }

  void verify(const Trial& trial, Outcome outcome) {
    if (!std::filesystem::exists(world_.path)) return;
    EXPECT_EQ(other_process().write(world_.path), "");
    auto again = Store::open(world_.path, world_.clock, world_.options);
    ASSERT_TRUE(again.ok()) << again.error().message;
    const Status put = again->put("again", "put");
    EXPECT_TRUE(put.ok()) << put.error().message;
    const auto found = again->get("key");
    ASSERT_TRUE(found.ok()) << found.error().message;
    const std::string key = found->value_or("");
    if (key != "old" || outcome == Outcome::done) {
      EXPECT_EQ(key, trial.success.value_or("old"));
    }
    const auto report = again->check();
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->ok()) << report->problems.front();
  }

  World world_;
  OtherProcess& other_ = other_process();
  const std::size_t files_ = open_files();
};

inline void with_store(World& world) { world.open(); }
inline void with_c(World& world) { world.open_c(); }
inline void closed(World& world) { world.close(); }

inline Trial cpp(const std::string& name, std::function<Outcome(Store&)> run,
                 std::optional<std::string> success = {}) {
  return {name, with_store, [run](World& world) { return run(*world.store); }, success};
}

inline Trial in_c(const std::string& name, std::function<int(KVStore*)> run,
                  std::optional<std::string> success = {}) {
  return {name, with_c, [run](World& world) { return outcome_of(run(world.c)); }, success};
}

inline int put(KVStore* kv, const char* key, const char* value) {
  return kvstore_put(kv, key, static_cast<int>(std::strlen(key)), value,
                     static_cast<int>(std::strlen(value)));
}

}  // namespace mayfly::internal
