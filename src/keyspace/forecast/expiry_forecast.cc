// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/expiry_forecast.h"

#include <algorithm>

#include "keyspace/forecast/chunk_sample.h"
#include "keyspace/forecast/key_places.h"
#include "keyspace/forecast/member_forecast.h"
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

// What is forecast of one database.
struct DatabaseForecast {
  std::vector<DeadlineSum> keys;
  std::vector<DeadlineSum> packed;  // members
  std::vector<DeadlineSum> tables;  // members in tables
  std::vector<double> freed;        // bytes
};

// In proportion to what is known of all; `otherwise` if the sample does not tell.
double scaled(double freed, double counted, double total, double otherwise) {
  return counted > 0 ? freed / counted * total : otherwise * total;
}

DatabaseForecast forecast_of(const Database& database, std::span<const Time> ends) {
  DatabaseForecast found{.keys = database.keys_until(ends),
                         .packed = database.packed_members_until(ends),
                         .tables = database.table_members_until(ends),
                         .freed = {}};
  MemberForecast members(ends);
  members.sample(database);
  found.freed = key_places(database, ends, found.keys, members);
  constexpr double kTablePlaces = Table::kSparseBytes + kIndexBucketBytes;
  constexpr double kAllPlaces = kTablePlaces + 18;  // with the last member
  const Time all[] = {kNever};
  const DeadlineSum in_tables = database.table_members_until(all).front();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const MemberForecast::Point& point = members.points()[i];
    found.freed[i] +=
        static_cast<double>(found.keys[i].bytes + found.tables[i].bytes) +
        scaled(point.packed_freed, point.packed_bytes, static_cast<double>(found.packed[i].bytes),
               1) +
        scaled(point.table_freed, point.table_members, static_cast<double>(found.tables[i].entries),
               found.tables[i] == in_tables ? kAllPlaces : kTablePlaces);
  }
  return found;
}

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
  return database.packed_members_until(whole_cells).front().entries +
         database.table_members_until(whole_cells).front().entries;
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
  for (int number = 0; number < keyspace.count(); ++number) {
    const Database& database = keyspace[number];
    if (database.stored() == 0) continue;
    const DatabaseForecast found = forecast_of(database, ends);
    const Overdue due = overdue_in(database, now);
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].keys += found.keys[i].entries - due.keys;
      points[i].members += found.packed[i].entries + found.tables[i].entries - due.members;
      points[i].entry_bytes += found.keys[i].bytes + found.packed[i].bytes + found.tables[i].bytes;
      points[i].bytes += static_cast<std::uint64_t>(std::max(found.freed[i], 0.0));
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) points[i].until = ends[i];
  return points;
}

std::vector<ForecastPoint> forecast(const Database& database, Slot slot, Time now,
                                    std::span<const Time> moments) {
  const KeyNode& node = database.node(slot);
  const Time deadline = database.deadline(slot);
  const std::vector<Time> ends = ends_of(moments);
  MemberForecast freed(ends);
  if (node.has_member_deadlines != 0) freed.add(node);
  std::vector<ForecastPoint> points(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ForecastPoint& point = points[i];
    point.until = ends[i];
    const bool goes = deadline < ends[i];
    point.keys = goes && !is_due(deadline, now) ? 1 : 0;
    if (node.has_member_deadlines != 0) {
      visit_members(node, [&](const auto& members) {
        point.members = members.count_due(ends[i] - Millis(1)) - members.count_due(now);
      });
    }
    const MemberForecast::Point& part = freed.points()[i];
    double in_tables = 0;
    if (form_of(node) == ValueForm::table) {
      const auto average = static_cast<double>(node.member_table().average_member_bytes());
      in_tables = part.table_members * average;
    }
    const double entry_bytes = part.packed_bytes + in_tables;
    const double bytes = part.packed_freed + part.table_freed + in_tables;
    point.entry_bytes = static_cast<std::uint64_t>(entry_bytes);
    point.bytes = static_cast<std::uint64_t>(bytes);
    if (goes) point.entry_bytes = point.bytes = allocated_bytes(node);
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
