// SPDX-License-Identifier: Apache-2.0
// The databases together: sweeping them in turn, and the statistics of what expired.

#include "keyspace/keyspace.h"

#include <algorithm>

namespace mayfly {

Keyspace::Keyspace(const KeyspaceOptions& options, KeyspaceListener& listener)
    : options_(options), listener_(listener), random_(options.seed), leases_(random_.next()) {
  for (int i = 0; i < options.databases; ++i) {
    databases_.push_back(std::make_unique<Database>(*this, i));
  }
}

Keyspace::~Keyspace() = default;

std::size_t Keyspace::sweep(const ExecContext& context, std::size_t limit) {
  return sweep_each(
      limit, [&](Database& database, std::size_t rest) { return database.sweep(context, rest); });
}

std::size_t Keyspace::sweep_others(const ExecContext& context, std::size_t limit, Time from,
                                   const Database::IsSpared& is_spared) {
  return sweep_each(limit, [&](Database& database, std::size_t rest) {
    return database.sweep_others(context, rest, from, is_spared);
  });
}

template <class Sweep>
std::size_t Keyspace::sweep_each(std::size_t limit, const Sweep& sweep) {
  std::size_t swept = 0;
  for (std::size_t i = 0; i < databases_.size() && swept < limit; ++i) {
    Database& database = *databases_[turn_];
    turn_ = (turn_ + 1) % databases_.size();
    if (database.number() == options_.staging) continue;
    // A database that was cut short continues in the next round; so all get their turn.
    swept += sweep(database, limit - swept);
  }
  return swept;
}

Time Keyspace::next_deadline() const {
  Time next = kNever;
  for (const auto& database : databases_) {
    if (database->number() != options_.staging) next = std::min(next, database->next_deadline());
  }
  return next;
}

void Keyspace::record_expired(const ExecContext& context, FoundBy by, Time deadline,
                              std::size_t keys, std::size_t members) {
  stats_.expired_keys += keys;
  stats_.expired_members += members;
  stats_.expired_keys_by[static_cast<std::size_t>(by)] += keys;
  stats_.expired_members_by[static_cast<std::size_t>(by)] += members;
  Lateness& late = by == FoundBy::sweep ? stats_.late_by_sweep : stats_.late_on_access;
  late.add(deadline, context.now);
}

}  // namespace mayfly
