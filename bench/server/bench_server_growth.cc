// SPDX-License-Identifier: Apache-2.0
// A database that grows, and the length of a hash that is half due. Declared in
// bench_server_stall.h.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_stall.h"

namespace mayfly {
namespace {

constexpr std::size_t kTold = 1000;        // rounds between two words of progress
constexpr std::uint64_t kStride = 7'919;   // a prime: old keys in no order
constexpr std::size_t kHlenWritten = 100;  // fields of one command

// One client writes keys, another one wants a sign of life.
class Grower {
 public:
  Grower(RespClient& writer, RespClient& other) : writer_(writer), other_(other) {}

  // Writes the keys from `first` on, `stride` apart, below `end`. The time that it took until both
  // had their replies: whatever makes the server pause is in one of these rounds.
  Result<std::int64_t> round(std::uint64_t first, std::uint64_t stride, std::uint64_t end) {
    for (std::size_t i = 0; i < kGrowthBatch; ++i) {
      writer_.add("SET", fmt::format("key:{:010}", (first + i * stride) % end), "value:0000000");
    }
    other_.add("PING");
    const std::int64_t start = monotonic_ns();
    if (const Status status = writer_.send(); !status) return status.error();
    if (const Status status = other_.send(); !status) return status.error();
    if (const auto reply = other_.read_good(); !reply) return reply.error();
    for (std::size_t i = 0; i < kGrowthBatch; ++i) {
      if (const auto reply = writer_.read_good(); !reply) return reply.error();
    }
    return monotonic_ns() - start;
  }

 private:
  RespClient& writer_;
  RespClient& other_;
};

double server_growth_work(const ServerBenchPlan& plan) {
  return 0.5 + static_cast<double>(plan.growth_keys) * 5e-6;
}

Result<GrowthRow> grow(ServerKind kind, const ServerBenchPlan& plan, Progress& progress) {
  const Result<ServerChild> server = ServerChild::start(kind);
  if (!server) return server.error();
  Result<RespClient> writer = server->connect();
  Result<RespClient> other = server->connect();
  if (!writer) return writer.error();
  if (!other) return other.error();

  Grower grower(*writer, *other);
  GrowthRow row{.server = title_of(kind)};
  const std::size_t rounds = std::max<std::size_t>(plan.growth_keys / kGrowthBatch, 1);
  const std::uint64_t keys = rounds * kGrowthBatch;
  std::vector<std::int64_t> times;
  times.reserve(rounds);
  std::int64_t longest = 0;
  const std::int64_t start = monotonic_ns();
  for (std::size_t i = 0; i < rounds; ++i) {
    const Result<std::int64_t> time = grower.round(i * kGrowthBatch, 1, keys);
    if (!time) return time.error();
    times.push_back(*time);
    if (*time > longest) {
      longest = *time;
      row.longest_at_keys = static_cast<double>((i + 1) * kGrowthBatch);
    }
    if (i % kTold == 0) {
      progress.add(server_growth_work(plan) * static_cast<double>(std::min(kTold, rounds)) /
                   static_cast<double>(rounds));
    }
  }
  row.per_second = static_cast<double>(keys) * 1e9 / static_cast<double>(monotonic_ns() - start);
  row.growing = summarize(times);

  times.clear();
  for (std::size_t i = 0; i < rounds / 4; ++i) {
    const Result<std::int64_t> time =
        grower.round(i * kGrowthBatch * kStride % keys, kStride, keys);
    if (!time) return time.error();
    times.push_back(*time);
  }
  row.steady = summarize(times);
  return row;
}

// The even fields are due at `deadline`, the odd ones never.
Status fill_half(RespClient& client, std::size_t fields, Time deadline) {
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
  return pipeline.finish();
}

Result<HlenResult> ask_length(RespClient& client, const ServerBenchPlan& plan) {
  HlenResult result;
  std::int64_t sum = 0;
  for (int i = 0; i < plan.hlen_calls; ++i) {
    const std::int64_t start = monotonic_ns();
    const Result<ReplyValue> reply = client.call("HLEN", "hash");
    const std::int64_t time = monotonic_ns() - start;
    if (!reply) return reply.error();
    const auto alive = static_cast<std::int64_t>(plan.hlen_fields / 2);
    if (reply->integer != alive) {
      return Error{Code::corrupt,
                   fmt::format("HLEN says {} where {} fields are alive", reply->integer, alive)};
    }
    if (i == 0) result.first_us = static_cast<double>(time) / 1e3;
    result.max_us = std::max(result.max_us, static_cast<double>(time) / 1e3);
    sum += time;
  }
  result.mean_us = static_cast<double>(sum) / 1e3 / plan.hlen_calls;
  return result;
}

}  // namespace

Result<std::vector<GrowthRow>> measure_growth(const ServerBenchPlan& plan, Progress& progress) {
  std::vector<GrowthRow> rows;
  for (const ServerKind kind : {ServerKind::mayfly, ServerKind::redis}) {
    if (kind == ServerKind::redis && !plan.has_redis) continue;
    progress.begin(
        fmt::format("stall: growth to {}, {}", size_title(plan.growth_keys), title_of(kind)));
    const Result<GrowthRow> row = grow(kind, plan, progress);
    if (!row) return row.error();
    rows.push_back(*row);
  }
  return rows;
}

Result<HlenResult> measure_hlen(const ServerBenchPlan& plan, const Moments& moments,
                                Progress& progress) {
  progress.begin(fmt::format("hlen: {} fields, half of them due", size_title(plan.hlen_fields)));
  const Result<ServerChild> server = ServerChild::start(ServerKind::mayfly);
  if (!server) return server.error();
  Result<RespClient> client = server->connect();
  if (!client) return client.error();
  const auto off = client->call("DEBUG", "SET-ACTIVE-EXPIRE", "0");
  if (!off) return off.error();
  const Result<Time> deadline =
      fill_before(moments, Millis(500 + static_cast<int>(plan.hlen_fields / 500)), Millis(0),
                  [&](Time moment) { return fill_half(*client, plan.hlen_fields, moment); });
  if (!deadline) return deadline.error();
  moments.wait_for(*deadline + Millis(2));
  const Result<HlenResult> result = ask_length(*client, plan);
  progress.add(hlen_work(plan));
  return result;
}

double growth_work(const ServerBenchPlan& plan) {
  return server_growth_work(plan) * (plan.has_redis ? 2 : 1);
}

double hlen_work(const ServerBenchPlan& plan) {
  return 1 + static_cast<double>(plan.hlen_fields) * 4e-6;
}

}  // namespace mayfly
