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

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/report/must.h"
#include "mayfly/internal/stopwatch.h"
#include "tools/resp_client.h"

namespace mayfly::bench {

inline constexpr std::uint64_t kWriteStride = 7'919;  // a prime: the keys in no order

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

inline SteadyWriter::SteadyWriter(RespClient& client, const WriteLoad& load)
    : client_(client),
      load_(load),
      interval_ns_(
          static_cast<std::int64_t>(static_cast<double>(load.batch) * 1e9 / load.per_second)),
      value_(load.value_bytes, 'x') {}

inline std::string SteadyWriter::key(std::uint64_t number) const {
  return fmt::format("steady:{:07}", number * kWriteStride % load_.keys);
}

inline void SteadyWriter::fill() {
  RespPipeline pipeline(client_);
  for (std::size_t i = 0; i < load_.keys; ++i) pipeline.add("SET", key(i), value_);
  must(pipeline.finish());
}

inline bool SteadyWriter::send_due() {
  const std::int64_t now = monotonic_ns();
  if (now < due_ns_) return false;
  const bool is_late = now - due_ns_ >= interval_ns_;
  due_ns_ = (is_late ? now : due_ns_) + interval_ns_;
  for (std::size_t i = 0; i < load_.batch; ++i) client_.add("SET", key(written_++), value_);
  must(client_.send());
  return true;
}

inline void SteadyWriter::take_replies() {
  for (std::size_t i = 0; i < load_.batch; ++i) must(client_.read_good());
}

}  // namespace mayfly::bench
