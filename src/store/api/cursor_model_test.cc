// SPDX-License-Identifier: Apache-2.0
// A cursor agrees with a plain map, whichever way it is moved, also over keys that are too long for
// the tables and share the part of them that is stored as it is.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace cursor_model_test {

using namespace std::chrono_literals;

using Model = std::map<std::string, Shown>;

// Keys of three letters at most, so that they meet; most of them around the lengths where the
// stored form changes (487 bytes of prefix, 502 bytes as they are), and with a long beginning in
// common.
std::string any_key() {
  const auto kind = *rc::gen::inRange(0, 8);
  const auto letter = [] { return *rc::gen::element('a', 'b', '\xff'); };
  std::string key;
  if (kind < 3) {
    key.assign(*rc::gen::inRange<std::size_t>(1, 4), letter());
    return key + letter();
  }
  const std::size_t common = *rc::gen::element<std::size_t>(485, 486, 487, 488, 495, 503);
  key.assign(common, 'b');
  const std::size_t more = *rc::gen::element<std::size_t>(0, 1, 2, 3, 14, 15, 16, 17, 30);
  const char fill = letter();
  for (std::size_t i = 0; i < more; ++i) key += i < 3 ? letter() : fill;
  return key;
}

// Where the cursor should be: an iterator of the model that is on no expired entry, or none.
class Walker {
 public:
  Walker(const Model& model, std::string prefix, Time now) : prefix_(std::move(prefix)) {
    for (const auto& [key, row] : model) {
      if (key.starts_with(prefix_) && !is_due(row.deadline, now)) seen_.emplace(key, row);
    }
  }

  void first() { place(seen_.begin()); }
  void last() { place_before(seen_.end()); }
  void seek(const std::string& key) { place(seen_.lower_bound(key)); }
  void seek_before(const std::string& key) { place_before(seen_.upper_bound(key)); }
  void next() {
    if (at_ != nullptr) place(seen_.upper_bound(at_->key));
  }
  void prev() {
    if (at_ != nullptr) place_before(seen_.lower_bound(at_->key));
  }
  const Shown* at() const { return at_; }

 private:
  void place(Model::const_iterator where) { at_ = where == seen_.end() ? nullptr : &where->second; }
  void place_before(Model::const_iterator where) {
    at_ = where == seen_.begin() ? nullptr : &std::prev(where)->second;
  }

  const std::string prefix_;
  Model seen_;
  const Shown* at_ = nullptr;
};

bool agree(const Cursor& cursor, const Walker& walker) {
  if (!cursor.valid()) return walker.at() == nullptr;
  return walker.at() != nullptr && cursor.key() == walker.at()->key &&
         cursor.value() == walker.at()->value && cursor.deadline() == walker.at()->deadline;
}

void move_both(Cursor& cursor, Walker& walker) {
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      cursor.first();
      return walker.first();
    case 1:
      cursor.last();
      return walker.last();
    case 2:
    case 3: {
      const std::string key = any_key();
      cursor.seek(key);
      return walker.seek(key);
    }
    case 4:
    case 5: {
      const std::string key = any_key();
      cursor.seek_before(key);
      return walker.seek_before(key);
    }
    case 6:
    case 7:
    case 8:
      cursor.next();
      return walker.next();
    default:
      cursor.prev();
      return walker.prev();
  }
}

class CursorModelTest : public OpenStoreFixture {
 protected:
  // Fills store and model with the same random entries, of which some are due at once.
  Model fill() {
    Model model;
    auto txn = must(store_.write());
    txn.clear();
    const int number = *rc::gen::inRange(0, 60);
    for (int i = 0; i < number; ++i) {
      const std::string key = any_key();
      const Time deadline = *rc::gen::element(kNever, kStart + 10s, kStart + 1ms, kStart);
      model[key] = {key, std::to_string(i), deadline};
      txn.put(key, std::to_string(i), deadline);
    }
    must(txn.commit());
    return model;
  }
};

TEST_F(CursorModelTest, AgreesWithAPlainMapHoweverItIsMoved) {
  const bool holds = rc::check([this] {
    const Model model = fill();
    auto txn = must(store_.read());
    std::string prefix;
    if (*rc::gen::inRange(0, 3) == 0) {
      prefix = any_key();
      prefix.resize(prefix.size() -
                    *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(prefix.size(), 18)));
    }
    Walker walker(model, prefix, kStart);
    Cursor cursor = must(txn.cursor({.prefix = prefix}));
    const int moves = *rc::gen::inRange(1, 60);
    for (int i = 0; i < moves; ++i) {
      move_both(cursor, walker);
      RC_ASSERT(agree(cursor, walker));
    }
    RC_ASSERT(cursor.status().ok());
  });
  EXPECT_TRUE(holds);
}

TEST_F(CursorModelTest, WalksThroughAllOfIt) {
  const bool holds = rc::check([this] {
    const Model model = fill();
    std::vector<Shown> live;
    for (const auto& [key, row] : model) {
      if (!is_due(row.deadline, kStart)) live.push_back(row);
    }
    Cursor cursor = must(store_.cursor());
    RC_ASSERT(rows_of(cursor) == live);
    std::vector<Shown> backward;
    for (bool on = cursor.last(); on; on = cursor.prev()) {
      backward.push_back(
          {std::string(cursor.key()), std::string(cursor.value()), cursor.deadline()});
    }
    std::reverse(backward.begin(), backward.end());
    RC_ASSERT(backward == live);
  });
  EXPECT_TRUE(holds);
}

}  // namespace cursor_model_test
}  // namespace mayfly::internal
