// SPDX-License-Identifier: Apache-2.0
// Writing entries, their limits, and when the log is on.

#include "server/expiry/expiry_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "server/core/key_events.h"
#include "server/monitoring/stats.h"
#include "server/persistence/loading.h"
#include "server/replication/propagation.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr std::size_t kLoggedNamesMost = 64 << 20;  // of key and member together

// From this limit on, a full log loses a whole block of entries (a hundred) at once, which costs
// next to nothing; below it, exactly what is too much.
constexpr std::uint64_t kBlocksFrom = 10'000;

std::int64_t in_ms(Time time) { return time.time_since_epoch().count(); }

// Behind the last one; nothing if there are no more ids.
std::optional<StreamId> next_log_id(StreamId last, Time now) {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(in_ms(now), 1));
  return ms > last.ms ? std::optional(StreamId{ms, 0}) : last.next();
}

std::string wrong_type_text(int database) {
  return fmt::format(
      "The key '{}' of database {} is no stream, and the expiry log needs that name (rename or "
      "delete the key)",
      kExpiryLogKey, database);
}

}  // namespace

// ---- When it is on ----

bool ExpiryLog::is_active() const {
  return config_.expiry_log && !stream_.is_replica() && !loading_.is_active();
}

Status ExpiryLog::check_config(const Config& changed) const {
  if (!changed.expiry_log || config_.expiry_log) return Done{};
  for (int number = 0; number < keyspace_.count(); ++number) {
    const Database& database = keyspace_[number];
    const Slot slot = database.stored_slot(kExpiryLogKey);
    if (slot == kNoSlot || database.type(slot) == ValueType::stream) continue;
    return Error{Code::invalid, wrong_type_text(number)};
  }
  return Done{};
}

void ExpiryLog::apply_config() {
  keyspace_.options().kept_key = config_.expiry_log ? kExpiryLogKey : "";
  has_warned_ = false;
  update_observer();
  if (!is_active()) return;
  for (int number = 0; number < keyspace_.count(); ++number) {  // limits may be lower now
    Database& database = keyspace_[number];
    const Slot slot = database.stored_slot(kExpiryLogKey);
    if (slot == kNoSlot || database.type(slot) != ValueType::stream) continue;
    trim(number, database.stream(slot));
  }
}

void ExpiryLog::update_observer() {
  const bool is_watched = recent_.is_watched(context_.now);
  if (!is_watched) recent_.clear();
  keyspace_.set_observer(config_.expiry_log || is_watched ? this : nullptr);
}

std::vector<RecentExpiry> ExpiryLog::read_recent(std::uint64_t sequence, std::size_t limit) {
  std::vector<RecentExpiry> read = recent_.read_since(sequence, limit, context_.now);
  update_observer();
  return read;
}

// ---- Entries ----

void ExpiryLog::expiring(Database& database, const ExpiringEntry& entry) {
  if (entry.key == kExpiryLogKey) {  // it has a deadline from before the log was on
    propagate_batch();
    batch_database_ = nullptr;
    return;
  }
  if (recent_.is_watched(context_.now)) recent_.add(database.number(), entry);
  if (!is_active()) return;
  if (entry.key.size() + entry.member.value_or("").size() > kLoggedNamesMost) {
    return drop(database.number(), entry.by, "A name is too long for the expiry log");
  }
  if (batch_database_ != &database) {
    changed_.resize(static_cast<std::size_t>(keyspace_.count()));
    batch_stream_ = find_or_make(database, entry.at);
    batch_database_ = &database;
  }
  if (batch_stream_ == nullptr) {
    return drop(database.number(), entry.by, wrong_type_text(database.number()));
  }
  write(database, *batch_stream_, entry);
}

// Nothing expires on a replica, nor while writes are paused.
void ExpiryLog::removing(Database& database, Slot slot) {
  if (stream_.is_replica() || loading_.is_active()) return;
  database.report_overdue({.now = context_.now}, slot, FoundBy::access);
}

Stream* ExpiryLog::find_or_make(Database& database, Time now) {
  Slot slot = database.stored_slot(kExpiryLogKey);
  if (slot == kNoSlot) {
    slot = database.put_stream({.now = now}, kExpiryLogKey, std::make_unique<Stream>());
  }
  if (database.type(slot) != ValueType::stream) return nullptr;
  if (database.deadline(slot) != kNever) {  // it was given one while it was a key like others
    database.set_deadline(slot, kNever);
    propagation_.add(database.number(), Propagated{"PERSIST", std::string(kExpiryLogKey)});
  }
  return &database.stream(slot);
}

void ExpiryLog::drop(int database, FoundBy by, std::string_view why) {
  ++dropped_;
  if (by == FoundBy::sweep) has_other_removals_ = true;
  if (std::exchange(has_warned_, true)) return;
  context_.log.warning("Expiries in database {} are not logged: {}", database, why);
}

void ExpiryLog::write(Database& database, Stream& stream, const ExpiringEntry& entry) {
  const std::optional<StreamId> id = next_log_id(stream.last_id(), entry.at);
  if (!id) return drop(database.number(), entry.by, "its stream has no more ids");
  const EncodedStreamEntry encoded =
      encoder_.encode(database.number(), entry, config_.expiry_log_values);
  const Stream::Place place = stream.append(*id, encoded, keyspace_.options().stream_limits);
  if (propagation_.is_wanted()) propagate(database.number(), place, *id, encoded, entry.by);
  changed_[static_cast<std::size_t>(database.number())] = 1;
  has_new_ = true;
  ++added_;
  ++stats_.dirty;
}

// ---- Propagation ----

void ExpiryLog::propagate(int database, const Stream::Place& place, StreamId id,
                          const EncodedStreamEntry& encoded, FoundBy by) {
  if (by == FoundBy::sweep && !stream_.has_foreign()) {
    if (!batch_.is_empty() && !batch_.takes(database, place)) propagate_batch();
    batch_.add(database, place);
    has_removals_ = true;
    return;
  }
  if (by == FoundBy::sweep) has_other_removals_ = true;
  Propagated words = {"XADD", std::string(kExpiryLogKey), id.text()};
  add_words(encoded, words);
  propagation_.add(database, words);
}

void ExpiryLog::propagate_batch() {
  if (batch_.is_empty()) return;
  const LogBatch::Request request = batch_.take();
  const std::string_view words[] = {"XEXPIRED", kExpiryLogKey, request.first_id, request.block};
  propagation_.add(batch_.database(), Words(words));
}

// ---- Batches ----

bool ExpiryLog::finish_batch() {
  propagate_batch();
  encoder_.shrink();
  batch_database_ = nullptr;
  batch_stream_ = nullptr;
  if (!std::exchange(has_new_, false)) return false;
  for (int number = 0; number < keyspace_.count(); ++number) {
    if (std::exchange(changed_[static_cast<std::size_t>(number)], 0) == 0) continue;
    Database& database = keyspace_[number];
    const Slot slot = database.stored_slot(kExpiryLogKey);
    if (slot != kNoSlot) trim(number, database.stream(slot));
    events_.key_changed({.now = context_.now}, number, kExpiryLogKey);
  }
  return true;
}

void ExpiryLog::end_sweep() {
  end_batch();
  if (is_active()) propagation_.flush();
}

void ExpiryLog::trim(int database, Stream& stream) {
  const auto most = static_cast<std::uint64_t>(config_.expiry_log_max_entries);
  const std::size_t before = stream.size();
  if (most >= kBlocksFrom) {
    while (stream.size() > most && stream.trim_block() > 0) {
    }
  } else if (most > 0) {
    stream.trim({.keep = most}, keyspace_.options().stream_limits);
  }
  const std::uint64_t bytes = config_.expiry_log_max_bytes;
  while (bytes > 0 && stream.entry_bytes() > bytes && stream.trim_block() > 0) {
  }
  if (stream.size() == before) return;
  trimmed_ += before - stream.size();
  propagation_.add(database, Propagated{"XTRIM", std::string(kExpiryLogKey), "MAXLEN", "=",
                                        std::to_string(stream.size())});
}

ExpiryLog::Totals ExpiryLog::totals() const {
  Totals totals;
  for (int number = 0; number < keyspace_.count(); ++number) {
    const Database& database = keyspace_[number];
    const Slot slot = database.stored_slot(kExpiryLogKey);
    if (slot == kNoSlot || database.type(slot) != ValueType::stream) continue;
    const Stream& stream = database.node(slot).stream();
    totals.entries += stream.size();
    totals.bytes += stream.entry_bytes();
    totals.last_id = std::max(totals.last_id, stream.last_id());
  }
  return totals;
}

}  // namespace mayfly
