// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_summary.h"

#include <algorithm>
#include <numeric>

namespace mayfly {
namespace {

constexpr std::size_t kLargest = 10;

}  // namespace

std::size_t ttl_range(Time deadline, Time now) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  if (is_due(deadline, now)) return 0;
  constexpr Millis kEnds[] = {minutes(1), hours(1), days(1), days(7), days(30)};
  const Millis left = remaining(deadline, now);
  return 1 + static_cast<std::size_t>(std::ranges::upper_bound(kEnds, left) - std::begin(kEnds));
}

std::uint64_t sum(const RdbSummary::Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::string writer_of(const RdbSummary& summary) {
  for (const auto& [aux, name] :
       {std::pair("mayfly-ver", "Mayfly "), {"valkey-ver", "Valkey "}, {"redis-ver", "Redis "}}) {
    const auto found = summary.aux.find(aux);
    if (found != summary.aux.end()) return name + printable(found->second);
  }
  return "";
}

RdbSummary RdbCounter::summary() const {
  RdbSummary summary = summary_;
  summary.version = parser_->version();
  summary.bytes = parser_->offset();
  return summary;
}

void RdbCounter::aux(std::string_view name, std::string_view value) {
  constexpr std::size_t kMost = 64;
  if (summary_.aux.size() < kMost) summary_.aux.emplace(name, value);
}

Status RdbCounter::function(std::string_view) {
  ++summary_.functions;
  return Done{};
}

void RdbCounter::count(const RdbKey& key, std::string_view type, std::uint64_t elements) {
  const std::uint64_t bytes = parser_->offset() - key.offset;
  RdbSummary::ByType& by_type = summary_.types[std::string(type)];
  ++by_type.keys;
  by_type.elements += elements;
  by_type.bytes += bytes;
  ++summary_.databases[key.database];
  if (key.deadline != kNever) ++summary_.keys_by_ttl[ttl_range(key.deadline, now_)];

  std::vector<RdbSummary::LargeKey>& largest = summary_.largest;
  if (largest.size() == kLargest && largest.back().bytes >= bytes) return;
  if (largest.size() == kLargest) largest.pop_back();
  const auto place = std::ranges::find_if(
      largest, [&](const RdbSummary::LargeKey& other) { return other.bytes < bytes; });
  largest.insert(place, {.database = key.database,
                         .name = std::string(key.name),
                         .type = std::string(type),
                         .elements = elements,
                         .bytes = bytes});
}

Status RdbCounter::string(const RdbKey& key, std::string_view) {
  count(key, "string", 0);
  return Done{};
}

Status RdbCounter::hash_begin(const RdbKey& key, std::uint64_t) {
  hash_ = key;
  fields_ = 0;
  return Done{};
}

Status RdbCounter::hash_fields(std::span<const Member> fields) {
  fields_ += fields.size();
  for (const Member& field : fields) {
    if (field.deadline != kNever) ++summary_.fields_by_ttl[ttl_range(field.deadline, now_)];
  }
  return Done{};
}

Status RdbCounter::hash_end() {
  count(hash_, "hash", fields_);
  return Done{};
}

Status RdbCounter::skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                           std::uint64_t) {
  count(key, type, elements);
  return Done{};
}

}  // namespace mayfly
