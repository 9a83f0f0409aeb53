// SPDX-License-Identifier: Apache-2.0
// Ids and offsets of the replication stream.

#include "server/replication/replication_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <random>

#include "resp/encode.h"
#include "server/replication/foreign_replica.h"

namespace mayfly {

std::string random_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 40) id += fmt::format("{:08x}", device());
  return id;
}

bool is_replication_id(std::string_view id) {
  constexpr std::size_t kDigits = 40;
  return id.size() == kDigits && id.find_first_not_of("0123456789abcdefABCDEF") == id.npos;
}

void ReplicationStream::open() {
  if (is_open_) return;
  is_open_ = true;
  log_.restart(log_.end());
  selected_ = -1;
  propagation_.add_sink(*this);
}

void ReplicationStream::close() {
  if (!is_open_) return;
  is_open_ = false;
  log_.restart(log_.end());
  propagation_.remove_sink(*this);
  ids_ = {};
}

void ReplicationStream::adopt(const std::string& id, std::uint64_t next) {
  ids_ = {id, {}, 0};
  is_open_ = true;
  mayfly_only_ = {};
  log_.restart(next);
  propagation_.add_sink(*this);
}

void ReplicationStream::resume(const std::string& id, std::uint64_t end) {
  ids_ = {random_id(), id, end};
  is_open_ = true;
  mayfly_only_ = {};
  selected_ = -1;
  log_.restart(end);
  propagation_.add_sink(*this);
}

void ReplicationStream::take(int database, std::string_view command) {
  if (is_replica_) return;
  if (database != selected_ && database != kAnyDatabase) {
    std::string select;
    append_request(select,
                   std::initializer_list<std::string_view>{"SELECT", std::to_string(database)});
    log_.append(select);
    selected_ = database;
  }
  log_.append(command);
  if (std::string what = mayfly::mayfly_only(command); !what.empty()) {
    note_mayfly_only(std::move(what));
  }
}

RdbAux ReplicationStream::aux() const {
  if (!is_open_) return {};
  RdbAux aux = {{"repl-stream-db", std::to_string(std::max(selected_, 0))},
                {"repl-id", ids_.id},
                {"repl-offset", std::to_string(log_.end())}};
  if (epoch_ > 0) aux.emplace_back("cluster-epoch", std::to_string(epoch_));
  return aux;
}

// ---- The log ----

void ReplicationLog::append(std::string_view bytes) {
  end_ += bytes.size();
  while (!bytes.empty()) {
    if (blocks_.empty() || blocks_.back().size() == kBlockBytes) {
      blocks_.emplace_back().reserve(kBlockBytes);
    }
    std::string& block = blocks_.back();
    const std::size_t count = std::min(bytes.size(), kBlockBytes - block.size());
    block.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
}

std::string_view ReplicationLog::read(std::uint64_t from) const {
  assert(contains(from));
  if (from == end_) return {};
  const std::uint64_t place = from - begin_;
  const std::string_view block = blocks_[static_cast<std::size_t>(place / kBlockBytes)];
  return block.substr(static_cast<std::size_t>(place % kBlockBytes));
}

void ReplicationLog::trim(std::uint64_t kept, std::uint64_t needed) {
  const std::uint64_t from = std::min(end_ - std::min(kept, end_), needed);
  while (!blocks_.empty() && begin_ + kBlockBytes <= from) {
    blocks_.pop_front();
    begin_ += kBlockBytes;
  }
}

void ReplicationLog::restart(std::uint64_t next) {
  blocks_.clear();
  begin_ = next;
  end_ = next;
}

std::string ReplicationLog::check_invariants() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i + 1 < blocks_.size() && blocks_[i].size() != kBlockBytes) return "a block is not full";
    bytes += blocks_[i].size();
  }
  return bytes == end_ - begin_ ? "" : "the blocks do not reach from begin to end";
}

}  // namespace mayfly
