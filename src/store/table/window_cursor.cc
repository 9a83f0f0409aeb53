// SPDX-License-Identifier: Apache-2.0
#include "store/table/window_cursor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mayfly::internal {

namespace {

// The index of the first version of [begin, end) of which `is_before` does not hold.
template <class IsBefore>
std::size_t run_bound(const Run& run, std::size_t begin, std::size_t end, IsBefore is_before) {
  const auto from = run.begin();
  const auto found = std::partition_point(from + static_cast<std::ptrdiff_t>(begin),
                                          from + static_cast<std::ptrdiff_t>(end), is_before);
  return static_cast<std::size_t>(found - from);
}

template <class IsBefore>
void seek_places(std::vector<RunPlace>& places, IsBefore is_before) {
  for (RunPlace& place : places) {
    place.at = run_bound(*place.run, place.begin, place.end, is_before);
  }
}

// The parts of all runs of a window, in one of the orders, that belong to the family.
std::vector<RunPlace> family_places(const Window& window, std::uint32_t family,
                                    Runs (MemTable::*order)()) {
  std::vector<RunPlace> places;
  const auto add = [&](MemTable& table) {
    if (table.empty()) return;
    for (Ref<const Run>& run : (table.*order)()) {
      const std::size_t begin = run_bound(
          *run, 0, run->size(), [family](const Version* v) { return v->family < family; });
      const std::size_t end = run_bound(*run, begin, run->size(),
                                        [family](const Version* v) { return v->family == family; });
      if (begin < end) places.push_back({std::move(run), begin, end, begin});
    }
  };
  for (const TableEntry& entry : window.entries()) add(*entry.table);
  if (window.own() != nullptr) add(*window.own());
  return places;
}

bool deadline_order(const Version& left, const Version& right) {
  if (left.deadline != right.deadline) return left.deadline < right.deadline;
  return left.key() < right.key();
}

}  // namespace

WindowKeys::WindowKeys(const Window& window, std::uint32_t family)
    : window_(window), family_(family), runs_(family_places(window, family, &MemTable::by_key)) {}

bool WindowKeys::settle_forward() {
  for (;;) {
    const Version* least = nullptr;
    for (const RunPlace& place : runs_) {
      if (place.at == place.end) continue;
      if (least == nullptr || place[place.at]->key() < least->key()) least = place[place.at];
    }
    valid_ = least != nullptr;
    if (!valid_) return false;
    key_ = least->key();
    what_ = window_.find(family_, key_);
    if (what_.state != InTables::State::unknown) return true;
    pass_key();
  }
}

bool WindowKeys::settle_backward() {
  for (;;) {
    const Version* greatest = nullptr;
    for (const RunPlace& place : runs_) {
      if (place.at == place.begin) continue;
      const Version* version = place[place.at - 1];
      if (greatest == nullptr || version->key() > greatest->key()) greatest = version;
    }
    valid_ = greatest != nullptr;
    if (!valid_) return false;
    key_ = greatest->key();
    for (RunPlace& place : runs_) {
      if (place.at > place.begin && place[place.at - 1]->key() == key_) --place.at;
    }
    what_ = window_.find(family_, key_);
    if (what_.state != InTables::State::unknown) return true;
  }
}

void WindowKeys::pass_key() {
  for (RunPlace& place : runs_) {
    if (place.at < place.end && place[place.at]->key() == key_) ++place.at;
  }
}

bool WindowKeys::first() {
  for (RunPlace& place : runs_) place.at = place.begin;
  return settle_forward();
}

bool WindowKeys::last() {
  for (RunPlace& place : runs_) place.at = place.end;
  return settle_backward();
}

bool WindowKeys::seek(std::string_view key) {
  seek_places(runs_, [key](const Version* version) { return version->key() < key; });
  return settle_forward();
}

bool WindowKeys::seek_before(std::string_view key) {
  seek_places(runs_, [key](const Version* version) { return version->key() <= key; });
  return settle_backward();
}

bool WindowKeys::next() {
  if (!valid_) return false;
  pass_key();
  return settle_forward();
}

bool WindowKeys::prev() { return valid_ && settle_backward(); }

WindowDeadlines::WindowDeadlines(const Window& window, std::uint32_t family)
    : window_(window),
      family_(family),
      runs_(family_places(window, family, &MemTable::by_deadline)),
      least_(runs_.size()) {}

void WindowDeadlines::place(Time from, std::string_view key) {
  seek_places(runs_, [from, key](const Version* version) {
    return version->deadline < from || (version->deadline == from && version->key() < key);
  });
  choose();
}

void WindowDeadlines::choose() {
  least_ = runs_.size();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RunPlace& place = runs_[i];
    if (place.at == place.end) continue;
    if (least_ == runs_.size() || deadline_order(*place[place.at], version())) least_ = i;
  }
}

void WindowDeadlines::step() {
  ++runs_[least_].at;
  choose();
}

// If not, the version is outdated, not in the window, or its entry was cut.
bool WindowDeadlines::is_there() {
  what_ = window_.find(family_, key());
  return what_.newest == &version() && what_.state == InTables::State::there;
}

bool WindowDeadlines::settle() {
  while (valid() && !is_there()) step();
  return valid();
}

bool WindowDeadlines::seek(Time from) {
  place(from, {});
  return settle();
}

bool WindowDeadlines::next() {
  if (!valid()) return false;
  step();
  return settle();
}

}  // namespace mayfly::internal
