// SPDX-License-Identifier: Apache-2.0
// HashSlotCounts: how many keys of a database belong to each hash slot of a cluster. 64 KiB.
//
// Nothing is added to a key. Which slot a key belongs to is a function of its name, which the
// cluster gives (KeyspaceOptions::hash_slot_of); without it nothing is counted.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mayfly {

using HashSlotOf = std::uint16_t (*)(std::string_view key);

class HashSlotCounts {
 public:
  static constexpr std::size_t kSlots = 16'384;

  explicit HashSlotCounts(HashSlotOf function) : slot_of_(function) {}

  void add(std::string_view key) { ++counts_[slot_of_(key)]; }
  void remove(std::string_view key) { --counts_[slot_of_(key)]; }
  std::size_t count(std::uint16_t slot) const { return counts_[slot]; }
  std::uint16_t slot_of(std::string_view key) const { return slot_of_(key); }

  bool operator==(const HashSlotCounts&) const = default;

 private:
  HashSlotOf slot_of_;
  std::array<std::uint32_t, kSlots> counts_{};
};

}  // namespace mayfly
