// SPDX-License-Identifier: Apache-2.0
// Order in a MemTable: sorting what came since, merging runs, and the check of it all.

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "store/table/mem_table.h"

namespace mayfly::internal {
namespace {

// Numbers are compared first: versions are all over memory.
struct ToSort {
  std::uint64_t head;
  const Version* version;
};

using FamiliesToSort = std::map<std::uint32_t, std::vector<ToSort>>;

std::size_t common_key_bytes(std::span<const ToSort> versions) {
  std::string_view common = versions.front().version->key();
  for (const ToSort& each : versions) {
    const auto end = std::ranges::mismatch(common, each.version->key()).in1;
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  return common.size();
}

// The head is the 8 bytes after what all keys begin with. Equal keys stay as they are.
void sort_by_key(std::span<ToSort> versions) {
  if (versions.size() < 2) return;
  const std::size_t common = common_key_bytes(versions);
  for (ToSort& each : versions) {
    std::uint64_t bytes = 0;
    const std::string_view rest = each.version->key().substr(common, sizeof bytes);
    std::memcpy(&bytes, rest.data(), rest.size());
    each.head = __builtin_bswap64(bytes);
  }
  std::ranges::stable_sort(versions, [](const ToSort& a, const ToSort& b) {
    return a.head != b.head ? a.head < b.head : a.version->key() < b.version->key();
  });
}

void sort_by_deadline(std::span<ToSort> versions) {
  for (ToSort& each : versions) {  // the sign turned, so that the order is that of the deadlines
    const auto ms = static_cast<std::uint64_t>(each.version->deadline.time_since_epoch().count());
    each.head = ms ^ (std::uint64_t{1} << 63);
  }
  std::ranges::stable_sort(versions, {}, &ToSort::head);
  while (!versions.empty()) {
    const auto end = std::ranges::find_if(
        versions, [head = versions.front().head](const ToSort& each) { return each.head != head; });
    const auto same = static_cast<std::size_t>(end - versions.begin());
    sort_by_key(versions.first(same));
    versions = versions.subspan(same);
  }
}

bool is_before_by_key(const Version* a, const Version* b) {
  return a->family != b->family ? a->family < b->family : a->key() < b->key();
}

bool is_before_by_deadline(const Version* a, const Version* b) {
  if (a->family != b->family) return a->family < b->family;
  return a->deadline != b->deadline ? a->deadline < b->deadline : a->key() < b->key();
}

}  // namespace

Runs MemTable::by_key() { return ordered(by_key_, By::key); }

Runs MemTable::by_deadline() { return ordered(by_deadline_, By::deadline); }

bool MemTable::belongs(const Version& version, By by) {
  return by == By::key ? version.older == nullptr : version.deadline != kNever;
}

// Changes nothing before all memory is there.
Runs MemTable::ordered(Order& order, By by) {
  const std::lock_guard lock(mutex_);
  Place place = order.place;
  FamiliesToSort families;
  std::size_t count = 0;
  for (auto family = families.end(); const Version* version = next(place);) {
    if (!belongs(*version, by)) continue;
    if (family == families.end() || family->first != version->family) {
      family = families.try_emplace(version->family).first;
    }
    family->second.push_back({0, version});
    ++count;
  }
  if (count != 0) {
    Run sorted;
    sorted.reserve(count);
    for (auto& [id, versions] : families) {
      by == By::key ? sort_by_key(versions) : sort_by_deadline(versions);
      for (const ToSort& each : versions) sorted.push_back(each.version);
    }
    const auto is_before = by == By::key ? is_before_by_key : is_before_by_deadline;
    Runs runs = order.runs;
    while (!runs.empty() && 4 * sorted.size() >= runs.back()->size()) {
      Run merged(runs.back()->size() + sorted.size());
      std::ranges::merge(*runs.back(), sorted, merged.begin(), is_before);
      sorted = std::move(merged);
      runs.pop_back();
    }
    runs.push_back(make_ref<const Run>(std::move(sorted)));
    order.runs = std::move(runs);
  }
  order.place = place;
  return order.runs;
}

// Each run is in order and much smaller than the one before it; together they hold all.
bool MemTable::check_order(const Order& order, By by) const {
  std::vector<const Version*> expected;
  std::vector<const Version*> held;
  std::size_t ordered = versions();
  for (Place place = order.place; next(place) != nullptr;) --ordered;
  for (Place place; ordered > 0; --ordered) {
    const Version* const version = next(place);
    if (belongs(*version, by)) expected.push_back(version);
  }
  for (std::size_t i = 0; i < order.runs.size(); ++i) {
    const Run& run = *order.runs[i];
    if (run.empty() || (i > 0 && 4 * run.size() >= order.runs[i - 1]->size())) return false;
    const auto is_before = by == By::key ? is_before_by_key : is_before_by_deadline;
    if (!std::ranges::is_sorted(run, is_before)) return false;
    held.insert(held.end(), run.begin(), run.end());
  }
  std::ranges::sort(expected);
  std::ranges::sort(held);
  return held == expected;
}

// Adds all versions again, to maps.
bool MemTable::check_versions() const {
  std::map<std::pair<std::uint32_t, std::string_view>, const Version*> keys;
  std::map<std::uint32_t, const Version*> families;
  std::size_t count = 0;
  Position position = 0;
  bool ok = true;
  each([&](const Version& version) {
    const Version*& of_key = keys[{version.family, version.key()}];
    const Version*& of_family = families[version.family];
    CountChange sum;
    if (of_family != nullptr) sum = {of_family->entries, of_family->with_deadline};
    if (version.kind == OperationKind::put && !version.was_there) ++sum.entries;
    if (version.kind == OperationKind::erase && version.was_there) --sum.entries;
    if (version.deadline != kNever) ++sum.with_deadline;
    if (version.was_there && version.had_deadline) --sum.with_deadline;
    ok = ok && version.older == of_key && version.older_in_family == of_family &&
         version.position >= position && version.entries == sum.entries &&
         version.with_deadline == sum.with_deadline &&
         version.hash == static_cast<std::uint32_t>(hash_of(version.family, version.key()));
    of_key = of_family = &version;
    position = version.position;
    ++count;
  });
  for (const auto& [key, version] : keys) {
    ok = ok && find(key.first, key.second, ~Position{0}) == version;
  }
  for (const auto& [family, version] : families) ok = ok && newest_of(family).version == version;
  return ok && count == versions() && keys.size() == this->keys() &&
         keys.size() == slots_.taken() && families.size() == families_.taken() &&
         families.size() == family_count_ && 2 * keys.size() <= slots_.size() &&
         2 * families.size() <= families_.size();
}

bool MemTable::check_invariants() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
    if (chunk->used > chunk->room || (chunk->next == nullptr) != (chunk == last_)) return false;
    bytes += sizeof(Chunk) + chunk->room;
  }
  return bytes <= memory_bytes() && check_versions() && check_order(by_key_, By::key) &&
         check_order(by_deadline_, By::deadline);
}

}  // namespace mayfly::internal
