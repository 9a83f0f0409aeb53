// SPDX-License-Identifier: Apache-2.0
// What the writers of store_crash.cc do, and what the store must then hold.
//
// A plan says, for each transaction of each writer, what it does; the same seed gives the same plan
// in every process. So whoever knows how many transactions a writer has committed knows everything
// that its families hold. Each writer has families of its own. What the writers share is a counter,
// and the time: each transaction begins at the next tick (CrashTicks), in the order in which they
// get the write lock.

#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

inline constexpr int kCrashFamilies = 4;        // of each writer
inline constexpr int kFleetingFamily = 3;       // of these, is made and dropped again and again
inline constexpr std::uint64_t kFleeting = 25;  // every so many transactions

struct CrashStep {
  enum class Kind { put, put_ttl, erase, expire, persist, purge, clear };
  Kind kind;
  int family;
  std::string key;
  std::size_t bytes;  // of the value
  Millis ttl;
};

inline Time crash_time(std::uint64_t tick) {
  return Time(Millis(1'700'000'000'000)) + Millis(5) * static_cast<std::int64_t>(tick);
}

// A file beside the store that all writers map: the last tick, and the tick of each transaction.
class CrashTicks {
 public:
  static constexpr std::uint64_t kWriters = 4;
  static constexpr std::uint64_t kTransactions = 1 << 20;

  explicit CrashTicks(const std::string& store) {
    constexpr std::size_t kBytes = (1 + kWriters * kTransactions) * sizeof(std::uint64_t);
    file_ = ::open((store + ".ticks").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0 || ::ftruncate(file_, kBytes) != 0) std::abort();
    void* const map = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (map == MAP_FAILED) std::abort();
    words_ = static_cast<std::uint64_t*>(map);
  }
  CrashTicks(const CrashTicks&) = delete;
  CrashTicks& operator=(const CrashTicks&) = delete;

  // Whoever holds it gets the next tick and then the write lock; it ends with its process.
  void lock() const { (void)::flock(file_, LOCK_EX); }
  void unlock() const { (void)::flock(file_, LOCK_UN); }

  std::uint64_t now() const { return words_[0]; }
  std::uint64_t next(int writer, std::uint64_t number) {
    return words_[1 + static_cast<std::uint64_t>(writer) * kTransactions + number] = ++words_[0];
  }
  std::uint64_t of(int writer, std::uint64_t number) const {
    return words_[1 + static_cast<std::uint64_t>(writer) * kTransactions + number];
  }

 private:
  int file_ = -1;
  std::uint64_t* words_ = nullptr;
};

// Half of the time between two changes the fleeting family is there.
inline bool crash_family_exists(int family, std::uint64_t number) {
  return family != kFleetingFamily || number / kFleeting % 2 == 1;
}

inline std::string crash_value(std::uint64_t number, std::size_t bytes) {
  std::string value = std::to_string(number) + ":";
  Random random(number);
  while (value.size() < bytes) value += static_cast<char>('a' + random.below(26));
  return value;
}

inline CrashStep crash_step(Random& random, std::uint64_t number) {
  using Kind = CrashStep::Kind;
  static constexpr Kind kKinds[] = {Kind::put,   Kind::put,     Kind::put_ttl, Kind::put_ttl,
                                    Kind::erase, Kind::put_ttl, Kind::expire,  Kind::persist};
  CrashStep step{};
  step.kind = kKinds[random.below(8)];
  if (random.below(40) == 0) step.kind = Kind::purge;
  if (random.below(1500) == 0) step.kind = Kind::clear;
  do {
    step.family = static_cast<int>(random.below(kCrashFamilies));
  } while (!crash_family_exists(step.family, number));
  step.key = "key:" + std::to_string(random.below(150));
  if (random.below(20) == 0) step.key.append(600 + random.below(2), 'k');  // longer than LMDB's
  step.bytes = random.below(200);
  if (random.below(30) == 0) step.bytes = 3'000 + random.below(300'000);
  step.ttl = Millis(1 + static_cast<std::int64_t>(random.below(3'000)));
  return step;
}

inline std::vector<CrashStep> crash_steps(std::uint64_t seed, int writer, std::uint64_t number) {
  Random random(seed * 1'000'003 + number * 16 + static_cast<std::uint64_t>(writer));
  std::vector<CrashStep> steps;
  for (std::uint64_t left = 1 + random.below(12); left > 0; --left) {
    steps.push_back(crash_step(random, number));
  }
  return steps;
}

// What the families of one writer hold.
class CrashModel {
 public:
  struct Value {
    std::uint64_t number;  // of the transaction that put it
    std::size_t bytes;
    Time deadline;
  };
  using Values = std::map<std::string, Value>;

  CrashModel(const CrashTicks& ticks, std::uint64_t seed, int writer, std::uint64_t transactions) {
    for (std::uint64_t number = 1; number <= transactions; ++number) {
      if (!crash_family_exists(kFleetingFamily, number)) families_[kFleetingFamily].clear();
      for (const CrashStep& step : crash_steps(seed, writer, number)) {
        apply(step, number, crash_time(ticks.of(writer, number)));
      }
      for (int family = 0; family < kCrashFamilies; ++family) {
        if (!crash_family_exists(family, number)) continue;
        families_[family]["last"] = {number, 0, kNever};
      }
    }
    for (Values& values : families_) {
      std::erase_if(values, [&](const auto& each) {
        return is_due(each.second.deadline, crash_time(ticks.now()));
      });
    }
  }

  const Values& family(int number) const { return families_[number]; }

 private:
  void apply(const CrashStep& step, std::uint64_t number, Time now) {
    using Kind = CrashStep::Kind;
    Values& values = families_[step.family];
    const auto found = values.find(step.key);
    const bool lives = found != values.end() && !is_due(found->second.deadline, now);
    switch (step.kind) {
      case Kind::put:
        values[step.key] = {number, step.bytes, kNever};
        break;
      case Kind::put_ttl:
        values[step.key] = {number, step.bytes, now + step.ttl};
        break;
      case Kind::erase:
        values.erase(step.key);
        break;
      case Kind::expire:
        if (lives) found->second.deadline = now + step.ttl;
        break;
      case Kind::persist:
        if (lives) found->second.deadline = kNever;
        break;
      case Kind::purge:
        break;
      case Kind::clear:
        values.clear();
        break;
    }
  }

  Values families_[kCrashFamilies];
};

}  // namespace mayfly
