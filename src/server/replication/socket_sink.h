// SPDX-License-Identifier: Apache-2.0
// SocketSink: the same bytes to several connections, by a child process that has nothing else to
// do. One that fails, or does not take anything for too long, is shut down and left out.

#pragma once

#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"

namespace mayfly {

class SocketSink final : public ByteSink {
 public:
  SocketSink(std::vector<int> sockets, Millis longest)
      : sockets_(std::move(sockets)), longest_(longest) {}

  // Fails when none is left.
  Status write(std::string_view bytes) override;

 private:
  bool write_to(int socket, std::string_view bytes) const;

  std::vector<int> sockets_;
  Millis longest_;
};

}  // namespace mayfly
