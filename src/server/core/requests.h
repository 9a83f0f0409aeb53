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
#include <string_view>

#include "server/core/clients.h"
#include "server/core/log.h"
#include "server/core/server_call.h"

namespace mayfly {

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

  // Ends what MULTI began: for EXEC and DISCARD.
  void leave_multi(Client& client);

  // Runs the queue of a transaction, and propagates it as one.
  void run_queue(Client& client, const std::vector<Queued>& queue);
  bool is_in_transaction() const { return is_in_transaction_; }

 private:
  // check_allowed.cc. The message of the error is the reply.
  Status check_allowed(Client& client, const Command& command);
  Status check_from_primary(const Command& command) const;
  Status check_writable(const Client& client, const Command& command) const;
  Status check_data_ready(const Client& client, const Command& command) const;
  bool must_wait(const Client& client, const Command& command) const;

  void refuse_unknown(Client& client, const Command* found, const Command* command, Words words);
  void refuse(Client& client, const Command* command, Words words, std::string_view error);
  void queue(Client& client, const Command& command, Words words);
  void set_last_command(Client& client, const Command& command);
  void finish(Client& client, const Command& command, Words words, const Call& call,
              std::size_t start, std::int64_t micros);
  void count_call(Client& client, Words words, std::size_t start, std::int64_t micros);
  void finish_output(Client& client, std::size_t start, bool is_outermost);
  void propagate(Client& client, const Command& command, Words words, const Call& call);
  void set_written(Client& client);
  void count_error(std::string_view error);
  void record_peer_error(const Client& client, Words words, std::string_view error);
  void feed_monitors(const Client& client, Words words);

  const ServerParts& parts_;
  Host& events_;
  const Pauses& pauses_;
  const Config& config_;
  Keyspace& keyspace_;
  Stats& stats_;
  Clients& clients_;
  bool is_in_transaction_ = false;
  bool looks_ahead_ = false;
  std::int64_t batch_ns_ = 0;  // when the last request of this batch ended; 0: there was none
  PeerErrors peer_errors_;
};

}  // namespace mayfly
