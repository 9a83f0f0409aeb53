// SPDX-License-Identifier: Apache-2.0
// A store agrees with plain maps, whatever is done to both: all writes and reads, in transactions
// and out of them, through two handles and another process, with families that come and go,
// rollbacks, checkpoints, reopening, compaction, backups, purges, snapshots that are kept, and a
// clock that also goes back. The model knows what is removed and when, so that even the number of
// expired entries in the file has to be right at every step. With segments so small that the thread
// of the log makes checkpoints when it likes, it knows what may have been removed.
//
// MAYFLY_MODEL_STEPS=1000000 makes it a long run, from a seed of MAYFLY_MODEL_SEED.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <utility>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/api/store_model_world.h"

namespace mayfly::internal {
namespace store_model_test {

using namespace std::chrono_literals;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Driver : public ModelWorld {
 public:
  using ModelWorld::ModelWorld;

  void step() {
    ++step_;
    const std::uint64_t choice = below(100);
    if (choice < 50) {
      with_any_store([this](auto& store) { operate(store); });
    } else if (choice < 73) {
      transaction();
    } else if (choice < 87) {
      move_clock();
    } else if (choice < 90) {
      keep_snapshot();
    } else if (choice < 91) {
      walk_partly();
    } else if (choice < 95) {
      checkpoint();
    } else if (below(4) == 0) {
      maintain();
    }
    for (int process = 0; process < 2; ++process) {
      if (notes_[process].size() > 20) remove_noted(process);
    }
    compare_some();
    if (step_ % 20 == 0) compare_all();
  }

 private:
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
  static void put(RemoteStore& store, const std::string& key, const std::string& value,
                  Expiry expires, Family family) {
    store.put(key, value, expires, family);
  }
  static void clear(RemoteStore& store, Family family) { store.clear(family); }
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
  static std::uint64_t purge(RemoteStore& store, std::uint64_t limit, Family family) {
    return store.purge(limit, family);
  }
  static std::uint64_t purge_all(RemoteStore& store) { return store.purge_all(); }
  static std::uint64_t purge_all(Store& store) {
    const Purged purged = store.purge_expired_all();
    must(purged.status);
    return purged.removed;
  }
  static std::uint64_t purge_all(WriteTxn& txn) { return txn.purge_expired_all(); }

  Time now_of(const Store&) const { return clock_.now(); }
  static Time now_of(const WriteTxn& txn) { return txn.now(); }
  static Time now_of(const RemoteStore& store) { return store.now(); }
  static int process_of(const Store&) { return 0; }
  static int process_of(const WriteTxn&) { return 0; }
  static int process_of(const RemoteStore&) { return 1; }
  static std::uint64_t removed_lazily(const Store& store) {
    return must(store.stats()).expired_lazily;
  }
  static std::uint64_t removed_lazily(const WriteTxn&) { return 0; }
  std::uint64_t removed_lazily(RemoteStore& store) const {
    return in_transaction_ ? 0 : store.expired_lazily();
  }

  template <class Target>
  void operate(Target& target) {
    ++reached_.operations;
    reached_.elsewhere += static_cast<std::uint64_t>(process_of(target));
    const std::string name = any_family();
    ModelFamily& model = model_.at(name);
    const std::uint64_t choice = below(100);
    const Time now = now_of(target);
    const FamilyCounts before = model.count(now);
    const bool had_ttl = model.next_deadline() != kNever;
    if (choice < 65) {
      choice < 40 ? write(target, name, model) : change(target, name, model);
      commit(process_of(target), now);
    } else if (choice < 85) {
      read(target, name, model);
      if (!in_transaction_) note_met(process_of(target));
    } else if (choice < 93) {
      sweep(target, name, model);
    } else if (choice < 98) {
      change_families(target);
      return;
    } else if (below(4) == 0) {
      doing_ = "clear";
      clear(target, handles_.at(name));
      model.entries.clear();
      is_direct_ = true;
      commit(process_of(target), now);
    }
    reached_.ttl_all_gone += had_ttl && model.next_deadline() == kNever ? 1 : 0;
    const FamilyCounts after = model.count(now);
    reached_.to_ttl += after.stored == before.stored && after.with_ttl > before.with_ttl ? 1 : 0;
    reached_.to_permanent += after.live == before.live && after.with_ttl < before.with_ttl ? 1 : 0;
    reached_.expired_overwritten +=
        after.stored == before.stored && after.expired < before.expired ? 1 : 0;
  }

  // --- The operations ----------------------------------------------------------------------------

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
    const ModelEntry* const entry = model.read(key, now);
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
  // deadline goes first is nobody's business. What reads have noted goes with the first commit of
  // the purge, and is not counted by it.
  template <class Target>
  void sweep(Target& target, const std::string& name, ModelFamily& model) {
    const Time now = now_of(target);
    const int process = process_of(target);
    const bool limited = !is_tiny_ && below(2) == 0;
    // A purge that finds nothing commits nothing.
    if ((limited || is_tiny_) && !in_transaction_) remove_noted(process);
    const bool all = below(4) == 0;
    doing_ = all ? "purge_expired_all" : "purge_expired";
    std::uint64_t expected = 0;
    std::uint64_t limit = UINT64_MAX;
    if (all) {
      for (auto& [each, family] : model_) expected += family.purge(now);
    } else {
      Time until = now;
      if (limited) {
        until = std::min(std::min(now, model.next_deadline()) + Millis(below(10)), now);
        limit = ModelFamily(model).purge(until);
      }
      expected = model.purge(until);
    }
    reached_.purged += expected;
    if (expected != 0) expected += commit(process, now);
    const std::uint64_t before = removed_lazily(target);
    std::uint64_t removed = all ? purge_all(target) : purge(target, limit, handles_.at(name));
    removed += removed_lazily(target) - before;
    require(is_tiny_ ? removed <= expected : removed == expected, "the number");
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
      model_[name];
    } else if (choice < 5) {
      doing_ = "drop_family";
      reached_.dropped_with_ttl += model_.at(name).next_deadline() == kNever ? 0 : 1;
      must(target.drop_family(name));
      require(code_of(target.get("key", handles_.at(name))) == Code::not_found, "a dropped family");
      model_.erase(name);
      handles_.erase(name);
    } else {
      return;
    }
    is_direct_ = true;
    commit(process_of(target), now_of(target));
  }

  // --- Transactions ------------------------------------------------------------------------------

  void transaction() {
    const ModelStore model_before = model_;
    const std::map<std::string, Family> handles_before = handles_;
    const bool commits = below(5) < 3;
    int process = 0;
    Time now{};
    if (below(3) == 0) {
      RemoteStore& txn = elsewhere();
      txn.begin();
      process = 1;
      now = txn.now();
      fill(txn, model_before, handles_before);
      commits ? txn.commit() : txn.rollback();
    } else {
      WriteTxn txn = must(any_store().write());
      now = txn.now();
      fill(txn, model_before, handles_before);
      must(txn.status());
      if (commits) must(txn.commit());
      if (!commits && below(2) == 0) txn.rollback();
    }
    in_transaction_ = false;
    doing_ = "the end of a transaction";
    if (commits) {
      commit(process, now);
      ++reached_.committed;
    } else {
      undo(model_before, handles_before);
    }
  }

  template <class Target>
  void fill(Target& txn, const ModelStore& model_before,
            const std::map<std::string, Family>& handles_before) {
    in_transaction_ = true;
    const std::uint64_t operations = below(8) + 1;
    for (std::uint64_t i = 0; i < operations; ++i) {
      below(6) == 0 ? put_several(txn) : operate(txn);
      if (below(10) == 0) clock_.advance(Millis(below(10)));
      if (below(10) == 0) look_from_outside(model_before, handles_before);
      if (below(10) == 0) compare_family(txn, any_family(), now_of(txn));
    }
  }

  // What went straight into LMDB before, stays there.
  void undo(const ModelStore& model_before, const std::map<std::string, Family>& handles_before) {
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
    if (std::exchange(is_direct_, false)) apply_all();
  }

  // Puts in a row. Few keys, so that some are put twice.
  template <class Target>
  void put_several(Target& txn) {
    doing_ = "put several";
    const std::uint64_t count = below(40) + 2;
    reached_.put_in_rows += count;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = any_family();
      const std::string key = any_key();
      const std::string value = any_value(key);
      const Expiry expires = below(8) == 0 ? any_expires() : Expiry(Millis(below(90)));
      put(txn, key, value, expires, handles_.at(name));
      model_.at(name).put(key, value, expires, now_of(txn));
      if (i == 3 && below(8) == 0) compare_family(txn, "default", now_of(txn));
    }
  }

  // While somebody writes, others read what was committed before, and remove nothing.
  void look_from_outside(const ModelStore& model, const std::map<std::string, Family>& handles) {
    const std::string key = any_key();
    const ModelFamily& family = model.at("default");
    const ModelEntry* const entry = family.find(key, clock_.now());
    const auto found = must(any_store().get(key, handles.at("default")));
    require(entry == nullptr ? !found : found == entry->value, "what is seen from outside");
    if (!found && family.entries.contains(key)) notes_[0].emplace_back(Family(), key);
  }

  // Snapshots are kept for many steps.
  void keep_snapshot() {
    doing_ = "a snapshot";
    if (kept_.size() > 3) {
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(below(kept_.size())));
    }
    Kept kept{must(any_store().read()), {}};
    for (const auto& [name, family] : handles_) {
      compare_family(kept.txn, name, kept.txn.now());
      kept.families[name] = {family, describe(kept.txn, family, true)};
    }
    kept_.push_back(std::move(kept));
  }

  void look_at_kept() {
    if (kept_.empty()) return;
    doing_ += ", a kept snapshot";
    const Kept& kept = kept_[below(kept_.size())];
    for (const auto& [name, family] : kept.families) {
      require_same(describe(kept.txn, family.first, true), family.second);
    }
    ++reached_.kept;
  }

  // --- Other things that happen ------------------------------------------------------------------

  void move_clock() {
    doing_ = "clock";
    const std::uint64_t choice = below(40);
    if (choice == 0) {
      clock_.advance(200ms);
    } else if (choice < 3) {
      settle();  // a cut of the thread that is late would be one in the future
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
    switch (below(5)) {
      case 0:
        return compact();
      case 1:
        return backup();
      case 2:
        doing_ = "the other process leaves and comes back";
        elsewhere().close();
        notes_[1].clear();
        elsewhere().open();
        ++reached_.rejoined;
        return;
      case 3:
        doing_ = "this process leaves and comes back";
        close_all();
        open_all();
        ++reached_.rejoined;
        return;
      default:
        return reopen();
    }
  }

  void compact() {
    doing_ = "compact";
    kept_.clear();
    elsewhere().close();
    notes_[1].clear();
    must(any_store().compact());
    cut();
    elsewhere().open();
    ++reached_.compacted;
  }

  void backup() {
    doing_ = "backup";
    settle();
    const std::filesystem::path path = path_.string() + ".copy";
    must(any_store().backup(path));
    {
      const Store copy = must(Store::open(path, clock_));
      const ReadTxn txn = must(copy.read());
      for (const auto& [name, family] : model_) compare_family(txn, name, clock_.now(), true);
      const CheckReport report = must(copy.check());
      if (!report.ok()) throw std::runtime_error(where() + ": " + report.problems.front());
    }
    for (const char* const suffix : {"", "-lock"}) std::filesystem::remove(path.string() + suffix);
    ++reached_.backups;
  }

  // Whoever is last puts everything into LMDB.
  void reopen() {
    doing_ = "reopen";
    settle();
    const bool here_first = below(2) == 0;
    if (here_first) close_all();
    elsewhere().close();
    notes_[1].clear();
    if (!here_first) close_all();
    cut();
    for (const char* const suffix : {"-wal", "-shm"}) {
      require(!std::filesystem::exists(path_.string() + suffix), "a file beside the store");
    }
    open_all();
    elsewhere().open();
    is_first_ = true;
    ++reached_.reopened;
  }

  // A cursor that does not see all of it has only that removed which it met; the file says which
  // that was.
  void walk_partly() {
    settle();
    remove_noted(0);
    settle();
    doing_ = "a cursor that stops";
    const std::string name = any_family();
    {
      Cursor cursor = must(any_store().cursor({}, handles_.at(name)));
      bool on = below(2) == 0 ? cursor.seek(any_key()) : cursor.seek_before(any_key());
      for (std::uint64_t i = below(6); on && i > 0; --i)
        on = below(3) == 0 ? cursor.prev() : cursor.next();
    }
    remove_noted(0);
    settle();
    ModelFamily& model = model_.at(name);
    const std::map<std::string, ModelEntry> now_stored = stored(name);
    const Time now = clock_.now();
    std::erase_if(model.entries, [&](const auto& entry) {
      return is_due(entry.second.deadline, now) && !now_stored.contains(entry.first);
    });
    require_stored(name);
  }

  // --- Comparing ---------------------------------------------------------------------------------

  void compare_some() {
    const std::string name = any_family();
    ModelFamily& model = model_.at(name);
    {
      const ReadTxn txn = must(any_store().read());
      const FamilyCounts actual = must(txn.count(handles_.at(name)));
      const FamilyCounts expected = model.count(clock_.now());
      require(actual.live == expected.live, "the count of live entries");
      require(actual.with_ttl == expected.with_ttl, "the count of entries with a TTL");
      require(actual.expired <= expected.expired, "the count of expired entries");
      require(actual.expired + model.doomed() >= expected.expired, "the count of those expired");
      require(actual.stored == actual.live + actual.expired, "the count of stored entries");
      const std::string key = any_key();
      const ModelEntry* const entry = model.read(key, clock_.now());
      const auto found = must(txn.get(key, handles_.at(name)));
      require(entry == nullptr ? !found : found == entry->value, "a value");
    }
    note_met(0);
    if (below(5) == 0) compare_family(elsewhere(), any_family(), clock_.now());
    if (below(5) == 0) look_at_kept();
  }

  void compare_all() {
    doing_ += ", all compared";
    settle();
    {
      const ReadTxn txn = must(any_store().read());
      std::vector<std::string> names;
      for (const auto& [name, family] : model_) {
        compare_family(txn, name, clock_.now(), true);
        compare_family(elsewhere(), name, clock_.now(), true);
        if (name != "default") names.push_back(name);
      }
      require(txn.families() == names, "the list of families");
    }
    for (const auto& [name, family] : model_) require_stored(name);
    const CheckReport report = must(any_store().check());
    if (!report.ok()) throw std::runtime_error(where() + ": " + report.problems.front());
    if (const std::string problems = elsewhere().check(); !problems.empty()) {
      throw std::runtime_error(where() + ": elsewhere: " + problems);
    }
    if (below(4) == 0) walk_wholly();
  }

  // After a cursor of the store, the next commit removes all that was expired.
  void walk_wholly() {
    remove_noted(0);
    doing_ = "a cursor that sees all";
    const std::string name = any_family();
    ModelFamily& model = model_.at(name);
    require(rows_of(any_store(), handles_.at(name)).size() == model.count(clock_.now()).live,
            "the length");
    for (const auto& [key, entry] : model.entries) model.read(key, clock_.now());
    remove_noted(0);
    require(model.count(clock_.now()).expired == 0, "the model");
    settle();
    require_stored(name);
  }
};

struct ModelCase {
  Durability durability;
  std::uint64_t segment_bytes;
};

class StoreModelTest : public testing::TestWithParam<ModelCase> {
 protected:
  // Runs from `seed` and tells where it went wrong.
  Reached run(std::uint64_t seed, std::uint64_t steps) {
    const TemporaryFolder folder;
    Driver driver(folder / "store", seed,
                  {.durability = GetParam().durability,
                   .purge_batch = 3,
                   .log_segment_bytes = GetParam().segment_bytes});
    try {
      for (std::uint64_t i = 0; i < steps; ++i) driver.step();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ", " << driver.where() << ": " << error.what();
    }
    return driver.reached();
  }
};

TEST_P(StoreModelTest, AgreesWithPlainMaps) {
  const std::uint64_t steps = setting("MAYFLY_MODEL_STEPS", 3'000);
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
  EXPECT_GT(reached.reopened, least / 4);
  EXPECT_GT(reached.compacted, least / 4);
  EXPECT_GT(reached.put_in_rows, steps);
  EXPECT_GT(reached.elsewhere, steps / 4);
  EXPECT_GT(reached.checkpoints, least);
  EXPECT_GT(reached.cuts, least);
  EXPECT_GT(reached.kept, least);
  EXPECT_GT(reached.backups, least / 8);
  EXPECT_GT(reached.rejoined, least);
  if (GetParam().segment_bytes == kLogSegmentBytesMin) {
    EXPECT_GT(reached.by_thread, least);
  } else {
    EXPECT_GT(reached.cut_off, least);
  }
}

// Many short lives find what only happens early in one.
TEST_P(StoreModelTest, AgreesFromManyBeginnings) {
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) run(seed, 120);
}

std::string case_name(const testing::TestParamInfo<ModelCase>& info) {
  constexpr const char* kNames[] = {"Off", "Normal", "Full"};
  const bool is_tiny = info.param.segment_bytes == kLogSegmentBytesMin;
  return kNames[static_cast<int>(info.param.durability)] + std::string(is_tiny ? "Tiny" : "");
}

INSTANTIATE_TEST_SUITE_P(AtDurability, StoreModelTest,
                         testing::Values(ModelCase{Durability::off, 32 << 20},
                                         ModelCase{Durability::normal, 32 << 20},
                                         ModelCase{Durability::off, kLogSegmentBytesMin},
                                         ModelCase{Durability::normal, kLogSegmentBytesMin}),
                         case_name);

}  // namespace store_model_test
}  // namespace mayfly::internal
