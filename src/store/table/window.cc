// SPDX-License-Identifier: Apache-2.0
#include "store/table/window.h"

#include <algorithm>
#include <limits>

#include "store/log/test_hooks.h"

namespace mayfly::internal {

namespace {

constexpr Position kNoEnd = std::numeric_limits<Position>::max();

// Whether a cut erased the entry whose newest version this is.
bool is_cut_off(const Version& version, Time moment, Position since) {
  return version.kind != OperationKind::erase &&
         (version.position >= since || !rule_on(Rule::range)) && version.deadline != kNever &&
         is_due(version.deadline, moment);
}

}  // namespace

std::int64_t TableCounts::dropped(const MemTable& table, Time moment, Position since,
                                  std::uint32_t family) {
  const std::lock_guard lock(mutex_);
  auto known = dropped_.find(since);
  if (known == dropped_.end()) {
    std::map<std::uint32_t, std::int64_t> families;
    table.each([&](const Version& version) {
      if (is_cut_off(version, moment, since) &&
          table.find(version.family, version.key(), kNoEnd) == &version) {
        ++families[version.family];
      }
    });
    known = dropped_.emplace(since, std::move(families)).first;
  }
  const auto found = known->second.find(family);
  return found == known->second.end() ? 0 : found->second;
}

CountChange TableCounts::before(const MemTable& table, Position end, std::uint32_t family) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = before_.try_emplace({end, family});
  if (is_new) found->second = table.count(family, end);
  return found->second;
}

std::span<const TableEntry> Window::entries() const {
  if (empty()) return {};
  std::span<const TableEntry> entries = tables_->tables;
  while (!entries.empty() && entries.front().cut && entries.front().cut->position <= applied_) {
    entries = entries.subspan(1);
  }
  while (!entries.empty() && entries.back().begin >= tail_) {
    entries = entries.first(entries.size() - 1);
  }
  return entries;
}

template <class Visit>
void Window::each_version(std::uint32_t family, std::string_view key, Visit visit) const {
  if (own_ != nullptr) {
    for (const Version* version = own_->find(family, key, kNoEnd); version != nullptr;
         version = version->older) {
      if (visit(*version, nullptr)) return;
    }
  }
  // clang 14, which builds the fuzzers, has no std::views::reverse.
  const std::span<const TableEntry> tables = entries();
  for (auto entry = tables.rbegin(); entry != tables.rend(); ++entry) {
    const Cut* cut = entry->cut && entry->cut->position < tail_ ? &*entry->cut : nullptr;
    const Position end = rule_on(Rule::upper) ? tail_ : kNoEnd;
    for (const Version* version = entry->table->find(family, key, end);
         version != nullptr && (version->position >= applied_ || !rule_on(Rule::window));
         version = version->older) {
      if (visit(*version, cut)) return;
    }
  }
}

InTables Window::find(std::uint32_t family, std::string_view key) const {
  InTables found;
  each_version(family, key, [&found](const Version& version, const Cut* cut) {
    if (found.newest == nullptr) {
      found.newest = &version;
      const bool dropped = cut != nullptr && rule_on(Rule::cut_table) &&
                           is_cut_off(version, cut->moment, cut->since);
      found.state = dropped || version.kind == OperationKind::erase ? InTables::State::absent
                                                                    : InTables::State::there;
      if (found.state == InTables::State::absent) return true;
      found.deadline = version.deadline;
    }
    // The value is that of the newest put. No cut or erasure lies between: a change of the deadline
    // only is made to an entry that is there.
    if (version.kind != OperationKind::put) return false;
    found.value = &version;
    return true;
  });
  return found;
}

CountChange Window::count(std::uint32_t family) const {
  CountChange sum;
  const auto add = [&sum](const CountChange& change, int sign) {
    sum.entries += sign * change.entries;
    sum.with_deadline += sign * change.with_deadline;
  };
  for (const TableEntry& entry : entries()) {
    add(entry.table->count(family, tail_), 1);
    if (entry.begin < applied_) add(entry.counts->before(*entry.table, applied_, family), -1);
    if (entry.cut && entry.cut->position < tail_ && rule_on(Rule::base_count)) {
      const Position since = std::max(entry.cut->since, applied_);
      const std::int64_t dropped =
          entry.counts->dropped(*entry.table, entry.cut->moment, since, family);
      add({dropped, dropped}, -1);
    }
  }
  if (own_ != nullptr) add(own_->count(family, kNoEnd), 1);
  return sum;
}

}  // namespace mayfly::internal
