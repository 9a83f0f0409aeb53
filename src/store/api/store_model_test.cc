// SPDX-License-Identifier: Apache-2.0
// A store agrees with plain maps, whatever is done to both: all writes and reads, in transactions
// and out of them, through two handles, with families that come and go, rollbacks, reopening,
// compaction, purges, and a clock that also goes back. The model knows what is removed and when, so
// that even the number of expired entries in the file has to be right at every step.
//
// MAYFLY_MODEL_STEPS=1000000 makes it a long run, from a seed of MAYFLY_MODEL_SEED.

#include "store/api/store_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <utility>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_model_test {

using namespace std::chrono_literals;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What the run came through, to see that it comes everywhere.
struct Reached {
  std::uint64_t operations = 0, committed = 0, rolled_back = 0, first_ttl_undone = 0;
  std::uint64_t to_ttl = 0, to_permanent = 0, expired_overwritten = 0, long_keys = 0;
  std::uint64_t ttl_all_gone = 0, dropped_with_ttl = 0, purged = 0, lazily = 0, reopened = 0;
  std::uint64_t compacted = 0, drops_undone = 0, revived = 0, gathered = 0;
};

class Driver {
 public:
  Driver(std::filesystem::path path, std::uint64_t seed, const StoreOptions& options)
      : path_(std::move(path)), options_(options), random_(seed) {
    open_all();
    model_["default"];
    handles_["default"] = Family();
  }

  void step() {
    ++step_;
    const std::uint64_t choice = below(100);
    if (choice < 55) {
      operate(any_store());
    } else if (choice < 78) {
      transaction();
    } else if (choice < 92) {
      move_clock();
    } else if (choice < 94) {
      snapshot();
    } else if (choice < 95) {
      walk_partly();
    } else if (below(4) == 0) {
      maintain();
    }
    compare_some();
    if (step_ % 20 == 0) compare_all();
  }

  const Reached& reached() const { return reached_; }
  std::string where() const { return "step " + std::to_string(step_) + ": " + doing_; }

 private:
  // --- Choices -----------------------------------------------------------------------------------

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  Store& any_store() { return stores_[below(stores_.size())]; }
  void require(bool holds, const char* what) const {
    if (!holds) throw std::runtime_error(where() + ": " + what + " differs");
  }

  // The least used families are the ones that are made and dropped.
  std::string any_family() {
    const auto at = static_cast<std::ptrdiff_t>(below(model_.size()));
    return below(3) == 0 ? "default" : std::next(model_.begin(), at)->first;
  }

  // A third are long; these share all but a few of the bytes that are stored as they are.
  std::string any_key() {
    const std::uint64_t number = below(12);
    if (below(8) == 0) return "n" + std::to_string(number % 3);
    if (below(3) != 0) return "key" + std::to_string(number);
    ++reached_.long_keys;
    std::string key(484 + number % 4, 'k');
    key += static_cast<char>('a' + number % 3);
    key.append(number < 4 ? 14 : number < 8 ? 15 : 900, static_cast<char>('i' + number));
    return key;
  }
  std::string any_value(const std::string& key) {
    if (key.starts_with("n")) return std::to_string(below(1'000));
    std::string value = std::to_string(below(20));
    if (below(40) == 0) value.resize(below(9'000) + 1, 'v');
    return value;
  }
  Expiry any_expires() {
    const Time now = clock_.now();
    switch (below(10)) {
      case 0:
      case 1:
        return {};
      case 2:
        return Expiry::never();
      case 3:
        return Expiry::unchanged();
      case 4:
        return below(3) == 0 ? Expiry(-Millis(below(5))) : Expiry(now - Millis(below(5)));
      case 5:
        return now + Millis(below(60));
      default:
        return Millis(below(60) + 1);
    }
  }
  When any_when() {
    constexpr When kAll[] = {When::always, When::always, When::unset,
                             When::set,    When::later,  When::sooner};
    return below(8) == 0 ? When::set | When::later : kAll[below(6)];
  }

  // --- Operations, on a store or in a write transaction ------------------------------------------

  template <class T>
  static T plain(Result<T> result) {
    return must(std::move(result));
  }
  template <class T>
  static T plain(T value) {
    return value;
  }
  static void put(Store& store, const std::string& key, const std::string& value, Expiry expires,
                  Family family) {
    must(store.put(key, value, expires, family));
  }
  static void put(WriteTxn& txn, const std::string& key, const std::string& value, Expiry expires,
                  Family family) {
    txn.put(key, value, expires, family);
  }
  static void clear(Store& store, Family family) { must(store.clear(family)); }
  static void clear(WriteTxn& txn, Family family) { txn.clear(family); }
  static std::uint64_t purge(Store& store, std::uint64_t limit, Family family) {
    const Purged purged = store.purge_expired({.entries = limit}, family);
    must(purged.status);
    return purged.removed;
  }
  static std::uint64_t purge(WriteTxn& txn, std::uint64_t limit, Family family) {
    return txn.purge_expired(limit, family);
  }
  static std::uint64_t purge_all(Store& store) {
    const Purged purged = store.purge_expired_all();
    must(purged.status);
    return purged.removed;
  }
  static std::uint64_t purge_all(WriteTxn& txn) { return txn.purge_expired_all(); }

  Time now_of(const Store&) const { return clock_.now(); }
  static Time now_of(const WriteTxn& txn) { return txn.now(); }

  template <class Target>
  void operate(Target& target) {
    ++reached_.operations;
    const std::string name = any_family();
    ModelFamily& model = model_.at(name);
    const std::uint64_t choice = below(100);
    const FamilyCounts before = model.count(now_of(target));
    const bool had_ttl = model.next_deadline() != kNever;
    if (choice < 65) {
      const bool outside = !std::exchange(model.in_transaction, true);
      choice < 40 ? write(target, name, model) : change(target, name, model);
      if (outside) model.commit(now_of(target));
    } else if (choice < 85) {
      read(target, name, model);
    } else if (choice < 93) {
      sweep(target, name, model);
    } else if (choice < 98) {
      change_families(target);
      return;
    } else if (below(4) == 0) {
      doing_ = "clear";
      clear(target, handles_.at(name));
      model.entries.clear();
    }
    reached_.ttl_all_gone += had_ttl && model.next_deadline() == kNever ? 1 : 0;
    const FamilyCounts after = model.count(now_of(target));
    reached_.to_ttl += after.stored == before.stored && after.with_ttl > before.with_ttl ? 1 : 0;
    reached_.to_permanent += after.live == before.live && after.with_ttl < before.with_ttl ? 1 : 0;
    reached_.expired_overwritten +=
        after.stored == before.stored && after.expired < before.expired ? 1 : 0;
  }

  template <class Target>
  void write(Target& target, const std::string& name, ModelFamily& model) {
    const Family family = handles_.at(name);
    const Time now = now_of(target);
    const std::string key = any_key();
    const std::string value = any_value(key);
    const Expiry expires = any_expires();
    switch (below(6)) {
      case 0:
        doing_ = "put_if_absent";
        return require(plain(target.put_if_absent(key, value, expires, family)) ==
                           model.put_if_absent(key, value, expires, now),
                       "the answer");
      case 1: {
        doing_ = "compare_and_set";
        std::optional<std::string> expected;
        if (const ModelEntry* entry = model.find(key, now); below(4) != 0 && entry != nullptr) {
          expected = entry->value;
        }
        if (below(6) == 0) expected = value;
        const bool did = plain(target.compare_and_set(key, expected, value, expires, family));
        return require(did == model.compare_and_set(key, expected, value, expires, now), "it");
      }
      case 2: {
        doing_ = "increment";
        const std::string counter = "n" + std::to_string(below(3));
        const auto delta = static_cast<std::int64_t>(below(9)) - 4;
        return require(plain(target.increment(counter, delta, expires, family)) ==
                           model.increment(counter, delta, expires, now),
                       "the sum");
      }
      default:
        doing_ = "put";
        put(target, key, value, expires, family);
        return model.put(key, value, expires, now);
    }
  }

  template <class Target>
  void change(Target& target, const std::string& name, ModelFamily& model) {
    const Family family = handles_.at(name);
    const Time now = now_of(target);
    const std::string key = any_key();
    const Expiry expires = any_expires();
    switch (below(5)) {
      case 0: {
        doing_ = "expire";
        const When when = any_when();
        return require(plain(target.expire(key, expires, when, family)) ==
                           model.expire(key, expires, when, now),
                       "the answer");
      }
      case 1:
        doing_ = "persist";
        return require(plain(target.persist(key, family)) == model.persist(key, now), "it");
      case 2:
        doing_ = "touch";
        return require(plain(target.touch(key, expires, family)) == model.touch(key, expires, now),
                       "it");
      case 3: {
        doing_ = "erase_many";
        const std::string other = any_key();
        const std::vector<std::string_view> keys = {key, other};
        const std::size_t expected =
            std::size_t{model.erase(key, now)} + std::size_t{model.erase(other, now)};
        return require(plain(target.erase_many(keys, family)) == expected, "the number");
      }
      default:
        doing_ = "erase";
        return require(plain(target.erase(key, family)) == model.erase(key, now), "the answer");
    }
  }

  template <class Target>
  void read(Target& target, const std::string& name, ModelFamily& model) {
    const Family family = handles_.at(name);
    const Time now = now_of(target);
    const std::string key = any_key();
    const std::size_t before = model.entries.size();
    const ModelEntry* const entry = model.read(key, now);
    reached_.lazily += before - model.entries.size();
    doing_ = "read";
    switch (below(5)) {
      case 0: {
        const auto found = must(target.get_entry(key, family));
        require(found.has_value() == (entry != nullptr), "whether there is an entry");
        if (!found) return;
        require(found->value == entry->value, "the value");
        require(found->deadline == entry->deadline, "the deadline");
        const bool lasts = entry->deadline == kNever;
        return require(lasts ? !found->ttl : found->ttl == entry->deadline - now, "the TTL");
      }
      case 1: {
        const auto found = must(target.deadline(key, family));
        return require(entry == nullptr ? !found : found == entry->deadline, "the deadline");
      }
      case 2:
        return require(must(target.contains(key, family)) == (entry != nullptr), "contains");
      case 3: {
        const std::string other = any_key();
        const ModelEntry* const second = model.read(other, now);
        const ModelEntry* const first = model.read(key, now);
        const auto found = must(target.get_many(std::vector<std::string_view>{key, other}, family));
        require(first == nullptr ? !found[0] : found[0] == first->value, "the first of many");
        return require(second == nullptr ? !found[1] : found[1] == second->value, "the second");
      }
      default: {
        const auto found = must(target.get(key, family));
        return require(entry == nullptr ? !found : found == entry->value, "the value");
      }
    }
  }

  // Purges. A limit is such that it falls between two deadlines: which of two with the same
  // deadline goes first is nobody's business.
  template <class Target>
  void sweep(Target& target, const std::string& name, ModelFamily& model) {
    const Time now = now_of(target);
    std::uint64_t expected = 0;
    if (below(4) == 0) {
      doing_ = "purge_expired_all";
      for (auto& [each, family] : model_) expected += family.purge(now);
      reached_.purged += expected;
      return require(purge_all(target) == expected, "the number");
    }
    doing_ = "purge_expired";
    Time until = now;
    std::uint64_t limit = UINT64_MAX;
    if (below(2) == 0) {
      until = std::min(now, model.next_deadline()) + Millis(below(10));
      until = std::min(until, now);
      ModelFamily copy = model;
      limit = copy.purge(until);
    }
    expected = model.purge(until);
    reached_.purged += expected;
    require(purge(target, limit, handles_.at(name)) == expected, "the number");
  }

  template <class Target>
  void change_families(Target& target) {
    const std::string name = "family" + std::to_string(below(3));
    const std::uint64_t choice = below(8);
    if (choice == 0) {
      doing_ = "set_default_ttl";
      const std::string any = any_family();
      std::optional<Millis> ttl;
      if (below(2) == 0) ttl = Millis(below(80) + 1);
      must(target.set_default_ttl(ttl, handles_.at(any)));
      model_.at(any).default_ttl = ttl;
    } else if (!model_.contains(name)) {
      doing_ = "create_family";
      handles_[name] = must(target.create_family(name));
      model_[name].in_transaction = model_.at("default").in_transaction;
    } else if (choice < 5) {
      doing_ = "drop_family";
      reached_.dropped_with_ttl += model_.at(name).next_deadline() == kNever ? 0 : 1;
      must(target.drop_family(name));
      require(code_of(target.get("key", handles_.at(name))) == Code::not_found, "a dropped family");
      model_.erase(name);
      handles_.erase(name);
    }
  }

  // --- Transactions ------------------------------------------------------------------------------

  void transaction() {
    const ModelStore model_before = model_;
    const std::map<std::string, Family> handles_before = handles_;
    {
      WriteTxn txn = must(any_store().write());
      for (auto& [name, family] : model_) family.in_transaction = true;
      const std::uint64_t operations = below(8) + 1;
      for (std::uint64_t i = 0; i < operations; ++i) {
        below(6) == 0 ? put_several(txn) : operate(txn);
        if (below(10) == 0) clock_.advance(Millis(below(10)));
        if (below(10) == 0) look_from_outside(model_before, handles_before);
        if (below(10) == 0) compare_family(txn, any_family(), txn.now());
      }
      doing_ = "the end of a transaction";
      must(txn.status());
      if (below(5) < 3) {
        for (auto& [name, family] : model_) family.commit(txn.now());
        must(txn.commit());
        ++reached_.committed;
        return;
      }
      if (below(2) == 0) txn.rollback();
    }
    ++reached_.rolled_back;
    for (const auto& [name, family] : model_) {
      const auto before = model_before.find(name);
      if (before == model_before.end()) continue;
      const bool had_ttl = before->second.next_deadline() != kNever;
      reached_.first_ttl_undone += !had_ttl && family.next_deadline() != kNever ? 1 : 0;
    }
    for (const auto& [name, family] : model_before) {
      reached_.drops_undone += model_.contains(name) ? 0 : 1;
    }
    model_ = model_before;
    handles_ = handles_before;
  }

  // Puts in a row, which the transaction gathers. Few keys, so that some are put twice; an open
  // cursor, which must see each at once, keeps it from gathering.
  void put_several(WriteTxn& txn) {
    doing_ = "put several";
    std::optional<Cursor> cursor;
    const std::uint64_t count = below(40) + 2;
    reached_.gathered += count;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = any_family();
      const std::string key = any_key();
      const std::string value = any_value(key);
      const Expiry expires = below(8) == 0 ? any_expires() : Expiry(Millis(below(90)));
      txn.put(key, value, expires, handles_.at(name));
      model_.at(name).put(key, value, expires, txn.now());
      if (i == 3 && below(8) == 0) cursor = must(txn.cursor({}, handles_.at("default")));
    }
    if (!cursor) return;
    std::vector<std::string> live;
    for (const auto& [key, entry] : model_.at("default").entries) {
      if (!is_due(entry.deadline, txn.now())) live.push_back(key);
    }
    std::vector<std::string> shown;
    for (const Shown& row : rows_of(*cursor)) shown.push_back(row.key);
    require(shown == live, "what a cursor shows");
  }

  // While somebody writes, others read what was committed before, and remove nothing.
  void look_from_outside(const ModelStore& model, const std::map<std::string, Family>& handles) {
    const std::string key = any_key();
    const ModelEntry* const entry = model.at("default").find(key, clock_.now());
    const auto found = must(any_store().get(key, handles.at("default")));
    require(entry == nullptr ? !found : found == entry->value, "what is seen from outside");
  }

  // A reader sees one moment, whatever is done meanwhile.
  void snapshot() {
    doing_ = "snapshot";
    const ReadTxn txn = must(any_store().read());
    ModelStore model = model_;
    std::map<std::string, Family> handles = handles_;
    for (int i = 0; i < 5; ++i) {
      operate(any_store());
      if (below(3) == 0) move_clock();
    }
    doing_ = "snapshot, afterwards";
    std::swap(model_, model);
    std::swap(handles_, handles);
    for (const auto& [name, family] : model_) compare_family(txn, name, txn.now());
    model_ = model;
    handles_ = handles;
  }

  // --- Other things that happen ------------------------------------------------------------------

  void move_clock() {
    doing_ = "clock";
    const std::uint64_t choice = below(40);
    if (choice == 0) {
      clock_.advance(200ms);
    } else if (choice < 3) {
      const std::uint64_t before = live();
      clock_.advance(-Millis(below(30)));
      reached_.revived += live() > before ? 1 : 0;
    } else {
      clock_.advance(Millis(below(15)));
    }
  }
  std::uint64_t live() const {
    std::uint64_t number = 0;
    for (const auto& [name, family] : model_) number += family.count(clock_.now()).live;
    return number;
  }

  void maintain() {
    if (below(2) == 0) {
      doing_ = "compact";
      must(any_store().compact());
      ++reached_.compacted;
      return;
    }
    doing_ = "reopen";
    for (Store& store : stores_) must(store.close());
    open_all();
    ++reached_.reopened;
  }
  void open_all() {
    stores_.clear();
    StoreOptions others = options_;
    others.durability = Durability::off;  // handles of one store may differ in this
    stores_.push_back(must(Store::open(path_, clock_, options_)));
    stores_.push_back(must(Store::open(path_, clock_, others)));
  }

  // A cursor that does not see all of it removes only what it met; the file says which that was.
  void walk_partly() {
    doing_ = "a cursor that stops";
    const std::string name = any_family();
    {
      Cursor cursor = must(any_store().cursor({}, handles_.at(name)));
      bool on = below(2) == 0 ? cursor.seek(any_key()) : cursor.seek_before(any_key());
      for (std::uint64_t i = below(6); on && i > 0; --i)
        on = below(3) == 0 ? cursor.prev() : cursor.next();
    }
    ModelFamily& model = model_.at(name);
    const std::map<std::string, ModelEntry> now_stored = stored(name);
    const Time now = clock_.now();
    std::erase_if(model.entries, [&](const auto& entry) {
      return is_due(entry.second.deadline, now) && !now_stored.contains(entry.first);
    });
    require(model.entries == now_stored, "what is left");
  }

  // --- Comparing ---------------------------------------------------------------------------------

  // All that the file has, expired or not: a reader who lives long ago sees it.
  std::map<std::string, ModelEntry> stored(const std::string& name) {
    const Time now = clock_.now();
    clock_.set(Time(1ms));
    const ReadTxn txn = must(stores_[0].read());
    clock_.set(now);
    std::map<std::string, ModelEntry> entries;
    for (const Shown& row : rows_of(txn, handles_.at(name))) {
      entries[row.key] = {row.value, row.deadline};
    }
    return entries;
  }

  void compare_some() {
    const std::string name = any_family();
    const ReadTxn txn = must(any_store().read());
    const FamilyCounts actual = must(txn.count(handles_.at(name)));
    const FamilyCounts expected = model_.at(name).count(clock_.now());
    require(actual.live == expected.live, "the count of live entries");
    require(actual.with_ttl == expected.with_ttl, "the count of entries with a TTL");
    require(actual.expired == expected.expired, "the count of expired entries");
    require(actual.stored == expected.stored, "the count of stored entries");
    const std::string key = any_key();
    const ModelEntry* const entry = model_.at(name).find(key, clock_.now());
    const auto found = must(txn.get(key, handles_.at(name)));
    require(entry == nullptr ? !found : found == entry->value, "a value");
  }

  template <class Txn>
  void compare_family(const Txn& txn, const std::string& name, Time now) {
    const ModelFamily& model = model_.at(name);
    std::vector<Shown> expected;
    std::multiset<std::pair<Time, std::string>> timed;
    for (const auto& [key, entry] : model.entries) {
      if (is_due(entry.deadline, now)) continue;
      expected.push_back({key, entry.value, entry.deadline});
      if (entry.deadline != kNever) timed.emplace(entry.deadline, key);
    }
    const Family family = handles_.at(name);
    require(rows_of(txn, family) == expected, "the contents");
    require(must(txn.next_deadline(family)) == model.next_deadline(), "the next deadline");
    require(must(txn.default_ttl(family)) == model.default_ttl, "the default TTL");
    std::multiset<std::pair<Time, std::string>> expiring;
    for (const Expiring& each : must(txn.expiring(now, kNever, SIZE_MAX, family))) {
      expiring.emplace(each.deadline, each.key);
    }
    require(expiring == timed, "what expires");
  }

  void compare_all() {
    doing_ += ", all compared";
    {
      const ReadTxn txn = must(any_store().read());
      std::vector<std::string> names;
      for (const auto& [name, family] : model_) {
        compare_family(txn, name, clock_.now());
        if (name != "default") names.push_back(name);
      }
      require(txn.families() == names, "the list of families");
    }
    for (const auto& [name, family] : model_) {
      require(stored(name) == family.entries, "what is stored");
    }
    const CheckReport report = must(any_store().check());
    if (!report.ok()) throw std::runtime_error(where() + ": " + report.problems.front());
    if (below(4) == 0) walk_wholly();
  }

  // A cursor of the store removes all that was expired.
  void walk_wholly() {
    const std::string name = any_family();
    ModelFamily& model = model_.at(name);
    reached_.lazily += model.purge(clock_.now());
    require(rows_of(any_store(), handles_.at(name)).size() == model.entries.size(), "the length");
    require(stored(name) == model.entries, "what is left by the cursor");
  }

  const std::filesystem::path path_;
  const StoreOptions options_;
  std::mt19937_64 random_;
  ManualClock clock_{kStart};
  std::vector<Store> stores_;
  ModelStore model_;
  std::map<std::string, Family> handles_;
  Reached reached_;
  std::uint64_t step_ = 0;
  std::string doing_;
};

class StoreModelTest : public testing::TestWithParam<Durability> {
 protected:
  // Runs from `seed` and tells where it went wrong.
  Reached run(std::uint64_t seed, std::uint64_t steps) {
    const TemporaryFolder folder;
    Driver driver(folder / "store", seed, {.durability = GetParam(), .purge_batch = 3});
    try {
      for (std::uint64_t i = 0; i < steps; ++i) driver.step();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ", " << driver.where() << ": " << error.what();
    }
    return driver.reached();
  }
};

TEST_P(StoreModelTest, AgreesWithPlainMaps) {
  const std::uint64_t steps = setting("MAYFLY_MODEL_STEPS", 6'000);
  const Reached reached = run(setting("MAYFLY_MODEL_SEED", 20'260'301), steps);
  if (HasFailure()) return;

  // A model test is worth what its distribution is worth.
  const std::uint64_t least = steps / 600;
  EXPECT_GT(reached.operations, steps);
  EXPECT_GT(reached.committed, least);
  EXPECT_GT(reached.rolled_back, least);
  EXPECT_GT(reached.to_ttl, least);
  EXPECT_GT(reached.to_permanent, least);
  EXPECT_GT(reached.expired_overwritten, least);
  EXPECT_GT(reached.long_keys, least);
  EXPECT_GT(reached.ttl_all_gone, least);
  EXPECT_GT(reached.first_ttl_undone, least);
  EXPECT_GT(reached.dropped_with_ttl, least);
  EXPECT_GT(reached.drops_undone, least);
  EXPECT_GT(reached.purged, least);
  EXPECT_GT(reached.lazily, least);
  EXPECT_GT(reached.revived, least);
  EXPECT_GT(reached.reopened, least);
  EXPECT_GT(reached.compacted, least);
  EXPECT_GT(reached.gathered, steps);
}

// Many short lives find what only happens early in one.
TEST_P(StoreModelTest, AgreesFromManyBeginnings) {
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) run(seed, 120);
}

std::string durability_name(const testing::TestParamInfo<Durability>& info) {
  constexpr const char* kNames[] = {"Off", "Normal", "Full"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(AtDurability, StoreModelTest,
                         testing::Values(Durability::off, Durability::normal), durability_name);

}  // namespace store_model_test
}  // namespace mayfly::internal
