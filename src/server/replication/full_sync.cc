// SPDX-License-Identifier: Apache-2.0
// Saving the data set for replicas, and sending it.

#include "server/replication/full_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "persist/rdb/rdb_save.h"
#include "server/core/client.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/replication/replicas.h"
#include "server/replication/replication_stream.h"
#include "server/replication/socket_sink.h"

namespace mayfly {
namespace {

constexpr std::size_t kOutputRoom = 1 << 20;    // of a connection
constexpr std::size_t kPieceBytes = 64 * 1024;  // of a file

OnSaveProgress report_to(const OnChildProgress& progress) {
  return [&progress](const SaveProgress& at) { progress({at.keys, at.bytes, 0}); };
}

// "$EOF:<mark>", the data, and the mark again.
Status stream_to(SocketSink sink, Keyspace& keyspace, const SaveOptions& options,
                 const OnChildProgress& progress) {
  const std::string mark = random_id();
  const std::string head = fmt::format("$EOF:{}\r\n", mark);
  if (Status status = sink.write(head); !status) return status;
  const Result<SaveProgress> saved = save_rdb(keyspace, sink, options, report_to(progress));
  if (!saved) return saved.error();
  return sink.write(mark);
}

}  // namespace

std::string FullSync::file_name() const { return fmt::format("sync-{}.rdb", context_.host.port()); }

void FullSync::add(Client& client, Time now) {
  client.replica->phase = ReplicaPhase::waiting;
  client.replica->since = now;
  // A file that is being written will do: later writes are in the log.
  if (context_.background.is_doing(Job::sync) && !is_diskless_ &&
      client.replica->filter == filter_) {
    announce(client);
    client.replica->phase = ReplicaPhase::saving;
  }
}

std::vector<Client*> FullSync::in_phase(ReplicaPhase phase) const {
  std::vector<Client*> clients;
  for (Client* const client : replicas_.all()) {
    if (client->replica->phase == phase && !client->link().closing()) clients.push_back(client);
  }
  return clients;
}

void FullSync::before_sleep(Time now) {
  Background& background = context_.background;
  if (background.is_doing(Job::sync)) {
    const auto phase = is_diskless_ ? ReplicaPhase::streaming : ReplicaPhase::saving;
    if (in_phase(phase).empty()) background.stop();  // no replica waits for it any more
    return;
  }
  if (background.is_busy()) return;
  std::vector<Client*> waiting = in_phase(ReplicaPhase::waiting);
  if (!waiting.empty() && is_time(waiting, now)) start(std::move(waiting), now);
}

// A child can serve many replicas at once, so it is worth waiting a little for more of them. A file
// can be shared later, too.
bool FullSync::is_time(const std::vector<Client*>& waiting, Time now) const {
  const Config& config = context_.config;
  if (!config.repl_diskless_sync) return true;
  if (config.repl_diskless_sync_max_replicas > 0 &&
      waiting.size() >= static_cast<std::size_t>(config.repl_diskless_sync_max_replicas)) {
    return true;
  }
  const auto delay = std::chrono::seconds(config.repl_diskless_sync_delay);
  return std::ranges::any_of(
      waiting, [&](const Client* client) { return is_due(client->replica->since + delay, now); });
}

// "+FULLRESYNC": the replication id, and the offset of the byte that follows the data.
std::string FullSync::announcement() const {
  return fmt::format("+FULLRESYNC {} {}\r\n", context_.stream.ids().id, start_);
}

// Now, not when the turn ends: starting a child takes milliseconds if there is much memory.
void FullSync::announce(Client& client) {
  client.replica->cursor = start_;
  if (client.replica->is_old) return;
  client.output() += announcement();
  client.link().flush();
}

// Whether a child can write to its socket: no output of ours is left, which would end up among the
// data.
bool FullSync::is_drained(Client& client) {
  client.link().flush();
  return client.link().pending() == 0 && !client.link().closing();
}

void FullSync::start(std::vector<Client*> waiting, Time now) {
  std::erase_if(waiting, [&](Client* one) { return replicas_.refuse_foreign(*one); });
  if (waiting.empty()) return;
  filter_ = waiting.front()->replica->filter;
  std::erase_if(waiting, [this](const Client* one) { return one->replica->filter != filter_; });
  is_diskless_ =
      context_.config.repl_diskless_sync && std::ranges::all_of(waiting, [](const Client* one) {
        return one->replica->takes_eof && !one->replica->is_old;
      });
  if (is_diskless_) {  // the others get theirs next
    std::erase_if(waiting, [](Client* one) { return !is_drained(*one); });
    if (waiting.empty()) return;
  }
  start_ = context_.stream.log().end();
  // A replica that begins here has no database selected. The stream of a replica is not ours to
  // change; there the data says which one it is (repl-stream-db).
  if (!context_.stream.is_replica()) context_.stream.set_selected(-1);

  const auto phase = is_diskless_ ? ReplicaPhase::streaming : ReplicaPhase::saving;
  std::vector<int> sockets;
  for (Client* const client : waiting) {
    client->replica->phase = phase;
    client->replica->since = now;
    announce(*client);
    if (!is_diskless_ || client->link().closing()) continue;
    if (client->link().pending() > 0) {  // there was room for it when it was drained
      client->link().close_now("it does not take what is announced");
    } else {
      sockets.push_back(client->link().fd());  // from here on the child writes
    }
  }
  if (is_diskless_ && sockets.empty()) return;
  const Status started = start_child(sockets, now);
  context_.log.notice("Full synchronisation of {} replicas begins at offset {}{}", waiting.size(),
                      start_, is_diskless_ ? ", diskless" : "");
  if (!started) fail(phase, started.error());
}

// A part of the data is no state of the stream: who loads it must not go on with that.
SaveOptions FullSync::options() const {
  SaveOptions options = save_options(context_);
  options.is_durable = false;
  if (filter_ == RdbFilter::all) return options;
  options.has_keys = false;
  if (filter_ == RdbFilter::nothing) options.libraries.clear();
  std::erase_if(options.aux, [](const auto& field) {
    return field.first.starts_with("repl-") || field.first == "cluster-epoch";
  });
  return options;
}

Status FullSync::start_child(const std::vector<int>& sockets, Time now) {
  const SaveOptions options = this->options();
  Keyspace& keyspace = context_.keyspace;
  if (is_diskless_) {
    const Millis timeout = std::chrono::seconds(context_.config.repl_timeout);
    return context_.background.start(
        Job::sync, now,
        [=, &keyspace](const OnChildProgress& progress) {
          return stream_to(SocketSink(sockets, timeout), keyspace, options, progress);
        },
        [this, replicas = sockets.size()](const Status& ended, const ChildProgress& progress) {
          const std::uint64_t bytes = progress.bytes * replicas;
          context_.stats.bytes_out += bytes;
          context_.stats.replication_bytes_out += bytes;
          streamed(ended);
        },
        sockets);
  }
  return context_.background.start(
      Job::sync, now,
      [this, &keyspace, options](const OnChildProgress& progress) -> Status {
        const auto saved =
            save_rdb_file(context_.host.disk(), context_.config.dir, file_name(),
                          "temp-" + file_name(), keyspace, options, report_to(progress));
        if (!saved) return saved.error();
        return Done{};
      },
      [this](const Status& ended, const ChildProgress&) { saved(ended); });
}

void FullSync::fail(ReplicaPhase phase, const Error& error) {
  context_.log.warning("Full synchronisation failed: {}", error.message);
  for (Client* const client : in_phase(phase)) client->link().close_now("full sync failed");
}

void FullSync::saved(const Status& status) {
  const std::string path = context_.config.dir + "/" + file_name();
  if (!status) {  // a child that was stopped leaves a file with all data
    (void)context_.host.disk().remove(path);
    (void)context_.host.disk().remove(context_.config.dir + "/temp-" + file_name());
    return fail(ReplicaPhase::saving, status.error());
  }
  for (Client* const client : in_phase(ReplicaPhase::saving)) {
    auto file = context_.host.disk().open(path);
    if (!file) return fail(ReplicaPhase::saving, file.error());
    client->output() += fmt::format("${}\r\n", (*file)->size());
    client->replica->file = std::move(*file);
    client->replica->phase = ReplicaPhase::sending;
  }
  // Replicas that read it go on doing so; the next one gets a new file.
  (void)context_.host.disk().remove(path);
}

void FullSync::streamed(const Status& status) {
  if (!status) return fail(ReplicaPhase::streaming, status.error());
  const Time now = context_.clock.now();
  for (Client* const client : in_phase(ReplicaPhase::streaming)) {
    client->replica->phase = ReplicaPhase::loading;
    client->replica->since = now;
    if (client->replica->has_loaded || client->replica->ends_with_file())
      replicas_.enter_online(*client, now);
  }
}

bool FullSync::send_file(Client& client) {
  std::array<char, kPieceBytes> piece;
  while (client.link().pending() < kOutputRoom) {
    const Result<std::size_t> count = client.replica->file->read(piece);
    if (!count) {
      context_.log.warning("Cannot read the file for a replica: {}", count.error().message);
      client.link().close_now("the file for it cannot be read");
      return false;
    }
    if (*count == 0) return true;
    client.output().append(piece.data(), *count);
  }
  return false;
}

}  // namespace mayfly
