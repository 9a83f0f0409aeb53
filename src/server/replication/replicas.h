// SPDX-License-Identifier: Apache-2.0
// Replicas: the clients that follow this server. They get the data set once (full_sync.h), then the
// replication log.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "server/replication/full_sync.h"
#include "server/replication/replica_state.h"

namespace mayfly {

class Client;
class ClusterRole;
class Failover;

// Where a replica can be reached: as it announces itself, or the address it came from.
std::string replica_host(const Client& client);

class Replicas {
 public:
  Replicas(const StorageContext& context, const Failover& failover)
      : context_(context), failover_(failover), full_sync_(context, *this) {}

  // ---- For commands ----

  // PSYNC id offset: sends the log from there if it is kept, else all data.
  void synchronise(Client& client, std::string_view id, std::int64_t offset);
  void synchronise_fully(Client& client);  // also SYNC
  void acknowledged(Client& client, std::uint64_t offset, std::uint64_t aof_offset, Time now);

  // All that are attached, also those that get the data set now.
  const std::vector<Client*>& all() const { return all_; }
  std::size_t online() const;
  std::size_t good(
      Time now) const;  // online, with an acknowledgement within min-replicas-max-lag seconds
  std::size_t acked(std::uint64_t offset) const;
  std::size_t acked_aof(std::uint64_t offset) const;

  // Memory of their connections' outputs, beside the log.
  std::size_t output_bytes() const;

  // There is a log, but no replica yet: it is kept for them as long as if they had just gone.
  void expect(Time now) { alone_since_ = now; }

  // While the server ends, only writes are appended to the log, no pings: the saved offset is then
  // the replicas' offset.
  void set_ending(bool is_ending) { is_ending_ = is_ending; }

  void forget(Client& client);
  void disconnect_all(std::string_view why);

  // Puts more of the log, or of its file, into the client's output if there is room.
  void pump(Client& client);

  void ask_for_acks() { asks_for_acks_ = true; }  // at the end of this turn
  void before_sleep(Time now);

  // Whether the client is not Mayfly, and there is data that it would not understand. Then it is
  // told so and disconnected.
  bool refuse_foreign(Client& client);

  void set_cluster(ClusterRole* cluster) { cluster_ = cluster; }

  // It has the data set: the log follows.
  void enter_online(Client& client, Time now);

 private:
  void attach(Client& client);
  void find_foreign();
  bool is_beyond(const Client& client) const;
  void keep_alive(Time now);
  void drop_silent(Time now);
  void trim();

  const StorageContext context_;
  const Failover& failover_;
  FullSync full_sync_;
  std::vector<Client*> all_;
  bool asks_for_acks_ = false;
  bool is_ending_ = false;
  std::optional<Time> last_ping_;
  Time next_newline_ = Time::min();
  Time alone_since_ = Time::min();  // no replica since then
  ClusterRole* cluster_ = nullptr;
};

}  // namespace mayfly
