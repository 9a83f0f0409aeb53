// SPDX-License-Identifier: Apache-2.0
// Receiving the data set of the primary: into a file, then into memory.

#include <fmt/format.h>

#include <algorithm>

#include "resp/numbers.h"
#include "server/core/client.h"
#include "server/core/key_events.h"
#include "server/core/reclaimer.h"
#include "server/monitoring/stats.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/aside/files_aside.h"
#include "server/persistence/loading.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::size_t kMarkSize = 40;
constexpr std::uint64_t kSyncedAtOnce = 8u << 20;  // 8 MiB

}  // namespace

std::string PrimaryLink::file_path() const {
  return fmt::format("{}/temp-primary-{}.rdb", context_.config.dir, context_.host.port());
}

void PrimaryLink::begin_transfer(std::string_view id, std::uint64_t offset) {
  new_id_ = id;
  new_offset_ = offset;
  state_ = LinkState::transfer;
  has_header_ = false;
  context_.log.notice("Full synchronisation with {}:{}: replication id {}, offset {}", host_, port_,
                      id, offset);
}

// "$<bytes>", or "$EOF:<mark>" if the length is not known.
void PrimaryLink::transfer_header(std::string_view line) {
  if (line.starts_with('-')) {
    context_.log.warning("The primary aborted the synchronisation: {}", shown_line(line));
    return disconnect("it aborted the synchronisation");
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
    context_.log.warning("The primary sent an invalid header of a transfer: '{}'",
                         shown_line(line));
    return disconnect("its transfer has an invalid header");
  }
  auto file = context_.host.disk().create(file_path());
  if (!file) {
    context_.log.write(Level::warning, file.error().message);
    return disconnect("its data cannot be stored");
  }
  file_ = std::move(*file);
  sum_ = RdbSum(rdb_checks(context_.config));
  has_header_ = true;
}

bool PrimaryLink::store(std::string_view bytes) {
  if (const Status known = sum_.add(bytes); !known) {
    refuse_data(known.error());
    return false;
  }
  Status status = file_->write(bytes);
  unsynced_ += bytes.size();
  // As the base of the append-only file it must be on the disk; by pieces, no turn takes long.
  if (status && context_.config.appendonly && unsynced_ >= kSyncedAtOnce) {
    unsynced_ = 0;
    status = file_->sync();
  }
  if (status) return true;
  context_.log.write(Level::warning, status.error().message);
  disconnect("its data cannot be stored");
  return false;
}

void PrimaryLink::transfer(InputBuffer& input) {
  const std::size_t before = input.size();
  take_transfer(input);
  context_.stats.bytes_in += before - input.size();
  context_.stats.replication_bytes_in += before - input.size();
}

void PrimaryLink::take_transfer(InputBuffer& input) {
  if (mark_.empty()) {
    const std::string_view bytes =
        input.view().substr(0, std::min<std::uint64_t>(input.size(), to_transfer_ - transferred_));
    if (!store(bytes)) return;
    transferred_ += bytes.size();
    input.consume(bytes.size());
    if (transferred_ == to_transfer_) verify();
    return;
  }
  // The primary sends nothing after the mark until we are ready. The end of what has arrived may be
  // the beginning of the mark.
  tail_ += input.view();
  transferred_ += input.size();
  input.consume(input.size());
  if (tail_.size() <= kMarkSize) {
    if (tail_ == mark_) verify();
    return;
  }
  const std::size_t sure = tail_.size() - kMarkSize;
  if (!store(std::string_view(tail_).substr(0, sure))) return;
  tail_.erase(0, sure);
  if (tail_ == mark_) verify();
}

// Whether the primary lacks writes that are here.
bool PrimaryLink::holds_more() const {
  if (context_.replication.cluster() != nullptr || stored_keys(context_.keyspace) == 0) {
    return false;
  }
  const ReplicationStream& stream = context_.stream;
  const bool is_ahead =
      stream.is_open() && stream.ids().id == new_id_ && stream.log().end() > new_offset_;
  // The primary was restarted without data, and so without a history.
  const bool is_wiped = stream.is_open() && stream.ids().id != new_id_ &&
                        has_no_keys(context_.host.disk(), file_path());
  return is_ahead || is_wiped || context_.replication.last_role().has_led();
}

// What only this server has is not thrown away.
Status PrimaryLink::keep_data() {
  if (has_kept_data_ || !holds_more()) return Done{};
  const std::uint64_t keys = stored_keys(context_.keyspace);
  const Result<std::string> name = keep_data_aside(context_, context_.aof);
  if (!name) return name.error();
  has_kept_data_ = true;
  context_.log.warning(
      "This server has data that the primary {}:{} lacks: {} keys are replaced by those of the "
      "primary. They are kept in '{}'. Was there a failover since the primary was configured, or "
      "did it start without its data? "
      "Docs: operations.md, 'A planned failover'",
      host_, port_, keys, *name);
  return Done{};
}

// The file is not loaded: the data here stays as it is.
void PrimaryLink::refuse_data(const Error& error) {
  context_.log.warning("Cannot load the data of the primary: {}. The data of this server stays",
                       error.message);
  disconnect("its data cannot be loaded");
}

// The file must be good before it replaces data. One without a checksum is read as a whole.
void PrimaryLink::verify() {
  file_ = nullptr;
  const Result<bool> is_summed = sum_.end();
  auto source = is_summed ? context_.host.disk().open(file_path())
                          : Result<std::unique_ptr<ByteSource>>(is_summed.error());
  if (!source) return refuse_data(source.error());
  if (*is_summed) return load();
  link_->pause_reading();
  state_ = LinkState::loading;
  context_.log.notice("The data of the primary has no checksum: all of it is read first");
  context_.loading.begin(std::make_unique<VerifyTask>(std::move(*source), context_.keyspace.count(),
                                                      rdb_checks(context_.config)),
                         context_.clock.now(), [this](const Status& ended) {
                           state_ = LinkState::transfer;
                           if (ended) return load();
                           refuse_data(ended.error());
                           if (link_ == nullptr) closed("it closed the connection meanwhile");
                         });
}

void PrimaryLink::load() {
  context_.log.notice("Loading {} bytes from the primary", transferred_);
  auto source = context_.host.disk().open(file_path());
  if (!source) {
    refuse_data(source.error());
    if (link_ == nullptr) closed("it closed the connection meanwhile");
    return;
  }
  if (const Status kept = keep_data(); !kept) {
    context_.log.warning(
        "The data of this server is newer than that of the primary, and cannot be kept aside: {}. "
        "It is not replaced",
        kept.error().message);
    disconnect("the data here is newer, and cannot be kept aside");
    if (link_ == nullptr) closed("it closed the connection meanwhile");
    return;
  }
  context_.replication.replicas().disconnect_all("the data of this server is replaced");
  context_.local_expiries.clear();
  clear_data(context_, context_.events);
  if (link_ != nullptr) link_->pause_reading();
  state_ = LinkState::loading;
  auto task = std::make_unique<RdbTask>(std::move(*source), context_.keyspace,
                                        RdbLoadOptions{.now = context_.clock.now(),
                                                       .keeps_due = true,
                                                       .checks = rdb_checks(context_.config),
                                                       .load_function = load_function(context_)});
  RdbTask* const running = task.get();
  context_.loading.begin(
      std::move(task), context_.clock.now(), [this, running](const Status& ended) {
        const auto& aux = running->report().aux;
        const auto found = aux.find("repl-stream-db");
        const std::int64_t database =
            found == aux.end() ? 0 : parse_integer(found->second).value_or(0);
        context_.stream.set_selected(
            static_cast<int>(std::clamp<std::int64_t>(database, 0, context_.keyspace.count() - 1)));
        warn_of_empty_keys(context_, running->report(), "the data of the primary");
        // A base has to be read again, when the rule may be another one.
        can_be_base_ = ended && running->report().skipped.empty() &&
                       context_.config.rdb_version_check == "strict";
        loaded(ended ? check_skipped(context_, running->report().skipped, "the data of the primary")
                     : ended);
      });
}

void PrimaryLink::loaded(const Status& status) {
  if (!status) {
    (void)context_.host.disk().remove(file_path());
    context_.log.warning("Cannot load the data of the primary: {}", status.error().message);
    clear_data(context_, context_.events);
    context_.stream.close();
    context_.aof.restart();
    state_ = LinkState::transfer;
    if (link_ == nullptr) return closed("it closed the connection meanwhile");
    return disconnect("its data cannot be loaded");
  }
  context_.stream.adopt(new_id_, new_offset_);
  if (context_.replication.last_role().has_led()) context_.replication.last_role().note();
  can_be_base_ ? context_.aof.restart_with(file_path()) : context_.aof.restart();
  (void)context_.host.disk().remove(file_path());  // unless it is the base now
  context_.log.notice("Full synchronisation with the primary is complete");
  if (link_ != nullptr) return begin_stream();
  state_ = LinkState::transfer;
  closed("it closed the connection while its data was loaded");
}

}  // namespace mayfly
