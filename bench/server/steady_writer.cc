// SPDX-License-Identifier: Apache-2.0
#include "bench/server/steady_writer.h"

#include <fmt/format.h>

#include "bench/report/must.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr std::uint64_t kStride = 7'919;  // a prime: the keys in no order

}  // namespace

SteadyWriter::SteadyWriter(RespClient& client, const WriteLoad& load)
    : client_(client),
      load_(load),
      interval_ns_(
          static_cast<std::int64_t>(static_cast<double>(load.batch) * 1e9 / load.per_second)),
      value_(load.value_bytes, 'x') {}

std::string SteadyWriter::key(std::uint64_t number) const {
  return fmt::format("steady:{:07}", number * kStride % load_.keys);
}

void SteadyWriter::fill() {
  RespPipeline pipeline(client_);
  for (std::size_t i = 0; i < load_.keys; ++i) pipeline.add("SET", key(i), value_);
  must(pipeline.finish());
}

bool SteadyWriter::send_due() {
  const std::int64_t now = monotonic_ns();
  if (now < due_ns_) return false;
  const bool is_late = now - due_ns_ >= interval_ns_;
  due_ns_ = (is_late ? now : due_ns_) + interval_ns_;
  for (std::size_t i = 0; i < load_.batch; ++i) client_.add("SET", key(written_++), value_);
  must(client_.send());
  return true;
}

void SteadyWriter::take_replies() {
  for (std::size_t i = 0; i < load_.batch; ++i) must(client_.read_good());
}

}  // namespace mayfly::bench
