// SPDX-License-Identifier: Apache-2.0
// BlockingStream: a connection to another server that the calling thread waits for, for as long as
// it allows. For short dialogues that must end before anything else happens, as in MIGRATE.
//
//   auto stream = connect_blocking("10.0.0.7", 6379, Millis(500));
//   if (!stream) return stream.error();
//   Status status = (*stream)->write("PING\r\n", Millis(500));
//   Result<std::string> line = (*stream)->read_line(Millis(500));                  // "+PONG"
//
// Errors: Code::busy if the time is over, Code::io if the connection is broken. After either the
// stream is of no use.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

class BlockingStream {
 public:
  virtual ~BlockingStream() = default;

  // Returns when the kernel has taken all bytes. `longest` is for each 64 KiB of them.
  virtual Status write(std::string_view bytes, Millis longest) = 0;

  // The next line, without "\r\n". An error if it is longer than 64 KiB.
  virtual Result<std::string> read_line(Millis longest) = 0;
};

// To a host, by name or address. A name is looked up first, which the system limits in time.
Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string& host, int port,
                                                         Millis longest);

}  // namespace mayfly
