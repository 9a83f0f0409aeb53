// SPDX-License-Identifier: Apache-2.0
// The data set on its way from the primary: into a file, then into memory.

#include <fmt/format.h>

#include <algorithm>

#include "resp/numbers.h"
#include "server/core/server.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::size_t kMarkSize = 40;

}  // namespace

std::string PrimaryLink::file_path() const {
  return fmt::format("{}/temp-primary-{}.rdb", server_.config().dir, server_.surroundings().port());
}

void PrimaryLink::begin_transfer(std::string_view id, std::uint64_t offset) {
  new_id_ = id;
  new_offset_ = offset;
  state_ = LinkState::transfer;
  has_header_ = false;
  server_.log().write(
      Level::notice,
      fmt::format("Full synchronisation with {}:{}: history {} at {}", host_, port_, id, offset));
}

// "$<bytes>", or "$EOF:<mark>" if nobody knows how many.
void PrimaryLink::transfer_header(std::string_view line) {
  if (line.starts_with('-')) {
    server_.log().write(Level::warning,
                        fmt::format("The primary gave up the synchronisation: {}", line));
    return disconnect("it gave up");
  }
  mark_.clear();
  tail_.clear();
  to_transfer_ = 0;
  transferred_ = 0;
  const std::int64_t length = line.starts_with('$') ? parse_integer(line.substr(1)).value_or(0) : 0;
  if (line.starts_with("$EOF:") && line.size() == 5 + kMarkSize) {
    mark_ = line.substr(5);
  } else if (length > 0) {
    to_transfer_ = static_cast<std::uint64_t>(length);
  } else {
    server_.log().write(Level::warning, fmt::format("Bad begin of a transfer: '{}'", line));
    return disconnect("it does not send what it should");
  }
  auto file = server_.surroundings().disk().create(file_path());
  if (!file) {
    server_.log().write(Level::warning, file.error().message);
    return disconnect("what it sends cannot be stored");
  }
  file_ = std::move(*file);
  has_header_ = true;
}

bool PrimaryLink::store(std::string_view bytes) {
  const Status status = file_->write(bytes);
  if (status) return true;
  server_.log().write(Level::warning, status.error().message);
  disconnect("what it sends cannot be stored");
  return false;
}

void PrimaryLink::transfer(InputBuffer& input) {
  if (mark_.empty()) {
    const std::string_view bytes =
        input.view().substr(0, std::min<std::uint64_t>(input.size(), to_transfer_ - transferred_));
    if (!store(bytes)) return;
    transferred_ += bytes.size();
    input.consume(bytes.size());
    if (transferred_ == to_transfer_) load();
    return;
  }
  // The mark is the last that comes, until we have said that we are ready. Its begin may be the end
  // of what has come so far.
  tail_ += input.view();
  transferred_ += input.size();
  input.consume(input.size());
  if (tail_.size() <= kMarkSize) {
    if (tail_ == mark_) load();
    return;
  }
  const std::size_t sure = tail_.size() - kMarkSize;
  if (!store(std::string_view(tail_).substr(0, sure))) return;
  tail_.erase(0, sure);
  if (tail_ == mark_) load();
}

void PrimaryLink::load() {
  file_ = nullptr;
  server_.log().write(Level::notice,
                      fmt::format("Loading {} bytes from the primary", transferred_));
  auto source = server_.surroundings().disk().open(file_path());
  if (!source) {
    server_.log().write(Level::warning, source.error().message);
    return disconnect("what it sent cannot be read");
  }
  server_.replication().replicas().disconnect_all("the data it follows is replaced");
  server_.replication().local_expiries().clear();
  server_.clear_all();
  link_->pause_reading();
  state_ = LinkState::loading;
  auto task = std::make_unique<RdbTask>(
      std::move(*source), server_.keyspace(),
      RdbLoadOptions{
          .now = server_.wall().now(), .keeps_due = true, .checks = rdb_checks(server_.config())});
  RdbTask* const running = task.get();
  server_.loading().begin(
      std::move(task), server_.wall().now(), [this, running](const Status& ended) {
        const auto& aux = running->report().aux;
        const auto found = aux.find("repl-stream-db");
        database_ =
            found == aux.end() ? 0 : static_cast<int>(parse_integer(found->second).value_or(0));
        database_ = std::clamp(database_, 0, server_.keyspace().count() - 1);
        loaded(ended ? server_.persistence().check_skipped(running->report().skipped,
                                                           "the data of the primary")
                     : ended);
      });
}

void PrimaryLink::loaded(const Status& status) {
  (void)server_.surroundings().disk().remove(file_path());
  if (!status) {
    server_.log().write(Level::warning, fmt::format("What the primary sent cannot be loaded: {}",
                                                    status.error().message));
    server_.clear_all();
    server_.replication().forget_history();
    server_.persistence().data_replaced();
    state_ = LinkState::transfer;
    if (link_ == nullptr) return closed("it left meanwhile");
    return disconnect("what it sent cannot be loaded");
  }
  server_.replication().adopt(new_id_, new_offset_);
  server_.persistence().data_replaced();
  server_.log().write(Level::notice, "The synchronisation with the primary is complete");
  if (link_ != nullptr) return begin_stream();
  state_ = LinkState::transfer;
  closed("it left while its data was loaded");
}

}  // namespace mayfly
