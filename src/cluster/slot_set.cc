// SPDX-License-Identifier: Apache-2.0
#include "cluster/slot_set.h"

#include <charconv>
#include <optional>

namespace mayfly {
namespace {

std::optional<HashSlot> parse_slot(std::string_view text) {
  HashSlot slot = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc() || end != text.data() + text.size() || slot >= kHashSlots) return {};
  return slot;
}

std::optional<SlotRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_slot(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_slot(text.substr(dash + 1));
  if (!first || !last || *first > *last) return {};
  return SlotRange{*first, *last};
}

}  // namespace

SlotSet::SlotSet(const std::vector<SlotRange>& ranges) {
  for (const SlotRange& range : ranges) {
    for (int slot = range.first; slot <= range.last; ++slot) add(static_cast<HashSlot>(slot));
  }
}

SlotSet SlotSet::all() {
  SlotSet slots;
  slots.slots_.set();
  return slots;
}

SlotSet& SlotSet::operator|=(const SlotSet& other) {
  slots_ |= other.slots_;
  return *this;
}

SlotSet& SlotSet::operator-=(const SlotSet& other) {
  slots_ &= ~other.slots_;
  return *this;
}

SlotSet& SlotSet::operator&=(const SlotSet& other) {
  slots_ &= other.slots_;
  return *this;
}

std::vector<SlotRange> SlotSet::ranges() const {
  std::vector<SlotRange> ranges;
  each([&](HashSlot slot) {
    if (!ranges.empty() && ranges.back().last + 1 == slot) {
      ranges.back().last = slot;
    } else {
      ranges.push_back({slot, slot});
    }
  });
  return ranges;
}

std::string SlotSet::text() const {
  std::string text;
  for (const SlotRange& range : ranges()) {
    if (!text.empty()) text += ' ';
    text += std::to_string(range.first);
    if (range.last != range.first) text.append("-").append(std::to_string(range.last));
  }
  return text;
}

Result<SlotSet> parse_slots(std::string_view text) {
  SlotSet slots;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto range = parse_range(text.substr(0, end));
    if (!range) {
      std::string message("'");
      message.append(text.substr(0, end));
      message += "' is no range of slots (say 0-5460, or one slot from 0 to 16383)";
      return Error{Code::invalid, std::move(message)};
    }
    slots |= SlotSet({*range});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return slots;
}

}  // namespace mayfly
