// SPDX-License-Identifier: Apache-2.0
// Client: the state of one connection, and the loop that takes requests off it.

#pragma once

#include <algorithm>
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
#include "server/blocking/blocked_clients.h"
#include "server/cluster/request_slot.h"
#include "server/monitoring/memory.h"
#include "server/replication/replica_state.h"
#include "server/tracking/client_tracking.h"

namespace mayfly {

class Requests;
struct Command;
struct CommandStats;

enum class ReplyMode { on, off, skip_next, skip };

// A request that waits for EXEC.
using Queued = std::vector<std::string>;

class Client final : public Peer {
 public:
  Client(Requests& requests, Link& link, std::uint64_t id, Time now,
         const RequestLimits& request_limits);
  ~Client() override;

  void received(InputBuffer& input) override;
  void drained() override;
  void closed(std::string_view why) override;

  // Takes it out of everything that refers to it: subscriptions, watches, the list of clients.
  void forget();

  std::uint64_t id() const { return id_; }
  Link& link() { return link_; }
  const Link& link() const { return link_; }

  int database() const { return database_; }
  void select(int database) { database_ = database; }
  int protocol() const { return protocol_; }
  void set_protocol(int protocol) { protocol_ = protocol; }
  RequestParser& parser() { return parser_; }
  void set_authenticated(bool is);
  bool is_authenticated() const { return is_authenticated_; }

  // Where replies go.
  std::string& output() { return link_.output(); }

  // Where messages go, which are not replies to requests. While a request of this client runs, they
  // wait until its reply is complete: a message in the middle of an array would break it.
  std::string& messages() { return is_running_ ? waiting_messages_ : link_.output(); }
  // Memory for the words of a request that is half read, and for messages that wait.
  std::size_t pending_memory() const {
    return parser_.memory() + allocated_for_text(waiting_messages_.capacity());
  }

  // What it has sent and we have not looked at.
  std::size_t unprocessed_bytes() const {
    const std::size_t size = link_.input().size();
    return size - (is_running_ ? std::min(parser_.consumed(), size) : 0);
  }
  bool begin_request() { return !std::exchange(is_running_, true); }  // whether it is the outermost
  void end_request();

  // To be called after writing to the output of another client: closes one that does not read.
  void check_output();

  // Closes when all output has been sent.
  void close_after_reply() { link_.close_after_flush(); }

  // Whether it follows us. REPLCONF is not enough: only PSYNC or SYNC makes a replica.
  bool is_attached_replica() const { return replica && replica->is_attached(); }
  bool is_subscriber() const { return subscriptions.any(); }
  // Whether its last request has no answer yet, and waits.
  bool is_blocked() const { return blocked && !blocked->is_answered; }

  // Back to the state of a new connection (RESET).
  void reset(bool is_authenticated);

  // What CLIENT LIST shows.
  struct Info {
    std::string name;
    std::string lib_name;
    std::string lib_version;
    Time created{};
    Time used{};                         // the last request
    const Command* last = nullptr;       // the last command
    CommandStats* last_stats = nullptr;  // and its statistics
    std::uint64_t bytes_in = 0;
    std::uint64_t commands = 0;
  };

  // What CLIENT and MONITOR set.
  struct Options {
    ReplyMode reply_mode = ReplyMode::on;
    bool is_monitor = false;
    bool no_evict = false;
    bool no_touch = false;
    bool is_import_source = false;  // in import mode, nothing is expired for it
    bool can_redirect = false;      // CLIENT CAPA redirect
    bool is_readonly = false;       // READONLY: a replica of a cluster answers reads
  };

  // MULTI, EXEC and WATCH.
  struct Transaction {
    bool is_open = false;
    bool is_broken = false;  // a request could not be queued: EXEC is refused
    std::vector<Queued> queue;
    std::size_t queued_bytes = 0;
    std::uint64_t queued_flags = 0;  // that any command in the queue has
    std::uint64_t queued_lacks = 0;  // that any command in the queue has not
    bool is_watch_broken = false;    // a watched key was changed: EXEC does nothing
    std::size_t watched_keys = 0;
    std::size_t watched_bytes = 0;  // of memory
    RequestSlot slot;               // of all its commands, in a cluster
    bool sees_all = false;          // likewise: one of them is about all keys

    void clear_queue();
  };

  // pubsub.h has the other direction, and the bytes of the names.
  struct Subscriptions {
    using Names = std::set<std::string_view>;
    Names channels;
    Names patterns;
    Names shard_channels;
    std::size_t bytes = 0;  // of memory

    bool any() const { return !channels.empty() || !patterns.empty() || !shard_channels.empty(); }
  };

  // Where its last write ends: in the replication log, and in the append-only file.
  struct Written {
    std::uint64_t log = 0;
    std::uint64_t aof = 0;
  };

  // Enforced by Clients.
  struct Limits {
    bool is_paused = false;               // a request of it waits for the end of a pause
    bool awaits_end = false;              // it has sent SHUTDOWN, which waits for replicas
    bool drops_output = false;            // it is closed for not reading: its output is dropped
    std::size_t counted_memory = 0;       // towards maxmemory-clients
    Time above_soft_limit = Time::min();  // since when its output is above the soft limit
    bool is_stranger = false;             // it has never logged in: login/strangers.h
    std::size_t stranger_memory = 0;      // counted while it is one
    bool is_leaving = false;              // it is closed to make room for another
    Time login_at = Time::min();          // its login waits until then: login/login_attempts.h
  };

  Info info;
  Options options;
  Transaction transaction;
  Subscriptions subscriptions;
  Written written;
  Limits limits;
  bool is_primary = false;                 // it sends the replication stream that we follow
  bool is_import = false;                  // it moves slots to this server (cluster/moves)
  bool can_wait = true;                    // not a client of the console
  bool is_replay = false;                  // it runs the commands of the append-only file
  std::uint64_t import_bytes = 0;          // of its requests, which have been run
  std::unique_ptr<ReplicaState> replica;   // if it follows us
  std::optional<Blocked> blocked;          // its last request waits; blocked_clients.h
  std::optional<ClientTracking> tracking;  // it caches replies; tracking.h
  std::size_t held_bytes = 0;              // of what HeldReplies knows of its replies
  std::size_t tracked_bytes = 0;  // of memory for keys it has read, also after CLIENT TRACKING OFF

 private:
  void want_more(InputBuffer& input);

  Requests& requests_;
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
