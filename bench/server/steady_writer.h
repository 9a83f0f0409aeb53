// SPDX-License-Identifier: Apache-2.0
// SteadyWriter: a client that writes at a fixed rate beside one that is measured, both in one
// thread.
//
//   SteadyWriter writer(client, {.value_bytes = 13});
//   writer.fill();
//   const bool sent = writer.send_due();    // now and then
//   ... ask and measure ...                 // what is asked now waits behind the SETs
//   if (sent) writer.take_replies();

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/resp_client.h"

namespace mayfly::bench {

struct WriteLoad {
  std::size_t keys = 100'000;  // that it writes again and again
  std::size_t value_bytes = 13;
  std::size_t batch = 32;  // SETs at once
  double per_second = 10'000;
};

class SteadyWriter {
 public:
  // `client` must outlive it, and have no other user meanwhile.
  SteadyWriter(RespClient& client, const WriteLoad& load);

  // Makes all keys exist, so that writing them again needs no more memory.
  void fill();

  // Sends a batch if it is time for one; tells whether it did. What could not be sent in time is
  // not made up for.
  bool send_due();

  // Waits for the replies to a batch.
  void take_replies();

  // Of the values that were written since fill().
  std::uint64_t written_bytes() const { return written_ * load_.value_bytes; }

 private:
  std::string key(std::uint64_t number) const;

  RespClient& client_;
  const WriteLoad load_;
  const std::int64_t interval_ns_;
  const std::string value_;
  std::int64_t due_ns_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace mayfly::bench
