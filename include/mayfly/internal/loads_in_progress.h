// SPDX-License-Identifier: Apache-2.0
// LoadsInProgress: the loads that are under way in one shard, so that a value is loaded once,
// however many callers ask for it.
//
// All members except the waiting itself run under the shard's lock. The caller that finds no load
// for its key starts one, calls the loader without the lock, and finishes it; others wait for the
// result. A put or an erase of the key meanwhile supersedes the load: those who wait still get its
// result, but it is not put into the cache, since it may be older than what is there.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "mayfly/time.h"

namespace mayfly::internal {

template <class Key, class Value, class Equal>
class LoadsInProgress {
 public:
  struct Load {
    Load(Key of, Time until) : key(std::move(of)), lease(until) {}

    const Key key;
    const Time lease;  // when another caller may load a stale value anew
    const std::thread::id loader = std::this_thread::get_id();
    bool is_superseded = false;
    bool is_finished = false;
    int waiting = 0;
    std::optional<Value> value;  // what was loaded
    std::exception_ptr failure;  // or why not
    std::condition_variable_any finished;
  };

  // The load under way for `key`, or null. A superseded load is not for new callers: its result may
  // be older than the change they know of. One whose lease has ended at `now` is superseded.
  Load* find(const Key& key, Time now) {
    for (Load& load : loads_) {
      if (is_due(load.lease, now) && Equal{}(load.key, key)) load.is_superseded = true;
      const bool is_open = !load.is_finished && !load.is_superseded;
      if (is_open && Equal{}(load.key, key)) return &load;
    }
    return nullptr;
  }

  Load& start(const Key& key, Time lease) { return loads_.emplace_back(key, lease); }

  // Ends a load. Callers that wait get copies of the value, or the failure. If copying the value
  // throws, that is their failure: they must not wait for ever.
  void finish(Load& load, const std::optional<Value>& value, std::exception_ptr failure) noexcept {
    load.failure = std::move(failure);
    if (load.waiting > 0 && value) {
      try {
        load.value.emplace(*value);
      } catch (...) {
        load.failure = std::current_exception();
      }
    }
    load.is_finished = true;
    load.finished.notify_all();
    if (load.waiting == 0) remove(load);
  }

  // Waits for a load to finish, and returns its value or throws its failure.
  template <class Lock>
  Value wait(Load& load, Lock& lock) {
    ++load.waiting;
    load.finished.wait(lock, [&] { return load.is_finished; });
    const Leave leave(*this, load);
    if (load.failure != nullptr) std::rethrow_exception(load.failure);
    return *load.value;
  }

  template <class Lookup>
  void supersede(const Lookup& key) {
    for (Load& load : loads_) {
      if (Equal{}(load.key, key)) load.is_superseded = true;
    }
  }

  void supersede_all() {
    for (Load& load : loads_) load.is_superseded = true;
  }

 private:
  // The last caller that waits removes the load, also if copying the value throws.
  struct Leave {
    Leave(LoadsInProgress& of, Load& which) : loads(of), load(which) {}
    ~Leave() {
      if (--load.waiting == 0) loads.remove(load);
    }
    Leave(const Leave&) = delete;

    LoadsInProgress& loads;
    Load& load;
  };

  void remove(Load& load) {
    loads_.remove_if([&](const Load& other) { return &other == &load; });
  }

  std::list<Load> loads_;  // few at a time, so a walk is as good as a search
};

}  // namespace mayfly::internal
