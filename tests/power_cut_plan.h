// SPDX-License-Identifier: Apache-2.0
// What the stores of power_cut.cc and store_rules.cc are filled with: transactions that follow from
// a seed, and what the store must hold after each. So whoever knows how many there were knows all.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/store.h"

namespace mayfly::internal {

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "not sound: %s\n", what.c_str());
  std::fflush(nullptr);
  std::_Exit(3);
}
inline void require_ok(const Status& status, const char* what) {
  require(status.ok(), status.ok() ? "" : std::string(what) + ": " + status.error().message);
}
template <class T>
T take(Result<T> result, const char* what) {
  require(result.ok(), result.ok() ? "" : std::string(what) + ": " + result.error().message);
  return std::move(*result);
}

// The number of one transaction: of the first life of the store, or of one after a power cut.
struct PlanNumber {
  std::uint64_t life = 0;
  std::uint64_t number = 0;
  bool operator==(const PlanNumber&) const = default;
  std::string text() const { return std::to_string(life) + ":" + std::to_string(number); }
};

struct PlanOptions {
  std::uint64_t keys = 300;
  bool families = true;  // also makes and drops some, clears them, and puts what is large
};

// The contents of a store after some transactions.
class PlanState {
 public:
  struct Entry {
    std::string value;
    Time deadline;
  };
  using Table = std::map<std::string, Entry>;

  Time now() const { return Time(Millis(1'700'000'000'000)) + Millis(5) * count_; }
  const std::map<std::string, Table>& families() const { return families_; }
  const PlanNumber& last() const { return last_; }

  // Makes the transaction in the model, and in `txn` if there is one. Returns whether the store
  // had to commit it straight into LMDB, durably.
  bool step(std::uint64_t seed, PlanNumber number, const PlanOptions& options, WriteTxn* txn) {
    std::mt19937_64 random(seed * 1'000'003 + number.life * 65'537 + number.number);
    ++count_;
    last_ = number;
    bool direct = false;
    if (options.families && number.number % 23 == 7) direct = change_families(random, txn);
    const std::uint64_t changes = 1 + random() % (number.number % 50 == 0 ? 60 : 5);
    for (std::uint64_t i = 0; i < changes; ++i) change(random, options, number, txn);
    put("", "n", number.text(), kNever, txn);
    return direct;
  }

  // What the store holds is what it must hold, as of now().
  void compare(const Store& store) const {
    const ReadTxn txn = take(store.read(), "read");
    std::size_t named = 0;
    for (const std::string& name : txn.families()) named += name != "default" ? 1 : 0;
    require(named == families_.size() - 1, "there are " + std::to_string(named) + " families");
    for (const auto& [name, table] : families_) {
      compare(txn, name.empty() ? Family() : take(txn.family(name), "family"), name, table);
    }
  }

 private:
  bool change_families(std::mt19937_64& random, WriteTxn* txn) {
    const std::string name(1, static_cast<char>('a' + random() % 3));
    const bool is_there = families_.contains(name);
    if (!is_there) {
      families_[name];
      if (txn != nullptr) take(txn->create_family(name), "create a family");
    } else if (random() % 2 == 0) {
      families_.erase(name);
      if (txn != nullptr) require_ok(txn->drop_family(name), "drop a family");
    } else {
      families_[name].clear();
      if (txn != nullptr) txn->clear(take(txn->family(name), "family"));
    }
    return true;
  }

  void change(std::mt19937_64& random, const PlanOptions& options, PlanNumber number,
              WriteTxn* txn) {
    auto family = families_.begin();
    std::advance(family, static_cast<std::ptrdiff_t>(random() % families_.size()));
    const std::string& name = family->first;
    std::string key = "key" + std::to_string(random() % options.keys);
    if (random() % 20 == 0) key.append(600, 'k');  // longer than LMDB's
    const auto found = family->second.find(key);
    const bool lives = found != family->second.end() && !is_due(found->second.deadline, now());
    const Family target = txn == nullptr || name.empty() ? Family() : *txn->family(name);
    const Time deadline = now() + Millis(1 + static_cast<std::int64_t>(random() % 600));
    switch (random() % 8) {
      case 0:
        if (txn != nullptr) txn->erase(key, target);
        family->second.erase(key);
        return;
      case 1:
        if (txn != nullptr) txn->expire(key, deadline, When::always, target);
        if (lives) found->second.deadline = deadline;
        return;
      case 2:
        if (txn != nullptr) txn->persist(key, target);
        if (lives) found->second.deadline = kNever;
        return;
      case 3:
        if (random() % 4 == 0 && txn != nullptr) txn->purge_expired(UINT64_MAX, target);
        return;
      default:
        break;
    }
    std::uint64_t size = random() % 300;
    if (random() % 20 == 0) size = 3000 + random() % 5000;
    if (options.families && random() % 200 == 0) size = 20'000 + random() % 9000;
    put(name, key, std::string(size, static_cast<char>('a' + random() % 26)) + number.text(),
        random() % 2 == 0 ? deadline : kNever, txn);
  }

  void put(const std::string& family, const std::string& key, const std::string& value,
           Time deadline, WriteTxn* txn) {
    families_[family][key] = {value, deadline};
    if (txn == nullptr) return;
    const Family target = family.empty() ? Family() : *txn->family(family);
    txn->put(key, value, deadline == kNever ? Expiry() : Expiry(deadline), target);
  }

  void compare(const ReadTxn& txn, Family family, const std::string& name,
               const Table& table) const {
    Cursor cursor = take(txn.cursor({}, family), "cursor");
    std::uint64_t with_ttl = 0;
    std::uint64_t live = 0;
    bool on = cursor.first();
    for (const auto& [key, entry] : table) {
      if (is_due(entry.deadline, now())) continue;
      const std::string what = "'" + name + "'/" + key.substr(0, 20);
      require(on, what + " is not there");
      require(cursor.key() == key, what + " is not there, but " + std::string(cursor.key()));
      require(cursor.value() == entry.value, what + " has another value");
      require(cursor.deadline() == entry.deadline, what + " has another deadline");
      ++live;
      with_ttl += entry.deadline != kNever ? 1 : 0;
      on = cursor.next();
    }
    require(!on, "there is more in '" + name + "' than there should be");
    require_ok(cursor.status(), "cursor");
    const FamilyCounts counts = take(txn.count(family), "count");
    require(counts.live == live && counts.with_ttl == with_ttl &&
                counts.stored == counts.live + counts.expired,
            "the counts of '" + name + "' are " + std::to_string(counts.live) + " and " +
                std::to_string(counts.with_ttl) + ", not " + std::to_string(live) + " and " +
                std::to_string(with_ttl));
  }

  std::map<std::string, Table> families_{{"", {}}};
  std::int64_t count_ = 0;
  PlanNumber last_;
};

// The last transaction that a store holds.
inline PlanNumber last_number(const Store& store) {
  const auto found = take(store.get("n"), "get");
  if (!found) return {};
  const std::size_t colon = found->find(':');
  return {std::stoull(found->substr(0, colon)), std::stoull(found->substr(colon + 1))};
}

inline void require_sound(const Store& store) {
  const CheckReport report = take(store.check(), "check");
  require(report.ok(), report.ok() ? "" : "check: " + report.problems.front());
}

}  // namespace mayfly::internal
