// SPDX-License-Identifier: Apache-2.0
// How fast are reads of the cache?

#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "bench/cache/expiry_suite.h"
#include "mayfly/internal/stopwatch.h"
#include "mayfly/sharded_cache.h"

namespace mayfly::bench {
namespace {

using Number = std::uint64_t;

// Does the gets of one thread; returns a sum, so that nothing is optimized away.
using Gets = std::function<Number(std::uint64_t seed)>;

struct Contender {
  std::string name;
  std::size_t threads;
  Gets gets;
};

constexpr Millis kTtl = std::chrono::hours(1);

template <class Get>
Gets random_gets(const GetsPlan& plan, Get get) {
  return [&plan, get](std::uint64_t seed) {
    Random random(seed);
    Number sum = 0;
    for (std::size_t i = 0; i < plan.gets; ++i) sum += get(random.below(plan.entries));
    return sum;
  };
}

// Everything that is measured, filled with the same entries.
class Contenders {
 public:
  explicit Contenders(const GetsPlan& plan) : plan_(plan) {
    for (Number key = 0; key < plan.entries; ++key) {
      bare_.insert(key, 1);
      standard_[key] = 1;
      by_hand_.put(key, 1, kTtl);
      by_system_.put(key, 1, kTtl);
      bounded_.put(key, 1, kTtl);
      sharded_.put(key, 1, kTtl);
    }
  }

  std::vector<Contender> list() {
    std::vector<Contender> list;
    const auto add = [&](const char* name, std::size_t threads, auto get) {
      list.push_back({name, threads, random_gets(plan_, get)});
    };
    add("bare hash map (SlotMap)", 1, [&](Number key) { return bare_[bare_.find(key)].value; });
    add("std::unordered_map", 1, [&](Number key) { return standard_.find(key)->second; });
    add("Cache, manual clock", 1, [&](Number key) { return *by_hand_.get(key); });
    add("Cache, steady clock", 1, [&](Number key) { return *by_system_.get(key); });
    add("Cache, bounded", 1, [&](Number key) { return *bounded_.get(key); });
    for (std::size_t threads = 1; threads <= plan_.threads; ++threads) {
      add("ShardedCache", threads, [&](Number key) { return *sharded_.get(key); });
    }
    for (std::size_t threads = 1; threads <= plan_.threads; ++threads) {
      add("std::mutex and unordered_map", threads, [&](Number key) {
        const std::lock_guard lock(mutex_);
        return standard_.find(key)->second;
      });
    }
    return list;
  }

 private:
  const GetsPlan& plan_;
  ManualClock manual_;
  SteadyClock steady_;
  internal::SlotMap<Number, Number> bare_;
  std::unordered_map<Number, Number> standard_;
  std::mutex mutex_;
  Cache<Number, Number> by_hand_{manual_};
  Cache<Number, Number> by_system_{steady_};
  Cache<Number, Number> bounded_{manual_, {.max_entries = plan_.entries}};
  ShardedCache<Number, Number> sharded_{manual_};
};

// Millions of gets a second, of all threads together.
double run_once(const GetsPlan& plan, const Contender& contender, std::uint64_t seed) {
  std::int64_t start = 0;
  std::barrier line_up(static_cast<std::ptrdiff_t>(contender.threads),
                       [&]() noexcept { start = monotonic_ns(); });
  std::atomic<Number> sum{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < contender.threads; ++i) {
    threads.emplace_back([&, i] {
      line_up.arrive_and_wait();
      sum += contender.gets(seed + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto gets = static_cast<double>(plan.gets * contender.threads);
  return gets * 1e3 / static_cast<double>(monotonic_ns() - start);
}

}  // namespace

void run_gets(const GetsPlan& plan, Results& results) {
  const std::int64_t start = monotonic_ns();
  Contenders contenders(plan);
  const std::vector<Contender> list = contenders.list();
  for (int round = 0; round < plan.rounds; ++round) {
    for (const Contender& contender : list) {
      const std::uint64_t seed = plan.seed + static_cast<std::uint64_t>(round) * 100;
      results.add({.suite = "cache",
                   .part = "gets",
                   .name = contender.threads == 1 ? std::string("1 thread")
                                                  : fmt::format("{} threads", contender.threads),
                   .system = contender.name,
                   .round = round,
                   .settings = {{"entries", static_cast<double>(plan.entries)}},
                   .metrics = {{"gets_per_second", 1e6 * run_once(plan, contender, seed)}}});
    }
  }
  results.seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
}

}  // namespace mayfly::bench
