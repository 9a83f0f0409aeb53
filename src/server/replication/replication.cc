// SPDX-License-Identifier: Apache-2.0
// Histories, and changing one's part.

#include "server/replication/replication.h"

#include <fmt/format.h>

#include <random>

#include "server/core/server.h"
#include "server/replication/primary_link.h"

namespace mayfly {

std::string random_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 40) id += fmt::format("{:08x}", device());
  return id;
}

Replication::Replication(Server& server)
    : server_(server),
      replicas_(server),
      waiters_(server),
      failover_(server),
      local_expiries_(server) {
  history_.id = random_id();
}

Replication::~Replication() = default;

void Replication::open_log() {
  if (has_log_) return;
  has_log_ = true;
  log_.restart(log_.end());
  replicas_.select_anew();
  server_.propagation().add_sink(replicas_);
}

void Replication::close_log() {
  if (!has_log_) return;
  has_log_ = false;
  log_.restart(log_.end());
  server_.propagation().remove_sink(replicas_);
  history_ = {random_id(), {}, 0};
}

void Replication::follow(const std::string& host, int port) {
  const std::uint64_t number = primary_ ? primary_->number() + 1 : 1;
  const bool takes_over = failover_.state() == Failover::State::in_progress;
  const int database = primary_ ? primary_->database() : std::max(replicas_.selected(), 0);
  primary_ = nullptr;  // the old one first: it closes its connection
  primary_ = std::make_unique<PrimaryLink>(server_, host, port, number, takes_over);
  primary_->set_database(database);
  server_.config().replicaof_host = host;
  server_.config().replicaof_port = port;
  waiters_.check(server_.wall().now(), true);
  // They learn that the history may change its name; most can go on. The one that is to take over
  // keeps its link until it has: without one it might not even answer a PING.
  if (!takes_over) replicas_.disconnect_all("its primary follows another one");
  server_.log().write(Level::notice, fmt::format("Following {}:{} from now on", host, port));
}

void Replication::follow_nobody() {
  if (!is_replica()) return;
  primary_ = nullptr;
  server_.config().replicaof_host.clear();
  server_.config().replicaof_port = 0;
  begin_history();
  local_expiries_.clear();
  open_log();
  replicas_.select_anew();
  replicas_.disconnect_all("the replica it follows is a primary now");
  server_.log().write(Level::notice, fmt::format("A primary from now on; the history {} ends at {}",
                                                 history_.former, history_.former_end));
}

// What is ours and our old primary's ends here.
void Replication::begin_history() { history_ = {random_id(), history_.id, log_.end()}; }

std::string Replication::why_no_writes(Time now) const {
  const Config& config = server_.config();
  if (is_replica()) {
    return config.replica_read_only ? "READONLY You can't write against a read only replica." : "";
  }
  if (config.min_replicas_to_write > 0 && config.min_replicas_max_lag > 0 &&
      replicas_.good(now) < static_cast<std::size_t>(config.min_replicas_to_write)) {
    return "NOREPLICAS Not enough good replicas to write.";
  }
  return {};
}

void Replication::adopt(const std::string& id, std::uint64_t next) {
  history_ = {id, {}, 0};
  has_log_ = true;
  log_.restart(next);
  server_.propagation().add_sink(replicas_);
}

void Replication::rename_history(const std::string& id) {
  if (id == history_.id) return;
  history_ = {id, history_.id, log_.end()};
  replicas_.disconnect_all("the history has a new name");
}

void Replication::applied(std::string_view bytes) { log_.append(bytes); }

RdbAux Replication::aux() const {
  if (!has_log_) return {};
  const int database = primary_ ? primary_->database() : replicas_.selected();
  return {{"repl-stream-db", std::to_string(std::max(database, 0))},
          {"repl-id", history_.id},
          {"repl-offset", std::to_string(log_.end())}};
}

void Replication::restore(const std::string& id, std::uint64_t offset, int database) {
  // A primary has left out what was due when it loaded, and nobody has told its replicas: they get
  // everything anew.
  if (!is_replica()) return;
  adopt(id, offset);
  primary_->set_database(database);
}

void Replication::before_sleep(Time now) {
  if (primary_) primary_->before_sleep(now);
  failover_.before_sleep(now);
  replicas_.before_sleep(now);
  if (is_replica() && !server_.is_paused()) local_expiries_.sweep(now);
}

}  // namespace mayfly
