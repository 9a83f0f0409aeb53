// SPDX-License-Identifier: Apache-2.0
// Saving for replicas.

#include "server/replication/full_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "persist/rdb/rdb_save.h"
#include "server/core/server.h"
#include "server/replication/replication.h"
#include "server/replication/socket_sink.h"

namespace mayfly {
namespace {

constexpr std::size_t kRoom = 1 << 20;     // of a connection's output
constexpr std::size_t kPiece = 64 * 1024;  // of a file

OnSaveProgress told_to(const OnChildProgress& progress) {
  return [&progress](const SaveProgress& at) { progress({at.keys, at.bytes, 0}); };
}

// Of the file that is sent.
std::string file_name(Server& server) {
  return fmt::format("sync-{}.rdb", server.surroundings().port());
}

std::string file_path(Server& server) {
  return fmt::format("{}/{}", server.config().dir, file_name(server));
}

// What announces the data, "$EOF:<mark>", the data, and the mark again.
Status stream_to(std::vector<int> sockets, const std::string& announcement, const std::string& mark,
                 Millis longest, Keyspace& keyspace, const SaveOptions& options,
                 const OnChildProgress& progress) {
  SocketSink sink(std::move(sockets), longest);
  const std::string head = fmt::format("{}$EOF:{}\r\n", announcement, mark);
  if (Status status = sink.write(head); !status) return status;
  const Result<SaveProgress> saved = save_rdb(keyspace, sink, options, told_to(progress));
  if (!saved) return saved.error();
  return sink.write(mark);
}

}  // namespace

void FullSync::add(Client& client, Time now) {
  client.replica->phase = ReplicaPhase::waiting;
  client.replica->since = now;
  // A file that is being written will do: what has happened since is in the log.
  if (server_.background().is_doing(Job::sync) && !is_diskless_) {
    announce(client);
    client.replica->phase = ReplicaPhase::saving;
  }
}

std::vector<Client*> FullSync::in_phase(ReplicaPhase phase) const {
  std::vector<Client*> clients;
  for (Client* const client : server_.replication().replicas().all()) {
    if (client->replica->phase == phase && !client->link().closing()) clients.push_back(client);
  }
  return clients;
}

void FullSync::before_sleep(Time now) {
  Background& background = server_.background();
  if (background.is_doing(Job::sync)) {
    const auto phase = is_diskless_ ? ReplicaPhase::streaming : ReplicaPhase::saving;
    if (in_phase(phase).empty()) background.stop();  // nobody wants it any more
    return;
  }
  if (background.is_busy()) return;
  std::vector<Client*> waiting = in_phase(ReplicaPhase::waiting);
  if (!waiting.empty() && is_time(waiting, now)) start(std::move(waiting), now);
}

// A child can serve many at once, so it is worth waiting a little for more of them; but a file can
// be shared later, too.
bool FullSync::is_time(const std::vector<Client*>& waiting, Time now) const {
  const Config& config = server_.config();
  if (!config.repl_diskless_sync) return true;
  if (config.repl_diskless_sync_max_replicas > 0 &&
      waiting.size() >= static_cast<std::size_t>(config.repl_diskless_sync_max_replicas)) {
    return true;
  }
  const auto delay = std::chrono::seconds(config.repl_diskless_sync_delay);
  return std::ranges::any_of(
      waiting, [&](const Client* client) { return is_due(client->replica->since + delay, now); });
}

// "+FULLRESYNC": whose history it is, and the number of the byte that follows the data.
std::string FullSync::announcement() const {
  return fmt::format("+FULLRESYNC {} {}\r\n", server_.replication().history().id, start_);
}

void FullSync::announce(Client& client) {
  client.replica->cursor = start_;
  if (!client.replica->is_old) client.output() += announcement();
}

// Whether a child can write to its socket: nothing of ours is still to be sent there, which would
// end up among the data.
bool FullSync::is_drained(Client& client) {
  client.link().flush();
  return client.link().pending() == 0 && !client.link().closing();
}

void FullSync::start(std::vector<Client*> waiting, Time now) {
  const Config& config = server_.config();
  Replication& replication = server_.replication();
  is_diskless_ = config.repl_diskless_sync && std::ranges::all_of(waiting, [](const Client* one) {
                   return one->replica->takes_eof && !one->replica->is_old;
                 });
  if (is_diskless_) {  // the others get theirs next
    std::erase_if(waiting, [](Client* one) { return !is_drained(*one); });
    if (waiting.empty()) return;
  }
  start_ = replication.log().end();
  ++done_;
  // Whoever begins here knows of no database yet. A replica's stream is not ours to change; there
  // the data tells (repl-stream-db).
  if (!server_.is_replica()) replication.replicas().select_anew();

  std::vector<int> sockets;
  for (Client* const client : waiting) {
    client->replica->phase = is_diskless_ ? ReplicaPhase::streaming : ReplicaPhase::saving;
    client->replica->since = now;
    if (!is_diskless_) {
      announce(*client);
      continue;
    }
    client->replica->cursor = start_;
    sockets.push_back(client->link().fd());  // from here on the child writes
  }
  const SaveOptions options = server_.persistence().save_options();
  Keyspace& keyspace = server_.keyspace();
  Status status = Done{};
  if (is_diskless_) {
    const std::string mark = random_id();
    const Millis longest = std::chrono::seconds(config.repl_timeout);
    status = server_.background().start(
        Job::sync, now,
        [=, head = announcement(), &keyspace](const OnChildProgress& progress) {
          return stream_to(sockets, head, mark, longest, keyspace, options, progress);
        },
        [this](const Status& ended, const ChildProgress&) { streamed(ended); }, sockets);
  } else {
    status = server_.background().start(
        Job::sync, now,
        [this, &keyspace, options](const OnChildProgress& progress) -> Status {
          const auto saved =
              save_rdb_file(server_.surroundings().disk(), server_.config().dir, file_name(server_),
                            "temp-" + file_name(server_), keyspace, options, told_to(progress));
          if (!saved) return saved.error();
          return Done{};
        },
        [this](const Status& ended, const ChildProgress&) { saved(ended); });
  }
  server_.log().write(Level::notice,
                      fmt::format("Full synchronisation of {} replicas begins at {}{}",
                                  waiting.size(), start_, is_diskless_ ? ", diskless" : ""));
  if (!status) fail(is_diskless_ ? ReplicaPhase::streaming : ReplicaPhase::saving, status.error());
}

void FullSync::fail(ReplicaPhase phase, const Error& error) {
  server_.log().write(Level::warning,
                      fmt::format("Full synchronisation failed: {}", error.message));
  for (Client* const client : in_phase(phase)) client->link().close_now("saving for it failed");
}

void FullSync::saved(const Status& status) {
  if (!status) return fail(ReplicaPhase::saving, status.error());
  const std::string path = file_path(server_);
  for (Client* const client : in_phase(ReplicaPhase::saving)) {
    auto file = server_.surroundings().disk().open(path);
    if (!file) return fail(ReplicaPhase::saving, file.error());
    client->output() += fmt::format("${}\r\n", (*file)->size());
    client->replica->file = std::move(*file);
    client->replica->phase = ReplicaPhase::sending;
  }
  // Those who read it go on doing so; the next one gets a new file.
  (void)server_.surroundings().disk().remove(path);
}

void FullSync::streamed(const Status& status) {
  if (!status) return fail(ReplicaPhase::streaming, status.error());
  for (Client* const client : in_phase(ReplicaPhase::streaming)) {
    client->replica->phase = ReplicaPhase::loading;
    client->replica->since = server_.wall().now();
    if (client->replica->has_loaded) {
      server_.replication().replicas().enter_online(*client, server_.wall().now());
    }
  }
}

bool FullSync::send_file(Client& client) {
  std::array<char, kPiece> piece;
  while (client.link().pending() < kRoom) {
    const Result<std::size_t> count = client.replica->file->read(piece);
    if (!count) {
      server_.log().write(Level::warning, count.error().message);
      client.link().close_now("the file for it cannot be read");
      return false;
    }
    if (*count == 0) return true;
    client.output().append(piece.data(), *count);
  }
  return false;
}

}  // namespace mayfly
