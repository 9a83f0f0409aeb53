// SPDX-License-Identifier: Apache-2.0
// LoadsInProgress: the loads that are under way in one cache or shard, so that a value is loaded
// once, however many callers ask for it.
//
// All members except the waiting itself run under the shard's lock. The caller that finds no load
// for its key starts one, calls the loader without the lock, and finishes it; others wait for the
// result. A change of the key meanwhile supersedes the load: those who wait still get its
// result, but it is not put into the cache, since it may be older than what is there. A load has a
// lease. When that ends, those who wait look again, and the first of them, or of those who come
// later, supersedes the load and starts another.

#pragma once

#include <algorithm>
#include <exception>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "mayfly/internal/background_thread.h"

namespace mayfly::internal {

template <class Key, class Value, class Equal>
class LoadsInProgress {
 public:
  struct Load {
    Load(Key of, Time until) : key(std::move(of)), lease(until) {}

    const Key key;
    const Time lease;  // when another caller may load, too
    const std::thread::id loader = std::this_thread::get_id();
    bool is_superseded = false;
    bool is_finished = false;
    std::vector<Alarm*> waiting{};  // of those who wait
    std::optional<Value> value;     // what was loaded
    std::exception_ptr failure;     // or why not
  };

  // The load under way for `key`, or null. A superseded load is not for new callers: its result may
  // be older than the change they know of. One whose lease has ended at `now` is superseded: who
  // gets null has to start another.
  Load* find(const Key& key, Time now) {
    for (Load& load : loads_) {
      if (is_due(load.lease, now) && is_equal<Equal>(load.key, key)) load.is_superseded = true;
      const bool is_open = !load.is_finished && !load.is_superseded;
      if (is_open && is_equal<Equal>(load.key, key)) return &load;
    }
    return nullptr;
  }

  Load& start(const Key& key, Time lease) { return loads_.emplace_back(key, lease); }

  // Ends a load. Callers that wait get copies of the value, or the failure. If copying the value
  // throws, that is their failure: they must not wait for ever.
  void finish(Load& load, const std::optional<Value>& value, std::exception_ptr failure) noexcept {
    load.failure = std::move(failure);
    if (!load.waiting.empty() && value) {
      try {
        load.value.emplace(*value);
      } catch (...) {
        load.failure = std::current_exception();
      }
    }
    load.is_finished = true;
    for (Alarm* const alarm : load.waiting) alarm->ring();
    if (load.waiting.empty()) remove(load);
  }

  // Waits for a load to finish, and returns its value or throws its failure. Nothing: the lease
  // has ended before.
  template <class Lock>
  std::optional<Value> wait(Load& load, const Clock& clock, Lock& lock) {
    Alarm alarm(clock);
    const Waiting waiting(*this, load, alarm);
    while (!load.is_finished) {
      if (is_due(load.lease, clock.now())) return std::nullopt;
      lock.unlock();
      alarm.sleep_until(load.lease);
      lock.lock();
    }
    if (load.failure != nullptr) std::rethrow_exception(load.failure);
    return *load.value;
  }

  // Ends a load of a cache that nobody waits for.
  struct End {
    End(LoadsInProgress& of, Load& which) : loads(of), load(which) {}
    ~End() { loads.remove(load); }
    End(const End&) = delete;

    LoadsInProgress& loads;
    Load& load;
  };

  template <class Lookup>
  void supersede(const Lookup& key) {
    for (Load& load : loads_) {
      if (is_equal<Equal>(load.key, key)) load.is_superseded = true;
    }
  }

  void supersede_all() {
    for (Load& load : loads_) load.is_superseded = true;
  }

  // Whether each load is under way or waited for. For tests.
  bool is_sound() const {
    return std::none_of(loads_.begin(), loads_.end(),
                        [](const Load& load) { return load.is_finished && load.waiting.empty(); });
  }

 private:
  // A caller that waits for a load. The last one removes a load that is finished, also if copying
  // the value throws.
  struct Waiting {
    Waiting(LoadsInProgress& of, Load& which, Alarm& by) : loads(of), load(which), alarm(by) {
      load.waiting.push_back(&alarm);
    }
    ~Waiting() {
      std::erase(load.waiting, &alarm);
      if (load.is_finished && load.waiting.empty()) loads.remove(load);
    }
    Waiting(const Waiting&) = delete;

    LoadsInProgress& loads;
    Load& load;
    Alarm& alarm;
  };

  void remove(Load& load) {
    loads_.remove_if([&](const Load& other) { return &other == &load; });
  }

  std::list<Load> loads_;  // few at a time, so a walk is as good as a search
};

}  // namespace mayfly::internal
