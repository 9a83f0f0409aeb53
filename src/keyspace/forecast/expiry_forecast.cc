// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/expiry_forecast.h"

#include <algorithm>

#include "keyspace/value.h"

namespace mayfly {
namespace {

// The end of the cell in which an entry with this deadline lies.
Time end_of(Time moment) {
  return moment == kNever ? kNever : DeadlineSums::round_up(moment + Millis(1));
}

std::vector<Time> ends_of(std::span<const Time> moments) {
  std::vector<Time> ends;
  for (const Time moment : moments) ends.push_back(end_of(moment));
  return ends;
}

// How many of the ends are at or before the last deadline of the key's members: the key is still
// there then. All of them if a member has no deadline, or if the key itself has one.
std::size_t points_before_end(const KeyNode& node, std::span<const Time> ends) {
  if (node.has_deadline != 0) return ends.size();
  if (form_of(node) == ValueForm::table) {
    const MemberTable& table = node.member_table();
    if (table.deadline_count() < table.count()) return ends.size();
    const auto is_left = [&](Time end) { return table.count_due(end - Millis(1)) < table.count(); };
    return static_cast<std::size_t>(std::ranges::partition_point(ends, is_left) - ends.begin());
  }
  Time last = Time::min();
  PackedView(node.value()).each([&](const Member& member) {
    last = std::max(last, member.deadline);
    return last != kNever;
  });
  if (last == kNever) return ends.size();
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, last) - ends.begin());
}

// What is freed besides members when keys lose their last member: the mean of a sample, times the
// number of such keys.
class KeysOfMembers {
 public:
  explicit KeysOfMembers(std::span<const Time> ends) : ends_(ends), freed_(ends.size()) {}

  void add_to(std::vector<ForecastPoint>& points, const Database& database) {
    const std::size_t keys = database.member_deadline_count();
    if (keys == 0) return;
    sample(database);
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      sum += freed_[i];
      points[i].bytes += static_cast<std::uint64_t>(sum / static_cast<double>(sampled_) *
                                                    static_cast<double>(keys));
    }
  }

 private:
  static constexpr int kTries = 1000;
  static constexpr std::size_t kWanted = 256;
  static constexpr std::size_t kFewest = 64;

  // Random keys; if few keys have members with deadlines, those of them that expire first.
  void sample(const Database& database) {
    std::fill(freed_.begin(), freed_.end(), 0);
    sampled_ = 0;
    if (database.member_deadline_count() > kWanted) {
      Random random(database.stored());
      for (int i = 0; i < kTries && sampled_ < kWanted; ++i) {
        add(database.node(database.random_stored(random)));
      }
    }
    if (sampled_ >= kFewest) return;
    std::fill(freed_.begin(), freed_.end(), 0);
    sampled_ = 0;
    database.visit_member_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
      add(database.node(slot));
      return sampled_ < kWanted;
    });
  }

  void add(const KeyNode& node) {
    if (node.has_member_deadlines == 0) return;
    ++sampled_;
    const std::size_t i = points_before_end(node, ends_);
    if (i < freed_.size()) freed_[i] += static_cast<double>(key_bytes(node));
  }

  std::span<const Time> ends_;
  std::vector<double> freed_;  // between a moment and the one before
  std::size_t sampled_ = 0;
};

// Members of keys in the index that are due.
std::uint64_t overdue_members(const Database& database, Time now) {
  constexpr std::size_t kKeysMost = 4'000;
  std::size_t keys = 0;
  std::uint64_t due = 0;
  database.visit_member_deadlines(Time::min(), now + Millis(1), [&](Slot slot, Time) {
    due += visit_members(database.node(slot),
                         [&](const auto& members) { return members.count_due(now); });
    return ++keys < kKeysMost;
  });
  if (keys < kKeysMost) return due;
  const Time whole_cells[] = {end_of(now) - DeadlineSums::kCell};
  return database.members_until(whole_cells).front().entries;
}

Overdue overdue_in(const Database& database, Time now) {
  return {.keys = database.deadline_count(now),
          .members = overdue_members(database, now),
          .oldest = database.next_deadline()};
}

}  // namespace

std::vector<ForecastPoint> forecast(Keyspace& keyspace, Time now, std::span<const Time> moments) {
  const std::vector<Time> ends = ends_of(moments);
  std::vector<ForecastPoint> points(ends.size());
  KeysOfMembers keys_of_members(ends);
  for (int number = 0; number < keyspace.count(); ++number) {
    const Database& database = keyspace[number];
    if (database.stored() == 0) continue;
    const std::vector<DeadlineSum> keys = database.keys_until(ends);
    const std::vector<DeadlineSum> members = database.members_until(ends);
    const Overdue due = overdue_in(database, now);
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].keys += keys[i].entries - due.keys;
      points[i].members += members[i].entries - due.members;
      points[i].bytes += keys[i].bytes + members[i].bytes;
    }
    keys_of_members.add_to(points, database);
  }
  for (std::size_t i = 0; i < points.size(); ++i) points[i].until = ends[i];
  return points;
}

std::vector<ForecastPoint> forecast(const Database& database, Slot slot, Time now,
                                    std::span<const Time> moments) {
  const KeyNode& node = database.node(slot);
  const Time deadline = database.deadline(slot);
  std::vector<ForecastPoint> points;
  for (const Time end : ends_of(moments)) {
    ForecastPoint& point = points.emplace_back(ForecastPoint{.until = end});
    const bool goes = deadline < end;
    point.keys = goes && !is_due(deadline, now) ? 1 : 0;
    if (!has_members(node)) {
      if (goes) point.bytes = key_bytes(node);
      continue;
    }
    visit_members(node, [&](const auto& members) {
      const std::size_t until = members.count_due(end - Millis(1));
      point.members = until - members.count_due(now);
      // As members go, so do their parts of the value.
      const bool is_whole = goes || until == members.count();
      const std::size_t whole = allocated_bytes(node);
      point.bytes = is_whole ? whole : whole * until / members.count();
    });
  }
  return points;
}

Overdue overdue(const Database& database, Slot slot, Time now) {
  const KeyNode& node = database.node(slot);
  Overdue due{.oldest = std::min(database.deadline(slot), database.earliest_member_deadline(slot))};
  due.keys = is_due(database.deadline(slot), now) ? 1 : 0;
  if (node.has_member_deadlines != 0) {
    due.members = visit_members(node, [&](const auto& members) { return members.count_due(now); });
  }
  return due;
}

Overdue overdue(Keyspace& keyspace, Time now) {
  Overdue all;
  for (int number = 0; number < keyspace.count(); ++number) {
    const Overdue one = overdue_in(keyspace[number], now);
    all.keys += one.keys;
    all.members += one.members;
    all.oldest = std::min(all.oldest, one.oldest);
  }
  return all;
}

}  // namespace mayfly
