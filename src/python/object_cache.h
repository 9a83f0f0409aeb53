// SPDX-License-Identifier: Apache-2.0
// ObjectCache: the cache for Python objects, any of them as keys and as values.
//
// The trouble with Python objects is that nearly everything can run Python code, and so come back
// and change the cache, or let another thread do so: comparing two keys, letting go of a value,
// asking a clock, telling a listener. None of that may happen while the core is at work. Therefore
//
//   - the time is asked, and the key hashed, before;
//   - keys are compared within the core only if that runs no Python code: the same object, or plain
//     ones (str, bytes, int, float, None, and tuples of these). Others with the same hash are set
//     aside, compared afterwards, and the look-up is repeated if anything changed meanwhile;
//   - what is removed is kept until the core is whole again, and let go then.
//
// Threads: the GIL guards it, since the core does not let it go.

#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/internal/cache_core.h"
#include "mayfly/volatile_set.h"

namespace mayfly::internal {

struct ObjectKey {
  pybind11::object object;
  Py_hash_t hash;
};

// A key that is sought. Those that may be equal, but only Python can tell, are added to `doubtful`.
struct Sought {
  PyObject* object;
  Py_hash_t hash;
  std::vector<pybind11::object>* doubtful;
};

struct ObjectHash {
  std::size_t operator()(const ObjectKey& key) const { return static_cast<std::size_t>(key.hash); }
  std::size_t operator()(const Sought& key) const { return static_cast<std::size_t>(key.hash); }
};

struct ObjectEqual {
  bool operator()(const ObjectKey& stored, const ObjectKey& key) const {
    return stored.object.is(key.object);
  }
  bool operator()(const ObjectKey& stored, const Sought& key) const;
};

class ObjectCache {
 public:
  using Options = CacheOptions<ObjectKey, pybind11::object>;

  // Entries that are put without a stale time get `stale`. A timer and a listener may be None.
  ObjectCache(Options options, Millis stale, pybind11::object timer, pybind11::object listener);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // A borrowed reference, good until the cache is used again; null if there is none. Counts as a
  // hit or a miss. All that follow throw what Python code raises.
  PyObject* get(pybind11::handle key);
  bool contains(pybind11::handle key);

  // How long an entry is fresh, and how long it is stale then. Null, or None, is the default.
  struct Life {
    PyObject* ttl = nullptr;
    PyObject* stale = nullptr;
  };
  void put(pybind11::handle key, pybind11::handle value, const Life& life);

  // The value of `key`; if there is none, `value`, which is put. Counts as a hit or a miss.
  pybind11::object set_default(pybind11::handle key, pybind11::handle value, PyObject* ttl);

  // Loading (object_loads.cc). A load of `key` begins, and gets a number. put_loaded() puts what it
  // brought, unless the key was put, removed or cleared meanwhile; it returns whether it did. Every
  // load must be ended. Keys with the same hash are taken for the same: then a value may not be put
  // that could be. What is wrong with `life` is said when the load begins.
  std::uint64_t begin_load(pybind11::handle key, const Life& life);
  bool put_loaded(std::uint64_t number, pybind11::handle key, pybind11::handle value,
                  const Life& life);
  void load_failed(std::uint64_t number, pybind11::handle key);
  void end_load(std::uint64_t number);

  // Whether another caller has to leave the key to it: it has not ended, is not superseded, and its
  // lease has not ended. If only that has, it is superseded now: the caller has to begin a load.
  bool is_loading(std::uint64_t number);

  // The milliseconds until the lease ends; 0 if the load or its lease has ended, -1 if it never
  // ends.
  std::int64_t lease_ms(std::uint64_t number) const;

  bool is_stale(pybind11::handle key);    // false if it is not there
  bool wants_load(pybind11::handle key);  // it is stale, and no load of it has failed just now

  // The value without counting; null if there is none.
  pybind11::object value_of(pybind11::handle key);

  // Whether the key was there. `pop` gives out the value.
  bool erase(pybind11::handle key);
  pybind11::object pop(pybind11::handle key);  // null if it was not there

  bool expire(pybind11::handle key, pybind11::handle ttl);
  bool persist(pybind11::handle key);

  // The milliseconds left; -1 if it never expires, -2 if it is not there.
  std::int64_t ttl_ms(pybind11::handle key);

  std::size_t purge(std::size_t limit);
  void clear();
  std::size_t size();
  std::vector<std::pair<pybind11::object, pybind11::object>> entries();
  CacheStats stats() const;

  // For the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  void drop_all();

 private:
  using Core = CacheCore<ObjectKey, pybind11::object, VolatileSet, ObjectHash, ObjectEqual>;
  using Map = Core::Map;

  Time now() const;
  Expiry to_expiry(PyObject* ttl, Time now) const;
  Expiry to_expiry(const Life& life, Time now) const;

  // The key as it is stored, if an equal one is; else the key itself.
  ObjectKey resolve(pybind11::handle key);
  Slot peek(pybind11::handle key, Time now);

  struct Load {
    std::uint64_t number;
    Py_hash_t hash;
    Time lease;
    bool is_superseded = false;
  };
  const Load* find_load(std::uint64_t number) const;

  // What loads of this hash bring may be older than what is done to the key now.
  void supersede(Py_hash_t hash);
  // REQUIRES: resolve() gave out the key, and no Python code has run since.
  void put_resolved(ObjectKey key, pybind11::handle value, const Expiry& expiry, Time now);

  // To be called when the core is whole: releases removed entries, and notifies the listener.
  void release_removed();

  SteadyClock clock_;
  pybind11::object timer_;
  pybind11::object listener_;
  Expiry default_expiry_;
  Millis default_stale_;
  Millis lease_;
  Core core_;
  std::vector<Load> loads_{};  // few at a time
  std::uint64_t last_load_ = 0;
  std::uint64_t version_ = 0;  // of what is stored: resolve() begins again if it changes
};

}  // namespace mayfly::internal
