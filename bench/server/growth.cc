// SPDX-License-Identifier: Apache-2.0
// Does the server pause while a database grows, or when it is asked for the length of a hash of
// which half is due? All clients are one thread, as in stall.cc.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/report/option_values.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kGrowthBatch = 32;        // SETs in a round
constexpr std::uint64_t kGrowthStride = 7'919;  // a prime: old keys in no order
constexpr std::size_t kHlenWritten = 100;       // fields of one command

// One client writes keys, another one sends PINGs.
class Grower {
 public:
  Grower(RespClient& writer, RespClient& other) : writer_(writer), other_(other) {}

  // Writes the keys from `first` on, `stride` apart, below `end`. The time that it took until both
  // had their replies: whatever makes the server pause is in one of these rounds.
  std::int64_t round(std::uint64_t first, std::uint64_t stride, std::uint64_t end) {
    for (std::size_t i = 0; i < kGrowthBatch; ++i) {
      writer_.add("SET", fmt::format("key:{:010}", (first + i * stride) % end), "value:0000000");
    }
    other_.add("PING");
    const std::int64_t start = monotonic_ns();
    must(writer_.send());
    must(other_.send());
    must(other_.read_good());
    for (std::size_t i = 0; i < kGrowthBatch; ++i) must(writer_.read_good());
    return monotonic_ns() - start;
  }

 private:
  RespClient& writer_;
  RespClient& other_;
};

// The even fields are due at `deadline`, the odd ones never.
void fill_half(RespClient& client, std::size_t fields, Time deadline) {
  RespPipeline pipeline(client, 64);
  const std::string at = unix_ms(deadline);
  std::vector<std::string> names(kHlenWritten);
  for (std::size_t i = 0; i < fields; i += kHlenWritten) {
    std::vector<std::string_view> mortal;
    std::vector<std::string_view> immortal = {"HSET", "hash"};
    const std::size_t count = std::min(kHlenWritten, fields - i);
    const std::string number = std::to_string((count + 1) / 2);
    mortal = {"HSETEX", "hash", "PXAT", at, "FIELDS", number};
    for (std::size_t j = 0; j < count; ++j) {
      names[j] = fmt::format("field:{:07}", i + j);
      std::vector<std::string_view>& words = j % 2 == 0 ? mortal : immortal;
      words.insert(words.end(), {names[j], "value:0000000"});
    }
    pipeline.add(Words(mortal));
    if (count > 1) pipeline.add(Words(immortal));
  }
  must(pipeline.finish());
}

Metrics ask_length(RespClient& client, const ServerPlan& plan) {
  const auto alive = static_cast<std::int64_t>(plan.hlen_fields / 2);
  double first = 0;
  double longest = 0;
  double sum = 0;
  for (int i = 0; i < plan.hlen_calls; ++i) {
    const std::int64_t start = monotonic_ns();
    const ReplyValue reply = must(client.call("HLEN", "hash"));
    const double time_us = static_cast<double>(monotonic_ns() - start) / 1e3;
    if (reply.integer != alive) {
      throw Failure(fmt::format("HLEN says {} where {} fields are alive", reply.integer, alive));
    }
    if (i == 0) first = time_us;
    longest = std::max(longest, time_us);
    sum += time_us;
  }
  return {{"mean_us", sum / plan.hlen_calls}, {"first_us", first}, {"max_us", longest}};
}

}  // namespace

void measure_growth(ServerBench& bench) {
  const std::size_t rounds = std::max<std::size_t>(bench.plan.growth_keys / kGrowthBatch, 1);
  const std::uint64_t keys = rounds * kGrowthBatch;
  const Settings settings = {{"keys", static_cast<double>(bench.plan.growth_keys)}};
  for (const ServerProgram& program : bench.plan.servers) {
    bench.progress.begin(
        fmt::format("stall: growth to {}, {}", size_title(bench.plan.growth_keys), program.name));
    const ServerChild server(program);
    RespClient writer = server.connect();
    RespClient other = server.connect();
    Grower grower(writer, other);
    std::vector<std::int64_t> times;
    times.reserve(rounds);
    const std::int64_t start = monotonic_ns();
    for (std::size_t i = 0; i < rounds; ++i) {
      times.push_back(grower.round(i * kGrowthBatch, 1, keys));
    }
    const auto took = static_cast<double>(monotonic_ns() - start);
    const auto longest = std::ranges::max_element(times) - times.begin();
    Metrics growing = latency_metrics(times);
    growing.emplace_back("keys_per_second", static_cast<double>(keys) * 1e9 / took);
    growing.emplace_back("longest_at_keys", static_cast<double>((longest + 1) * kGrowthBatch));
    bench.add("growth", "growing", server, settings, std::move(growing));

    times.clear();
    for (std::size_t i = 0; i < rounds / 4; ++i) {
      times.push_back(grower.round(i * kGrowthBatch * kGrowthStride % keys, kGrowthStride, keys));
    }
    bench.add("growth", "the same keys again", server, settings, latency_metrics(times));
  }
}

void measure_hlen(ServerBench& bench) {
  const std::size_t fields = bench.plan.hlen_fields;
  bench.progress.begin(fmt::format("hlen: {} fields, half of them due", size_title(fields)));
  const ServerChild server(bench.plan.servers.front());
  RespClient client = server.connect();
  must(client.call("DEBUG", "SET-ACTIVE-EXPIRE", "0"));
  const Time deadline =
      fill_before(bench.moments, Millis(500 + static_cast<int>(fields / 500)), Millis(0),
                  [&](Time moment) { fill_half(client, fields, moment); });
  bench.moments.wait_for(deadline + Millis(2));
  bench.add("hlen", "HLEN", server,
            {{"fields", static_cast<double>(fields)},
             {"calls", static_cast<double>(bench.plan.hlen_calls)}},
            ask_length(client, bench.plan));
}

}  // namespace mayfly::bench
