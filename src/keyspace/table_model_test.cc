// SPDX-License-Identifier: Apache-2.0
// Table: random operations checked against a plain map; and scans, between whose steps the table
// grows and shrinks, checked to miss nothing that was there all the time.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <iterator>
#include <map>
#include <set>

#include "keyspace/table.h"

namespace mayfly {
namespace table_model_test {

using Model = std::map<Slot, std::uint64_t>;  // the hash of each slot

// `bits` hash bits are at random, the others the same for all: few make long chains.
std::uint64_t hash_with(Random& random, unsigned bits) {
  return bits >= 64 ? random.next() : random.below(std::uint64_t{1} << bits) << (64 - bits) / 2;
}

void toggle(Table& table, Model& model, Slot slot, std::uint64_t hash) {
  const auto hash_of = [&](Slot other) { return model.at(other); };
  if (const auto there = model.find(slot); there != model.end()) {
    const std::uint64_t old = there->second;
    model.erase(there);
    table.erase(old, slot, hash_of);
  } else {
    table.insert(hash, slot, hash_of);
    model.emplace(slot, hash);
  }
}

TEST(TableModel, AgreesWithAPlainMap) {
  EXPECT_TRUE(rc::check([] {
    Table table;
    Model model;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto bits = *rc::gen::element<unsigned>(0, 1, 3, 8, 64, 64);
    const auto slots = *rc::gen::element<Slot>(20, 200, 400);
    const int steps = *rc::gen::inRange(1, 500);
    for (int step = 0; step < steps; ++step) {
      const auto slot = static_cast<Slot>(random.below(slots));
      toggle(table, model, slot, hash_with(random, bits));
      RC_ASSERT(table.check_invariants([&](Slot s) { return model.at(s); }) == "");
      RC_ASSERT(table.size() == model.size());
    }
    for (const auto& [slot, hash] : model) {
      RC_ASSERT(table.find(hash, [&, wanted = slot](Slot s) { return s == wanted; }) == slot);
      RC_ASSERT(model.contains(table.pick(random)));
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t hash = hash_with(random, bits);
      table.find(hash, [&](Slot slot) {
        RC_ASSERT(model.at(slot) >> 56 == hash >> 56);
        return false;
      });
    }
  }));
}

// Between two steps the table is filled or emptied by up to a thousand slots, so that it passes
// through several rounds of splits, or of joins, during one scan.
TEST(TableModel, ScanMissesNothingThatIsThereThroughout) {
  EXPECT_TRUE(rc::check([] {
    Table table;
    Model model;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto bits = *rc::gen::element<unsigned>(8, 64, 64, 64);
    const auto stays = *rc::gen::inRange<Slot>(1, 300);
    const auto guests = *rc::gen::element<Slot>(10, 1'000, 5'000);
    const auto churn = *rc::gen::element<std::uint64_t>(5, 100, 1'000);
    Slot next = 0;
    for (; next < stays; ++next) toggle(table, model, next, hash_with(random, bits));
    for (; next < stays + guests; ++next) {
      if (random.below(2) == 0) toggle(table, model, next, hash_with(random, bits));
    }

    std::set<Slot> seen;
    std::uint64_t cursor = 0;
    bool is_filling = true;
    int steps = 0;
    do {
      cursor = table.scan(cursor, [&](Slot slot) {
        RC_ASSERT(model.contains(slot));
        seen.insert(slot);
      });
      for (std::uint64_t i = random.below(churn); i > 0; --i) {
        const auto guest = stays + static_cast<Slot>(random.below(guests));
        if (model.contains(guest) != is_filling) {
          toggle(table, model, guest, hash_with(random, bits));
        }
      }
      if (random.below(8) == 0) is_filling = !is_filling;
      RC_ASSERT(++steps < 5'000);
    } while (cursor != 0);
    for (Slot slot = 0; slot < stays; ++slot) RC_ASSERT(seen.contains(slot));
    RC_ASSERT(table.check_invariants([&](Slot s) { return model.at(s); }) == "");
  }));
}

}  // namespace table_model_test
}  // namespace mayfly
