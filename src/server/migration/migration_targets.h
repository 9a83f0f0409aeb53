// SPDX-License-Identifier: Apache-2.0
// MigrationTargets: connections to the servers that MIGRATE sends keys to. They are kept for some
// seconds, since keys are often moved one by one.
//
// A connection that has said AUTH is not kept: the next MIGRATE may come from a client that does
// not know the password.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "net/blocking_stream.h"
#include "server/core/server_host.h"

namespace mayfly {

class MigrationTargets {
 public:
  struct Target {
    std::unique_ptr<BlockingStream> stream;
    std::int64_t database = -1;  // that is selected there; -1: unknown
    bool was_kept = false;       // by an earlier MIGRATE: the other server may have closed it
  };

  explicit MigrationTargets(ServerHost& host) : host_(host) {}

  // A kept connection, or a new one. It belongs to the caller until keep().
  Result<Target> take(const std::string& host, int port, Millis longest);

  // Keeps a connection that has no reply waiting.
  void keep(const std::string& host, int port, Target target, Time now);

  // Closes those that were not used for ten seconds.
  void close_idle(Time now);

  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    Target target;
    Time used{};
  };

  ServerHost& host_;
  std::map<std::pair<std::string, int>, Kept> kept_;
};

}  // namespace mayfly
