// SPDX-License-Identifier: Apache-2.0
// Flights: the loads that are under way in one shard, so that a value is loaded once however many
// callers want it.
//
// All members but the waiting itself happen under the shard's lock. The caller that finds no flight
// for its key starts one, loads without the lock, and lands it; others wait for the landing.
// Whatever is put or erased under the key meanwhile supersedes the flight: those who wait still get
// what was loaded, but it is not put, since it may be older than what is there now.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <optional>
#include <thread>
#include <utility>

namespace mayfly {

template <class Key, class Value, class Equal>
class Flights {
 public:
  struct Flight {
    explicit Flight(Key of) : key(std::move(of)) {}

    const Key key;
    const std::thread::id pilot = std::this_thread::get_id();
    bool is_superseded = false;
    bool has_landed = false;
    int waiting = 0;
    std::optional<Value> value;  // what was loaded
    std::exception_ptr failure;  // or why not
    std::condition_variable_any landed;
  };

  // The flight under way for `key`, or null. One that is superseded is not for newcomers: what it
  // brings may be older than the change they know of.
  Flight* find(const Key& key) {
    for (Flight& flight : flights_) {
      const bool is_open = !flight.has_landed && !flight.is_superseded;
      if (is_open && Equal{}(flight.key, key)) return &flight;
    }
    return nullptr;
  }

  Flight& start(const Key& key) { return flights_.emplace_back(key); }

  // Ends a flight. Those who wait for it get copies of the value, or the failure. If the value
  // can't be copied, what its copying threw is their failure: they must not wait for ever.
  void land(Flight& flight, const std::optional<Value>& value,
            std::exception_ptr failure) noexcept {
    flight.failure = std::move(failure);
    if (flight.waiting > 0 && value) {
      try {
        flight.value.emplace(*value);
      } catch (...) {
        flight.failure = std::current_exception();
      }
    }
    flight.has_landed = true;
    flight.landed.notify_all();
    if (flight.waiting == 0) remove(flight);
  }

  // Waits for a flight to land, and returns what it brought, or throws what it met.
  template <class Lock>
  Value wait(Flight& flight, Lock& lock) {
    ++flight.waiting;
    flight.landed.wait(lock, [&] { return flight.has_landed; });
    const Leave leave(*this, flight);
    if (flight.failure != nullptr) std::rethrow_exception(flight.failure);
    return *flight.value;
  }

  template <class Lookup>
  void supersede(const Lookup& key) {
    for (Flight& flight : flights_) {
      if (Equal{}(flight.key, key)) flight.is_superseded = true;
    }
  }

  void supersede_all() {
    for (Flight& flight : flights_) flight.is_superseded = true;
  }

 private:
  // The last who waits removes the flight, also if copying the value throws.
  struct Leave {
    Leave(Flights& of, Flight& which) : flights(of), flight(which) {}
    ~Leave() {
      if (--flight.waiting == 0) flights.remove(flight);
    }
    Leave(const Leave&) = delete;

    Flights& flights;
    Flight& flight;
  };

  void remove(Flight& flight) {
    flights_.remove_if([&](const Flight& other) { return &other == &flight; });
  }

  std::list<Flight> flights_;  // few at a time, so a walk is as good as a search
};

}  // namespace mayfly
