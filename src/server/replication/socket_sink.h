// SPDX-License-Identifier: Apache-2.0
// SocketSink: connections as the target of what a child process writes.

#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"

namespace mayfly {

// The same bytes to several connections, by a child process that has nothing else to do. One that
// fails, or takes nothing for too long, is shut down and left out.
class SocketSink final : public ByteSink {
 public:
  SocketSink(std::vector<int> sockets, Millis timeout)
      : sockets_(std::move(sockets)), timeout_(timeout) {}

  // Fails when no connection is left.
  Status write(std::string_view bytes) override;

 private:
  bool write_to(int socket, std::string_view bytes) const;

  std::vector<int> sockets_;
  Millis timeout_;
};

}  // namespace mayfly
