// SPDX-License-Identifier: Apache-2.0
// SlotSet: a set of hash slots, 2 KiB. As text it is a list of ranges: "0-5460 7000".

#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/hash_slot.h"
#include "mayfly/result.h"

namespace mayfly {

// Both ends belong to it.
struct SlotRange {
  HashSlot first = 0;
  HashSlot last = 0;

  bool operator==(const SlotRange&) const = default;
};

class SlotSet {
 public:
  SlotSet() = default;
  explicit SlotSet(const std::vector<SlotRange>& ranges);

  static SlotSet all();

  bool contains(HashSlot slot) const { return slots_[slot]; }
  void add(HashSlot slot) { slots_.set(slot); }
  void remove(HashSlot slot) { slots_.reset(slot); }
  std::size_t count() const { return slots_.count(); }
  bool empty() const { return slots_.none(); }
  bool contains(const SlotSet& other) const { return (other.slots_ & ~slots_).none(); }
  bool overlaps(const SlotSet& other) const { return (slots_ & other.slots_).any(); }

  SlotSet& operator|=(const SlotSet& other);
  SlotSet& operator-=(const SlotSet& other);
  SlotSet& operator&=(const SlotSet& other);
  bool operator==(const SlotSet&) const = default;

  // The least number of ranges, in order.
  std::vector<SlotRange> ranges() const;
  std::string text() const;  // "" if it is empty

  // Every slot, in order.
  template <class Visit>
  void each(Visit visit) const {
    for (int slot = 0; slot < kHashSlots; ++slot) {
      if (slots_[static_cast<std::size_t>(slot)]) visit(static_cast<HashSlot>(slot));
    }
  }

 private:
  std::bitset<kHashSlots> slots_;
};

inline SlotSet operator|(SlotSet one, const SlotSet& other) { return one |= other; }
inline SlotSet operator-(SlotSet one, const SlotSet& other) { return one -= other; }
inline SlotSet operator&(SlotSet one, const SlotSet& other) { return one &= other; }

// Reads what text() writes: ranges with one space between them.
Result<SlotSet> parse_slots(std::string_view text);

}  // namespace mayfly
