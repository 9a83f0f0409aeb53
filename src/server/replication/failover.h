// SPDX-License-Identifier: Apache-2.0
// Failover: handing over to a replica without losing a write. Writes pause, the replica catches up,
// then we follow it, and ask it to take over in the same breath.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

class Client;
class Server;

struct FailoverPlan {
  std::string host;  // empty: whichever replica catches up first
  std::int64_t port = 0;
  bool is_forced = false;  // at the timeout, even if the replica lags
  Time until = kNever;
};

class Failover {
 public:
  enum class State { none, waiting_for_sync, in_progress };

  explicit Failover(Server& server) : server_(server) {}

  // An error ("ERR ...") or empty.
  std::string begin(const FailoverPlan& plan);
  std::string abort();

  State state() const { return state_; }
  std::string_view state_text() const;

  // What the link to the new primary has become. The link calls this itself, so that being refused,
  // which is its end, takes effect when the turn ends.
  void accepted();
  void refused(std::string_view why) { refusal_ = why; }

  void before_sleep(Time now);

 private:
  Client* find_target() const;
  void hand_over(Client& target);
  void take_back();
  void end(std::string_view why);

  Server& server_;
  State state_ = State::none;
  FailoverPlan plan_;
  std::optional<std::string> refusal_;
};

}  // namespace mayfly
