// SPDX-License-Identifier: Apache-2.0
// The costs that headers and documents promise, as operations on structures of a chosen size. For
// callgrind; costs_test.py compares the instructions at two sizes.
//
// Each structure is used first as a program would use it: entries are put, overwritten, erased and
// expire, until the number of entries is the size. Only the operations are counted.

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "commands/ttl/earliest_deadlines.h"
#include "keyspace/keyspace_fixture.h"
#include "keyspace/members/members_order.h"
#include "mayfly/cache.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/random.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/volatile_set.h"
#include "mayfly/window_queue.h"
#include "promises.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kDue = 500;  // entries that are due among all others

// ---- The cache, on each index ----

// Puts, overwrites, erases and expires; then `size` entries that expire within a day.
template <class Index>
struct UsedCache {
  explicit UsedCache(std::size_t size) {
    for (std::uint64_t i = 0; i < 4 * size; ++i) {
      const std::uint64_t key = random.below(2 * size);
      cache.put(key, i, Millis(1 + static_cast<std::int64_t>(random.below(30'000))));
      if (i % 3 == 0) cache.erase(random.below(2 * size));
    }
    clock.advance(30s);
    cache.purge(size);
    for (std::uint64_t i = 0; cache.size() < size; ++i) put(i);
    while (cache.purge(size) > 0) {
    }
  }

  void put(std::uint64_t key) {
    cache.put(key, key, Millis(60'000 + static_cast<std::int64_t>(random.below(86'400'000))));
  }

  Random random{1};
  ManualClock clock;
  Cache<std::uint64_t, std::uint64_t, Index> cache{
      clock, {.cleanup = Cleanup::manual, .purge_per_write = 0}};
};

template <class Index>
void add_cache(const std::string& index, const std::string& header, const std::string& schedule,
               const std::string& take) {
  const auto name = [&](std::string_view what) { return std::string(what) + " " + index; };
  add(name("cache put and erase"), schedule, header, [](std::size_t size, const std::string& of) {
    UsedCache<Index> used(size);
    Counted counted;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      used.put(i * 7'919 % size);
      used.cache.erase(i * 104'729 % size);
    }
    counted.end(of);
  });
  add(name("cache get"), "constant", "cache.h", [](std::size_t size, const std::string& of) {
    UsedCache<Index> used(size);
    Counted counted;
    for (std::uint64_t i = 0; i < kOperations; ++i) (void)used.cache.get(i * 7'919 % size);
    counted.end(of);
  });
  add(name("cache purge of due entries"), take, "cache.h and " + header,
      [](std::size_t size, const std::string& of) {
        UsedCache<Index> used(size);
        for (std::uint64_t i = 0; i < kDue; ++i) used.cache.put(~i, i, 5s);
        used.clock.advance(5s);
        Counted counted;
        while (used.cache.purge(100) > 0) {
        }
        counted.end(of);
      });
  add(name("cache purge of nothing"), "constant", "cache.h",
      [](std::size_t size, const std::string& of) {
        UsedCache<Index> used(size);
        Counted counted;
        for (std::uint64_t i = 0; i < kOperations; ++i) (void)used.cache.purge(100);
        counted.end(of);
      });
}

void add_caches() {
  add_cache<VolatileSet>("VolatileSet", "volatile_set.h", "constant", "constant");
  add_cache<TimerWheel>("TimerWheel", "timer_wheel.h", "constant", "constant");
  add_cache<DeadlineHeap>("DeadlineHeap", "deadline_heap.h", "log", "log");
  add_cache<DeadlineTree>("DeadlineTree", "deadline_tree.h", "log", "constant");
  add_cache<WindowQueue>("WindowQueue", "window_queue.h", "log", "constant");
  add("cache eviction", "constant", "sieve.h", [](std::size_t size, const std::string& of) {
    ManualClock clock;
    Cache<std::uint64_t, std::uint64_t> cache(clock, {.max_entries = size});
    Random random(1);
    for (std::uint64_t i = 0; i < 3 * size; ++i) {
      cache.put(random.below(2 * size), i);
      (void)cache.get(random.below(2 * size));
    }
    Counted counted;
    for (std::uint64_t i = 0; i < kOperations; ++i) cache.put(~i, i);
    counted.end(of);
  });
}

// ---- The indexes by themselves ----

// Slots that were scheduled, moved and cancelled; then `size` of them, due within a day, after
// kDue that are due within the first seconds.
template <class Index>
struct UsedIndex {
  explicit UsedIndex(std::size_t size) {
    const auto slots = static_cast<Slot>(kDue + size);
    std::vector<Due> nothing;
    index.take_due(Time(), 1, nothing);  // turns a wheel to the time
    index.reserve(slots);
    for (Slot slot = 0; slot < slots; ++slot) {
      index.schedule(slot, Time(Millis(slot)));
      index.schedule(slot, later());
      if (slot % 3 == 0) index.cancel(slot);
    }
    for (Slot slot = 0; slot < slots; ++slot) {
      index.schedule(slot, slot < kDue ? Time(Millis(10 * slot)) : later());
    }
  }
  Time later() {
    return Time(Millis(60'000 + static_cast<std::int64_t>(random.below(86'400'000))));
  }

  Random random{1};
  Index index{};
};

// `schedule`: "linear" makes as many operations as there are slots, so that each has its share of
// the compactions.
template <class Index>
void add_index(const std::string& index, const std::string& header, const std::string& schedule,
               const std::string& count) {
  add(index + " schedule and cancel, next deadline", schedule, header,
      [is_amortised = schedule == "linear"](std::size_t size, const std::string& of) {
        UsedIndex<Index> used(size);
        Counted counted;
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < (is_amortised ? size : kOperations); ++i) {
          const auto slot = static_cast<Slot>(i * 7'919 % size);
          used.index.cancel(slot);
          sum += static_cast<std::uint64_t>(used.index.next_deadline().time_since_epoch().count());
          used.index.schedule(slot, used.later());
        }
        counted.end(of);
        if (sum == 1) std::abort();  // so that it is needed
      });
  add(index + " count due", count, header, [](std::size_t size, const std::string& of) {
    const UsedIndex<Index> used(size);
    Counted counted;
    for (int i = 0; i < 20; ++i) (void)used.index.count_due(Time(Millis(5'000 + i)));
    counted.end(of);
  });
}

void add_indexes() {
  add_index<VolatileSet>("VolatileSet", "volatile_set.h", "constant", "constant");
  add_index<TimerWheel>("TimerWheel", "timer_wheel.h", "constant", "constant");
  add_index<DeadlineHeap>("DeadlineHeap", "deadline_heap.h", "linear", "constant");
  add_index<DeadlineTree>("DeadlineTree", "deadline_tree.h", "log", "constant");
  add_index<WindowQueue>("WindowQueue", "window_queue.h", "log", "constant");
  add_index<Sampler>("Sampler", "sampler.h", "constant", "linear");
  add_index<LazyIndex>("LazyIndex", "lazy_index.h", "constant", "linear");
  add("Sampler cycle", "constant", "sampler.h", [](std::size_t size, const std::string& of) {
    UsedIndex<Sampler> used(size);
    std::vector<Due> taken;
    Counted counted;
    for (int i = 0; i < 100; ++i) used.index.take_due(Time(), SIZE_MAX, taken);
    counted.end(of);
  });
}

// ---- The keyspace ----

// Keys that were put, overwritten, erased and expired; then `size` of them, every second with a
// deadline within a day.
struct UsedKeyspace : KeyspaceFixture {
  explicit UsedKeyspace(std::size_t size) {
    for (std::size_t i = 0; i < 2 * size; ++i) {
      const Slot slot = put(i % (size + size / 2));
      if (i % 3 != 0) database.set_deadline(slot, in(1 + static_cast<std::int64_t>(i % 20'000)));
      if (i % 5 == 0) erase(i / 2);
    }
    advance(10'000);
    while (database.sweep(context, 1'000) > 0) {
    }
    for (std::size_t i = 0; database.stored() < size; ++i) put(size * 4 + i);
    for (std::size_t i = 0; i < size * 6; i += 2) {
      const Slot slot = database.find(context, key(i));
      if (slot == kNoSlot) continue;
      database.set_deadline(slot, in(60'000 + static_cast<std::int64_t>(random.below(86'400'000))));
    }
    recorder.take();
  }

  std::string key(std::size_t i) const { return "key:" + std::to_string(i); }
  Slot put(std::size_t i) { return database.put_string(context, key(i), "value"); }
  void erase(std::size_t i) {
    const Slot slot = database.find(context, key(i));
    if (slot != kNoSlot) database.erase(slot);
  }
  void make_due(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      database.set_deadline(database.put_string(context, "due:" + std::to_string(i), "v"), in(5));
    }
    advance(5);
  }

  Random random{1};
};

void add_keys() {
  add("keyspace find, put and erase", "constant", "table.h",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          used.put(size * 9 + i);
          (void)used.database.find(used.context, "key:77");
          used.erase(size * 9 + i);
        }
        counted.end(of);
      });
  add("keyspace sweep of due keys", "constant", "database.h, README.md",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        used.make_due(kDue);
        Counted counted;
        while (used.database.sweep(used.context, 100) > 0) {
        }
        counted.end(of);
      });
  add("keyspace sweep of nothing", "constant", "ARCHITECTURE.md",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) (void)used.database.sweep(used.context, 100);
        counted.end(of);
      });
  add("keyspace size while keys are due", "constant", "database.h",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        used.make_due(kDue);
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) (void)used.database.size(used.context);
        counted.end(of);
      });
  add("EXPIRESCAN page", "constant", "docs/server.md", [](std::size_t size, const std::string& of) {
    UsedKeyspace used(size);
    Counted counted;
    for (int round = 0; round < 20; ++round) {
      int seen = 0;
      used.database.visit_deadlines(used.in(1), kNever, [&](Slot, Time) { return ++seen < 100; });
    }
    counted.end(of);
  });
  add("EXPIRESCAN page with MEMBERS", "constant", "docs/server.md",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        Counted counted;
        for (int round = 0; round < 20; ++round) {
          int seen = 0;
          visit_earliest(used.database, used.context.now, used.in(1), kNever,
                         [&](Slot, Time) { return ++seen < 100; });
        }
        counted.end(of);
      });
  add("SCAN step and RANDOMKEY", "constant", "table.h",
      [](std::size_t size, const std::string& of) {
        UsedKeyspace used(size);
        std::uint64_t cursor = 0;
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          cursor = used.database.scan(cursor, [](Slot) {});
          (void)used.database.random_stored(used.random);
        }
        counted.end(of);
      });
}

// ---- Members ----

// A key of `size` members that were put, overwritten, erased and expired; every second has a
// deadline.
struct UsedMembers : KeyspaceFixture {
  UsedMembers(ValueType type, std::size_t size) {
    slot = database.make_members(context, type, "key");
    for (std::size_t i = 0; i < 2 * size; ++i) {
      MembersRef members = database.members(context, slot);
      members.put(name(i % (size + size / 2)), payload(type, i),
                  i % 3 == 0 ? kNever : in(1 + static_cast<std::int64_t>(i % 20'000)));
      if (i % 5 == 0) members.erase(name(i / 2));
    }
    advance(10'000);
    while (database.sweep(context, 1'000) > 0) {
    }
    MembersRef members = database.members(context, slot);
    for (std::size_t i = 0; members.stored() < size; ++i) {
      members.put(name(4 * size + i), payload(type, i),
                  i % 2 == 0 ? kNever : in(60'000 + static_cast<std::int64_t>(i * 37 % 900'000)));
    }
    recorder.take();
  }

  static std::string name(std::size_t i) { return "member:" + std::to_string(i); }
  std::string payload(ValueType type, std::size_t i) const {
    if (type != ValueType::zset) return type == ValueType::hash ? "value" : "";
    const double score = static_cast<double>(i * 7'919 % 100'003);
    return std::string(reinterpret_cast<const char*>(&score), sizeof score);
  }
  void make_due(std::size_t count) {
    MembersRef members = database.members(context, slot);
    for (std::size_t i = 0; i < count; ++i) {
      members.put("due:" + std::to_string(i), payload(database.type(slot), i), in(5));
    }
    advance(5);
  }

  Slot slot = kNoSlot;
};

void add_members() {
  for (const ValueType type : {ValueType::hash, ValueType::set, ValueType::zset}) {
    const std::string of_type = type == ValueType::hash  ? " of a hash"
                                : type == ValueType::set ? " of a set"
                                                         : " of a sorted set";
    const std::string growth = type == ValueType::zset ? "log" : "constant";
    add("find, put and erase" + of_type, growth, "member_table.h",
        [type](std::size_t size, const std::string& of) {
          UsedMembers used(type, size);
          MembersRef members = used.database.members(used.context, used.slot);
          Counted counted;
          for (std::size_t i = 0; i < kOperations; ++i) {
            const std::string name = "new:" + std::to_string(i);
            members.put(name, used.payload(type, i), used.in(50'000));
            (void)members.find(name);
            members.erase(name);
          }
          counted.end(of);
        });
    add("sweep of due members" + of_type, growth, "member_table.h",
        [type](std::size_t size, const std::string& of) {
          UsedMembers used(type, size);
          used.make_due(kDue);
          Counted counted;
          while (used.database.sweep(used.context, 100) > 0) {
          }
          counted.end(of);
        });
    add("size while members are due" + of_type, "constant", "members_ref.h",
        [type](std::size_t size, const std::string& of) {
          UsedMembers used(type, size);
          used.make_due(kDue);
          const MembersRef members = used.database.members(used.context, used.slot);
          Counted counted;
          for (std::size_t i = 0; i < kOperations; ++i) (void)members.size();
          counted.end(of);
        });
  }
  add("rank in a sorted set", "log", "members_order.h",
      [](std::size_t size, const std::string& of) {
        UsedMembers used(ValueType::zset, size);
        MembersRef members = used.database.members(used.context, used.slot);
        const MembersOrder order = members.order();
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) (void)order.at(i * 31 % size);
        counted.end(of);
      });
  add("earliest member deadline, exact", "constant", "database.h",
      [](std::size_t size, const std::string& of) {
        UsedMembers used(ValueType::hash, size);
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          (void)used.database.first_member_deadline(used.slot, used.in(1));
        }
        counted.end(of);
      });
}

}  // namespace
}  // namespace mayfly

int main(int argc, char** argv) {
  mayfly::add_caches();
  mayfly::add_indexes();
  mayfly::add_keys();
  mayfly::add_members();
  return mayfly::run_promises(argc, argv);
}
