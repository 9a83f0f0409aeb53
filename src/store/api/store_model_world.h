// SPDX-License-Identifier: Apache-2.0
// ModelWorld: a store, the model of it, and what the log of the one means to the other: which
// entries a cut drops, which a commit removes because reads have found them, and, where segments
// are so small that the thread of the log cuts when it likes, which may be gone.

#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/api/store_model.h"
#include "store/api/store_model_process.h"

namespace mayfly::internal {

// What the run came through, to see that it comes everywhere.
struct Reached {
  std::uint64_t operations = 0, committed = 0, rolled_back = 0, first_ttl_undone = 0;
  std::uint64_t to_ttl = 0, to_permanent = 0, expired_overwritten = 0, long_keys = 0;
  std::uint64_t ttl_all_gone = 0, dropped_with_ttl = 0, purged = 0, lazily = 0, reopened = 0;
  std::uint64_t compacted = 0, drops_undone = 0, revived = 0, put_in_rows = 0, elsewhere = 0;
  std::uint64_t checkpoints = 0, cuts = 0, cut_off = 0, kept = 0, backups = 0, rejoined = 0,
                by_thread = 0;
};

class ModelWorld {
 public:
  ModelWorld(std::filesystem::path path, std::uint64_t seed, const StoreOptions& options)
      : path_(std::move(path)),
        options_(options),
        is_tiny_(options.log_segment_bytes == kLogSegmentBytesMin),
        random_(seed),
        elsewhere_(path_, options) {
    model_["default"];
    handles_["default"] = Family();
    open_all();
    elsewhere().open();
  }

  const Reached& reached() const { return reached_; }
  std::string where() const { return "step " + std::to_string(step_) + ": " + doing_; }

 protected:
  // --- Choices -----------------------------------------------------------------------------------

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  Store& any_store() { return stores_[below(stores_.size())]; }
  RemoteStore& elsewhere() {
    if (!in_transaction_) elsewhere_.set_clock(clock_.now());
    return elsewhere_;
  }
  template <class Use>
  void with_any_store(Use use) {
    below(3) == 0 ? use(elsewhere()) : use(any_store());
  }
  void require(bool holds, const char* what) const {
    if (!holds) throw std::runtime_error(where() + ": " + what + " differs");
  }
  void require_same(const std::string& seen, const std::string& expected) const {
    if (seen == expected) return;
    const auto place = std::ranges::mismatch(seen, expected).in1 - seen.begin();
    const std::size_t from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(place - 80, 0));
    throw std::runtime_error(where() + ": differs: " + seen.substr(from, 200) + "\nexpected: " +
                             expected.substr(std::min(from, expected.size()), 200) + "\nseen: " +
                             seen.substr(0, 120) + "\nexpected: " + expected.substr(0, 120));
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
    if (is_tiny_ && below(60) == 0) value.resize(17'000, 'v');  // more than a quarter of a segment
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
      case 5: {  // at times about a bound of the histogram
        const Millis far =
            below(3) == 0 ? kTtlBounds[below(kTtlBuckets - 1)].within : Millis::zero();
        return now + far + Millis(below(60));
      }
      default:
        return Millis(below(60) + 1);
    }
  }
  When any_when() {
    constexpr When kAll[] = {When::always, When::always, When::unset,
                             When::set,    When::later,  When::sooner};
    return below(8) == 0 ? When::set | When::later : kAll[below(6)];
  }

  // --- What the log does -------------------------------------------------------------------------

  // Expired keys that the reads of a process have found.
  void note_met(int process) {
    for (auto& [name, family] : model_) {
      for (const std::string& key : family.met)
        notes_[process].emplace_back(handles_.at(name), key);
      family.met.clear();
    }
  }

  // A commit removes what the process has noted, if it is still due. Returns how many. In a
  // transaction, this waits for its end. With small segments, what a read of the model finds may
  // not have been there to be noted.
  std::uint64_t commit(int process, Time now) {
    if (in_transaction_) return 0;
    note_met(process);
    std::uint64_t removed = 0;
    for (const auto& [family, key] : take_notes(process)) {
      for (auto& [name, model] : model_) {
        if (handles_.at(name) != family || model.find(key, now) != nullptr || is_tiny_) continue;
        const auto found = model.entries.find(key);
        if (found != model.entries.end() && found->second.fresh) continue;
        removed += model.entries.contains(key) ? 1 : 0;
        model.remove(key);
      }
    }
    reached_.lazily += removed;
    bool changed = false;
    for (auto& [name, model] : model_) changed = std::exchange(model.changed, false) || changed;
    if (is_direct_ || (changed && is_first_)) {
      apply_all();
      is_first_ = false;
    }
    is_direct_ = false;
    for (auto& [name, model] : model_) {
      for (auto& [key, entry] : model.entries) entry.fresh = false;
    }
    doom(now);
    return removed;
  }

  // A write directly into LMDB leaves them to the next commit.
  std::vector<std::pair<Family, std::string>> take_notes(int process) {
    if (is_direct_) return {};
    return std::exchange(notes_[process], {});
  }

  // All of it is in LMDB, or behind a cut, where no other cut finds it.
  void apply_all() {
    for (auto& [name, model] : model_) {
      for (auto& [key, entry] : model.entries) entry.logged = false;
    }
  }

  // With small segments, a commit may have made the thread cut.
  void doom(Time moment) {
    if (!is_tiny_) return;
    for (auto& [name, model] : model_) {
      for (auto& [key, entry] : model.entries) {
        entry.doomed = entry.doomed || is_due(entry.deadline, moment);
      }
    }
  }

  void cut() {
    const Time now = clock_.now();
    doom(now);
    if (is_tiny_) return;
    for (auto& [name, model] : model_) reached_.cut_off += model.cut(now);
    apply_all();
  }

  // Stops the threads, and looks what they have removed.
  void settle() {
    if (!is_tiny_) return;
    quiet_log(path_);
    elsewhere().quiet();
    for (auto& [name, model] : model_) {
      const std::map<std::string, ModelEntry> left = stored(name);
      reached_.by_thread += std::erase_if(model.entries, [&](const auto& entry) {
        return entry.second.doomed && !left.contains(entry.first);
      });
      require(stored_in(stores_[0], handles_.at(name)) == left.size(), "the count of what is left");
      for (const auto& [key, entry] : left) require(model.entries.contains(key), "what is left");
      for (auto& [key, entry] : model.entries) entry.doomed = false;
    }
  }

  void checkpoint() {
    if (below(4) == 0) {
      doing_ = "a checkpoint without a cut";
      with_environment(path_, LogTestAccess::apply_all);
      return apply_all();
    }
    const bool applies = below(2) == 0;  // or that comes later
    doing_ = applies ? "checkpoint" : "cut";
    if (below(2) == 0) {
      applies ? elsewhere().checkpoint() : elsewhere().cut();
    } else if (applies) {
      must(any_store().checkpoint());
    } else {
      cut_log(path_, clock_.now());
    }
    cut();
    ++(applies ? reached_.checkpoints : reached_.cuts);
  }

  // Makes commits that change nothing else. Each removes 64 keys.
  void remove_noted(int process) {
    doing_ = "removing what was noted";
    note_met(process);
    for (std::size_t left = notes_[process].size() + 1; left > 0;
         left -= std::min<std::size_t>(left, 64)) {
      if (process == 0) must(stores_[0].erase("nothing"));
      if (process == 1) elsewhere().erase("nothing", Family());
    }
    commit(process, clock_.now());
  }

  void close_all() {
    kept_.clear();
    for (Store& store : stores_) must(store.close());
    notes_[0].clear();
  }
  void open_all() {
    stores_.clear();
    StoreOptions others = options_;
    others.durability = Durability::off;  // handles of one store may differ in this
    stores_.push_back(must(Store::open(path_, clock_, options_)));
    stores_.push_back(must(Store::open(path_, clock_, others)));
  }

  // --- Comparing ---------------------------------------------------------------------------------

  // All that the file has, expired or not: a reader who lives long ago sees it.
  std::map<std::string, ModelEntry> stored(const std::string& name) {
    const Time now = clock_.now();
    clock_.set(Time(Millis(1)));
    const ReadTxn txn = must(stores_[0].read());
    clock_.set(now);
    std::map<std::string, ModelEntry> entries;
    for (const Shown& row : rows_of(txn, handles_.at(name))) {
      entries[row.key] = {row.value, row.deadline};
    }
    return entries;
  }

  void require_stored(const std::string& name) {
    const std::map<std::string, ModelEntry> actual = stored(name);
    const auto same = [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.value == b.second.value &&
             a.second.deadline == b.second.deadline;
    };
    require(std::ranges::equal(actual, model_.at(name).entries, same), "what is stored");
  }

  static std::string seen_by(const ReadTxn& txn, Family family, bool all) {
    return describe(txn, family, all);
  }
  static std::string seen_by(RemoteStore& store, Family family, bool all) {
    return store.describe(family, all);
  }

  // What has expired is compared where it is known: without the thread, or if that has settled.
  template <class Target>
  void compare_family(Target& target, const std::string& name, Time now, bool is_settled = false) {
    const bool all = is_settled || !is_tiny_;
    require_same(seen_by(target, handles_.at(name), all), describe(model_.at(name), now, all));
  }

  // A reader sees one moment, whatever is done meanwhile, and however long it stays.
  struct Kept {
    ReadTxn txn;
    std::map<std::string, std::pair<Family, std::string>> families;
  };

  const std::filesystem::path path_;
  const StoreOptions options_;
  const bool is_tiny_;
  std::mt19937_64 random_;
  ManualClock clock_{kStart};
  RemoteStore elsewhere_;
  std::vector<Store> stores_;
  ModelStore model_;
  std::map<std::string, Family> handles_;
  std::vector<std::pair<Family, std::string>> notes_[2];  // of this process, and the other one
  std::vector<Kept> kept_;
  bool is_first_ = true;  // nothing was committed since the store was opened
  bool is_direct_ = false;
  bool in_transaction_ = false;
  Reached reached_;
  std::uint64_t step_ = 0;
  std::string doing_;
};

}  // namespace mayfly::internal
