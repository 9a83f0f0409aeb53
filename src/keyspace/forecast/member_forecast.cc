// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/member_forecast.h"

#include <algorithm>

#include "keyspace/database.h"
#include "keyspace/forecast/table_places.h"
#include "keyspace/value.h"

namespace mayfly {
namespace {

constexpr int kKeyTries = 4'000;
constexpr std::size_t kKeysWanted = 768;
constexpr std::size_t kTablesWanted = 32;
constexpr std::size_t kKeysFewest = 64;
constexpr std::size_t kMembersVisited = 20'000;

// In packed form: the header, of which a part is there only with deadlines, and the width of one.
constexpr std::size_t kPackedHeader = 12;
constexpr std::size_t kPackedBase = 8;
constexpr std::size_t kPackedWidth = 4;

}  // namespace

void MemberForecast::begin() {
  std::ranges::fill(points_, Point{});
  keys_ = 0;
  tables_ = 0;
  visited_ = 0;
}

bool MemberForecast::wants_more() const {
  return keys_ - tables_ < kKeysWanted && visited_ < kMembersVisited;
}

// Tables are few, and each is a large part of the whole.
bool MemberForecast::wants(const KeyNode& node) const {
  if (form_of(node) == ValueForm::table) return tables_ < kTablesWanted;
  return wants_more();
}

// Random keys; if few keys have members with deadlines, those of them that expire first.
void MemberForecast::sample(const Database& database) {
  begin();
  if (database.member_deadline_count() == 0) return;
  int tries = kKeyTries;
  if (database.member_deadline_count() > kKeysWanted) {
    random_ = Random(database.stored());
    for (; tries > 0; --tries) {
      const auto slot = static_cast<Slot>(random_.below(database.slot_extent()));
      if (!database.has_member_deadlines(slot)) continue;
      if (const KeyNode& node = database.node(slot); wants(node)) add(node);
    }
  }
  const Time all[] = {kNever};
  const bool has_tables = tables_ > 0 || database.table_members_until(all).front().entries == 0;
  if (keys_ >= kKeysFewest && has_tables) return;
  if (keys_ < kKeysFewest) begin();
  database.visit_member_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
    if (const KeyNode& node = database.node(slot); wants(node)) add(node);
    return ++tries < kKeyTries;
  });
}

void MemberForecast::add(const KeyNode& node) {
  ++keys_;
  if (form_of(node) == ValueForm::table) {
    add_table(node);
  } else {
    add_packed(node);
  }
}

void MemberForecast::add_table(const KeyNode& node) {
  ++tables_;
  const MemberTable& table = node.member_table();
  const std::vector<TablePlaces> places = table_places(table, ends_, random_);
  visited_ += std::min<std::size_t>(table.count(), 4096);
  const auto rest = static_cast<double>(allocated_bytes(node)) -
                    static_cast<double>(table.count() * table.average_member_bytes());
  const bool goes_by_itself = node.has_deadline != 0;  // that is counted elsewhere
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    points_[i].table_members += places[i].members;
    points_[i].table_freed += places[i].is_empty && !goes_by_itself ? rest : places[i].freed;
    points_[i].emptied += places[i].is_empty && !goes_by_itself ? 1 : 0;
    points_[i].settled += places[i].has_deadlines ? 0 : 1;
  }
}

void MemberForecast::add_packed(const KeyNode& node) {
  list_leaving(node);
  const std::size_t count = PackedView(node.value()).count();
  const std::size_t capacity_now = node_bytes(&node);
  std::size_t capacity = capacity_now;
  std::size_t bytes = sizeof(KeyNode) + node.key_size + node.value_size;
  std::size_t counted = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    for (; next < leaving_.size() && leaving_[next].deadline < ends_[i]; ++next) {
      counted += leaving_[next].counted;
      bytes -= std::min(bytes - 1, leaving_[next].bytes);
      if (next + 1 == leaving_.size()) {
        const std::size_t unused = kPackedBase + (count - leaving_.size()) * kPackedWidth;
        bytes -= std::min(bytes - 1, unused);
      }
      if (bytes <= capacity / 2) capacity = allocated_size(bytes);
    }
    const bool is_settled = next == leaving_.size();
    const bool is_empty = is_settled && count == leaving_.size() && node.has_deadline == 0;
    points_[i].packed_bytes += static_cast<double>(counted);
    const std::size_t freed =
        is_empty ? capacity_now : capacity_now - std::min(capacity, capacity_now);
    points_[i].packed_freed += static_cast<double>(freed);
    points_[i].emptied += is_empty ? 1 : 0;
    points_[i].settled += is_settled ? 1 : 0;
  }
}

void MemberForecast::list_leaving(const KeyNode& node) {
  const PackedView members(node.value());
  visited_ += members.count();
  leaving_.clear();
  std::size_t texts = 0;
  members.each([&](const Member& member) {
    const std::size_t text = member.name.size() + member.value.size();
    texts += text;
    if (member.deadline == kNever) return true;
    leaving_.push_back({.deadline = member.deadline,
                        .bytes = text,
                        .counted = member_bytes(node, member.name.size(), member.value.size())});
    return true;
  });
  // Sizes and the deadline before each.
  const std::size_t heads =
      node.value_size - std::min<std::size_t>(node.value_size, kPackedHeader + texts);
  const std::size_t head = heads / std::max<std::size_t>(members.count(), 1);
  for (Leaving& leaving : leaving_) leaving.bytes += head;
  std::ranges::sort(leaving_, {}, &Leaving::deadline);
}

}  // namespace mayfly
