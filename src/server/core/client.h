// SPDX-License-Identifier: Apache-2.0
// Client: what a server knows of one connection, and the loop that takes requests off it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/time.h"
#include "net/transport.h"
#include "resp/reply.h"
#include "resp/request.h"
#include "server/replication/replica_state.h"
#include "server/replication/waiters.h"

namespace mayfly {

class Server;
struct Command;
struct CommandStats;

enum class ReplyMode { on, off, skip_next, skip };

// A request that waits for EXEC.
using Queued = std::vector<std::string>;

class Client final : public Peer {
 public:
  Client(Server& server, Link& link, std::uint64_t id, Time now);
  ~Client() override;

  void received(InputBuffer& input) override;
  void drained() override;
  void closed(std::string_view why) override;

  std::uint64_t id() const { return id_; }
  Link& link() { return link_; }
  const Link& link() const { return link_; }
  Server& server() { return server_; }

  int database() const { return database_; }
  void select(int database) { database_ = database; }
  int protocol() const { return protocol_; }
  void set_protocol(int protocol) { protocol_ = protocol; }
  RequestParser& parser() { return parser_; }
  void set_authenticated(bool is);
  bool is_authenticated() const { return is_authenticated_; }

  // Where replies go.
  std::string& output() { return link_.output(); }

  // Where messages go that are no reply to a request. While a request of this client runs, they
  // wait until its reply is complete: a message in the middle of an array would break it.
  std::string& messages() { return is_running_ ? waiting_messages_ : link_.output(); }
  bool begin_request() { return !std::exchange(is_running_, true); }  // whether it is the outermost
  void end_request();

  // Closes when all that was said has been sent.
  void close_after_reply() { link_.close_after_flush(); }

  // Whether it follows us. Saying REPLCONF is not enough: only PSYNC or SYNC makes a replica.
  bool is_attached_replica() const { return replica && replica->is_attached(); }

  bool is_subscriber() const {
    return !channels.empty() || !patterns.empty() || !shard_channels.empty();
  }

  // Back to what it was when it connected, but for the connection itself (RESET).
  void reset();

  // ---- As CLIENT LIST shows it ----

  std::string name;
  std::string lib_name;
  std::string lib_version;
  Time created{};
  Time used{};                         // the last request
  const Command* last = nullptr;       // the last command
  CommandStats* last_stats = nullptr;  // and its statistics
  std::size_t queued_bytes = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t commands = 0;

  // ---- State of its requests ----

  ReplyMode reply_mode = ReplyMode::on;
  bool is_monitor = false;
  bool no_evict = false;
  bool no_touch = false;
  bool is_import_source = false;  // in import mode, nothing is expired for it
  bool is_paused = false;         // a request of it waits for the end of a pause
  bool drops_output = false;  // it is closed for not reading: nobody will get what is said to it
  bool can_redirect = false;  // CLIENT CAPA redirect

  // Between MULTI and EXEC.
  bool is_in_multi = false;
  bool is_multi_broken = false;  // a request could not be queued: EXEC is refused
  std::vector<Queued> queue;
  std::uint32_t queued_flags = 0;  // that any command in the queue has
  std::uint32_t queued_lacks = 0;  // that any command in the queue has not
  void clear_queue();

  // WATCH.
  bool is_watch_broken = false;  // a watched key was changed: EXEC does nothing

  // Subscriptions; pubsub.h has the other direction.
  std::set<std::string, std::less<>> channels;
  std::set<std::string, std::less<>> patterns;
  std::set<std::string, std::less<>> shard_channels;

  // ---- Replication ----

  bool is_primary = false;                // what it sends is the stream that we follow
  std::unique_ptr<ReplicaState> replica;  // if it follows us
  std::optional<Wait> wait;               // it reads no more until this is met
  std::uint64_t written_to = 0;           // where its last write ends: in the log,
  std::uint64_t written_to_aof = 0;       // and in the append-only file

  // What it is counted with towards maxmemory-clients.
  std::size_t counted_memory = 0;

  // Since when its output is above the soft limit.
  Time above_soft_limit_since = Time::min();

 private:
  Server& server_;
  Link& link_;
  const std::uint64_t id_;
  int database_ = 0;
  int protocol_ = 2;
  bool is_authenticated_ = false;
  bool is_running_ = false;
  std::string waiting_messages_;
  RequestParser parser_;
};

}  // namespace mayfly
