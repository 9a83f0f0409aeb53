// SPDX-License-Identifier: Apache-2.0
// Requests: the way of a request, from its words to what follows from its reply.
//
//   Client::received -> handle -> check_allowed -> run (the clock is read, the handler is called,
//   and the result is counted, logged and propagated)
//
// A request runs, is queued until EXEC, waits for the end of a pause, is refused, or waits for
// something else (server/blocking) and runs again later. EXEC needs what any of the commands in its
// queue needs.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "server/cluster/replies/held_replies.h"
#include "server/core/clients.h"
#include "server/core/log.h"
#include "server/core/server_call.h"
#include "server/monitoring/log/crash_report.h"

namespace mayfly {

struct ScriptRun;

// To what needs fresh data, while a replica has no primary.
inline constexpr char kStaleReply[] =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";

class Requests {
 public:
  // The parts are handed on to the handlers.
  Requests(const ServerParts& parts, Host& events, const Pauses& pauses)
      : parts_(parts),
        events_(events),
        pauses_(pauses),
        config_(parts.config),
        keyspace_(parts.keyspace),
        stats_(parts.stats),
        clients_(parts.clients) {}

  // ---- For clients ----

  // Around the requests that came together.
  void begin_batch() { batch_ns_ = 0; }
  void end_batch(Client& client, std::size_t taken, std::size_t waiting);

  // Fetches the data of the next requests in these bytes into the processor's cache, if there is
  // much data. Returns for how many requests it need not be called again.
  std::size_t look_ahead(const Client& client, std::string_view bytes) const;

  // Whether that is worth the time: asked for now and then.
  void set_looks_ahead(bool looks) { looks_ahead_ = looks; }

  // Answers one request. False if it must wait (CLIENT PAUSE): the client keeps it.
  bool handle(Client& client, Words words);
  void refuse_protocol(Client& client, std::string_view error);  // and closes
  void check_output(Client& client) { clients_.check_output(client); }
  void applied(std::string_view bytes);  // of the stream of our primary
  void feed_replica(Client& client);     // its output has been sent
  void closed(Client& client);
  void forget(Client& client);

  // ---- For handlers ----

  // Runs a request without checking it, for EXEC.
  void run(Client& client, const Command& command, Words words);

  // Runs a request that has waited again, or refuses it.
  void run_again(Client& client, const Command& command, Words words);

  // Answers a request that has waited without running it again.
  void answer(Client& client, const std::function<void(Reply&)>& write);

  // For a crash report.
  const RunningRequest& running() const { return running_; }

  // Ends what MULTI began: for EXEC and DISCARD.
  void leave_multi(Client& client);

  // Runs the queue of a transaction, and propagates it as one.
  void run_queue(Client& client, const std::vector<Queued>& queue);
  bool is_in_transaction() const { return is_in_transaction_; }

  // ---- For scripts (scripting/script_calls.cc) ----

  // Around a script: time stands still, and its writes are propagated as one. Returns whether it is
  // not part of a transaction, which is such a unit itself.
  bool begin_unit();
  void end_unit(Client& client, bool is_outermost, bool has_written);

  // Whether a unit is open that has changed data already.
  bool has_open_changes() const;

  // The server ends: nothing of the open unit is propagated, its client gets no reply, and no other
  // request is answered, which could see a part of it.
  void abandon_unit() { is_unit_abandoned_ = true; }
  bool is_unit_abandoned() const { return is_unit_abandoned_; }

  // Whether a script may run the command now.
  Status check_for_script(const ScriptRun& run, const Command& command, Words words);

  // Shows MONITOR a script before the commands that it calls.
  void show_script(const Client& client, Words words);

  // Runs a command of a script. `client` is the script's own.
  void run_for_script(ScriptRun& run, Client& client, const Command& command, Words words,
                      Reply& reply);

  // The error that the script returns next was counted with the command that made it.
  void skip_error_count() { skips_error_count_ = true; }

  // Serves other clients while a script of this one takes long.
  void serve_others(Client& busy);

 private:
  static bool close_at_end(Client& client);
  Status check_script_command(const ScriptRun& run, const Command& command, Words words) const;

  // check_allowed.cc. The message of the error is the reply. `flags` are those of the command, or
  // of the script that it runs.
  Status check_allowed(Client& client, const Command& command, std::uint64_t flags);
  void prepare_keys(const Client& client, const Command& command, Words words);
  Status check_from_source(const Client& client, const Command& command, std::uint64_t flags);
  bool is_answered_at_once(const Client& client, const Command& command, Words words);
  Time read_clock();
  Status check_cluster(Client& client, const Command& command, std::uint64_t flags, Words words);
  std::optional<HeldReplies::Seen> begin_held(Client& client, const Command& command, Words words,
                                              bool is_outermost);
  Status check_redirect(const Client& client, const Command& command, std::uint64_t flags) const;
  bool make_room(bool takes_memory);
  Status check_from_primary(const Command& command) const;
  Status check_writable(const Client& client, const Command& command, std::uint64_t flags) const;
  Status check_data_ready(const Client& client, const Command& command, std::uint64_t flags) const;
  bool must_wait(const Client& client, const Command& command, std::uint64_t flags) const;
  std::uint64_t flags_of(const Command& command, Words words) const;

  // A request of an attached replica. False: it may run.
  bool handle_of_replica(Client& client, Words words);
  void refuse_unknown(Client& client, const Command* found, const Command* command, Words words);
  void refuse(Client& client, const Command* command, Words words, std::string_view error);
  void queue(Client& client, std::uint64_t flags, Words words);
  void serve_waiters();
  void set_last_command(Client& client, const Command& command);
  void finish(Client& client, const Command& command, Words words, const Call& call,
              std::size_t start, std::int64_t micros);
  void log_call(const Client& client, const Command& command, Words words, std::size_t reply_bytes,
                std::int64_t micros);
  void count_call(Client& client, Words words, std::size_t start, std::int64_t micros);
  void finish_output(Client& client, std::size_t start, bool is_outermost);
  void propagate(Client& client, const Command& command, Words words, const Call& call,
                 bool has_logged);
  void set_written(Client& client);
  // `is_own`: not of a script, which can make up codes.
  void count_error(std::string_view error, bool is_own = true);
  void record_peer_error(const Client& client, Words words, std::string_view error);
  void feed_monitors(const Client& client, Words words);

  const ServerParts& parts_;
  Host& events_;
  const Pauses& pauses_;
  const Config& config_;
  Keyspace& keyspace_;
  Stats& stats_;
  Clients& clients_;
  RunningRequest running_;
  bool is_in_transaction_ = false;
  bool is_unit_abandoned_ = false;
  std::uint64_t changes_before_unit_ = 0;
  bool skips_error_count_ = false;
  bool looks_ahead_ = false;
  bool has_read_clock_ = false;  // for the request that runs next
  std::int64_t batch_ns_ = 0;    // when the last request of this batch ended; 0: it is the first
  PeerErrors peer_errors_;
};

}  // namespace mayfly
