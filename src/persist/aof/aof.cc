// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof.h"

#include <array>
#include <cassert>
#include <charconv>
#include <utility>

#include "resp/encode.h"

namespace mayfly {
namespace {

constexpr Millis kSyncEvery{1'000};
constexpr Millis kSyncLongest{2'000};                       // then flush() waits for it
constexpr std::size_t kBufferKept = std::size_t{16} << 20;  // 16 MiB, after a flush

void append_select(std::string& out, int database) {
  std::array<char, 16> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), database).ptr;
  const std::string_view number(digits.data(), static_cast<std::size_t>(end - digits.data()));
  append_request(out, std::array<std::string_view, 2>{"SELECT", number});
}

}  // namespace

Aof::Aof(Disk& disk, AofOptions options) : disk_(disk), options_(std::move(options)) {}

Aof::~Aof() { background_.wait(); }

void Aof::append(int database, std::string_view command) {
  if (!is_open()) return;
  const std::size_t before = buffer_.size();
  if (database >= 0 && database != database_) {
    append_select(buffer_, database);
    database_ = database;
  }
  buffer_.append(command);
  appended_ += buffer_.size() - before;
}

Status Aof::flush(Time now) {
  if (!is_open()) return Done{};
  if (Status status = make_manifest_durable(); !status) return status;
  if (Status status = cut(); !status) return status;
  if (syncs(AofSync::always)) return write_and_sync();
  if (Status status = write_buffer(); !status) return status;
  drop_buffer();
  if (syncs(AofSync::everysec)) return sync_in_background(now);
  return background_.is_busy() ? Status(Done{}) : background_error();
}

Status Aof::sync_now() {
  if (!is_open()) return Done{};
  if (Status status = make_manifest_durable(); !status) return status;
  if (Status status = cut(); !status) return status;
  return write_and_sync();
}

Time Aof::next_sync() const {
  const bool is_due_to_sync = syncs(AofSync::everysec) && last_synced() < written_offset();
  if (!is_open() || !(is_due_to_sync || !buffer_.empty())) return kNever;
  return sync_begun_ ? *sync_begun_ + kSyncEvery : Time::min();
}

std::uint64_t Aof::synced_offset() const { return frozen_ ? *frozen_ : last_synced(); }

// Removes what a failed write left at the end of the file.
Status Aof::cut() {
  if (!cut_to_) return Done{};
  if (Status status = file_->truncate(*cut_to_); !status) return status;
  cut_to_.reset();
  return Done{};
}

// The caller clears the buffer when it is no longer needed.
Status Aof::write_buffer() {
  if (buffer_.empty()) return Done{};
  const std::uint64_t whole = file_->size();
  Status status = file_->write(buffer_);
  if (status) return status;
  cut_to_ = whole;
  (void)cut();  // if it fails, the next flush() retries before it writes
  return status;
}

Status Aof::write_and_sync() {
  background_.wait();
  Status earlier = background_error();
  if (last_synced() == appended_) return earlier;
  const std::uint64_t whole = file_->size();
  const bool had_unsynced = last_synced() < written_offset();
  if (Status status = write_buffer(); !status) return status;
  if (Status status = file_->sync(); !status) {
    // The system may have dropped the bytes and consider them written. Only bytes that are written
    // again are synced by the next attempt.
    cut_to_ = whole;
    (void)cut();
    if (had_unsynced) mark_doubtful();
    return status;
  }
  drop_buffer();
  synced_ = appended_;
  return earlier;
}

void Aof::drop_buffer() {
  if (buffer_.capacity() > kBufferKept) std::string().swap(buffer_);
  buffer_.clear();
}

Status Aof::sync_in_background(Time now) {
  if (sync_begun_) sync_begun_ = std::min(*sync_begun_, now);  // the clock may have been set back
  if (background_.is_busy()) {
    if (!is_due(*sync_begun_ + kSyncLongest, now)) return Done{};
    background_.wait();
  }
  Status status = background_error();
  const bool has_to = last_synced() < written_offset();
  if (has_to && (!sync_begun_ || is_due(*sync_begun_ + kSyncEvery, now))) {
    sync_begun_ = now;
    background_.start(*file_, written_offset());
  }
  return status;
}

Status Aof::background_error() {
  std::optional<Error> error = background_.take_error();
  if (!error) return Done{};
  mark_doubtful();
  return std::move(*error);
}

void Aof::mark_doubtful() {
  if (!frozen_) frozen_ = last_synced();
  is_doubtful_ = true;
  is_doubtful_since_rewrite_ = true;
}

}  // namespace mayfly
