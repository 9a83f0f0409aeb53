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

// What keys free besides their members: the mean of a sample, times the number of such keys.
//
// A table frees each member, and the rest with the last one. Packed members are in the key's node,
// which shrinks only when half of it is unused: most of them free nothing, and some free much.
class KeysOfMembers {
 public:
  explicit KeysOfMembers(std::span<const Time> ends) : ends_(ends), freed_(ends.size()) {}

  void add_to(std::vector<ForecastPoint>& points, const Database& database) {
    const std::size_t keys = database.member_deadline_count();
    if (keys == 0) return;
    sample(database);
    const double share = static_cast<double>(keys) / static_cast<double>(sampled_);
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      sum += freed_[i];
      const double bytes = static_cast<double>(points[i].bytes) + sum * share;
      points[i].bytes = static_cast<std::uint64_t>(std::max(bytes, 0.0));
    }
  }

 private:
  static constexpr int kTries = 1000;
  static constexpr std::size_t kWanted = 256;
  static constexpr std::size_t kFewest = 64;
  static constexpr std::size_t kMembersMost = 20'000;

  struct Leaving {
    Time deadline;
    std::size_t bytes;
  };

  // Random keys; if few keys have members with deadlines, those of them that expire first.
  void sample(const Database& database) {
    begin();
    if (database.member_deadline_count() > kWanted) {
      Random random(database.stored());
      for (int i = 0; i < kTries && wants_more(); ++i) {
        add(database.node(database.random_stored(random)));
      }
    }
    if (sampled_ >= kFewest || !wants_more()) return;
    begin();
    database.visit_member_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
      add(database.node(slot));
      return wants_more();
    });
  }

  void begin() {
    std::fill(freed_.begin(), freed_.end(), 0);
    sampled_ = 0;
    visited_ = 0;
  }

  bool wants_more() const { return sampled_ < kWanted && visited_ < kMembersMost; }

  void add(const KeyNode& node) {
    if (node.has_member_deadlines == 0) return;
    ++sampled_;
    if (node.has_deadline != 0) return;  // it goes as a whole
    if (form_of(node) == ValueForm::table) {
      add_table(node);
    } else {
      add_packed(node);
    }
  }

  void add_table(const KeyNode& node) {
    const MemberTable& table = node.member_table();
    if (table.deadline_count() < table.count()) return;
    const auto is_left = [&](Time end) { return table.count_due(end - Millis(1)) < table.count(); };
    const auto end = std::ranges::partition_point(ends_, is_left);
    if (end == ends_.end()) return;
    freed_[static_cast<std::size_t>(end - ends_.begin())] += static_cast<double>(key_bytes(node));
  }

  void add_packed(const KeyNode& node) {
    const bool goes = list_leaving(node);
    const std::size_t capacity_now = node_bytes(&node);
    std::size_t capacity = capacity_now;
    std::size_t bytes = sizeof(KeyNode) + node.key_size + node.value_size;
    std::size_t counted = 0;  // of members
    std::size_t next = 0;
    double before = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      for (; next < leaving_.size() && leaving_[next].deadline < ends_[i]; ++next) {
        counted += leaving_[next].bytes;
        bytes -= std::min(bytes - 1, leaving_[next].bytes);
        if (bytes <= capacity / 2) capacity = allocated_size(bytes);
      }
      const bool is_gone = goes && next == leaving_.size();
      const std::size_t freed = is_gone ? capacity_now + kKeyPlaceBytes : capacity_now - capacity;
      const double besides = static_cast<double>(freed) - static_cast<double>(counted);
      freed_[i] += besides - before;
      before = besides;
    }
  }

  // Members with deadlines, in order. Returns whether these are all.
  bool list_leaving(const KeyNode& node) {
    const PackedView members(node.value());
    visited_ += members.count();
    leaving_.clear();
    members.each([&](const Member& member) {
      if (member.deadline == kNever) return true;
      leaving_.push_back(
          {member.deadline, member_bytes(node, member.name.size(), member.value.size())});
      return true;
    });
    std::ranges::sort(leaving_, {}, &Leaving::deadline);
    return leaving_.size() == members.count();
  }

  std::span<const Time> ends_;
  std::vector<double> freed_;  // between a moment and the one before
  std::size_t sampled_ = 0;
  std::size_t visited_ = 0;       // members
  std::vector<Leaving> leaving_;  // of a key
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
