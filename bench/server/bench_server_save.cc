// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_save.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "bench/server/bench_server_memory.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

bool is_ours(const ServerSeat& seat) { return seat.server.kind() == ServerKind::mayfly; }

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) / 1e9;
}

Result<double> file_bytes(const ServerSeat& seat) {
  std::error_code why;
  const auto bytes = std::filesystem::file_size(seat.directory.path() / "dump.rdb", why);
  if (!why) return static_cast<double>(bytes);
  return Error{Code::io, fmt::format("{} has saved nothing: {}", title_of(seat.server.kind()),
                                     why.message())};
}

Status save(const ServerSeat& seat, SaveRow& row) {
  Result<RespClient> client = seat.server.connect();
  if (!client) return client.error();
  const Status set = set_config(*client, "rdbcompression", row.compressed ? "yes" : "no");
  if (!set) return set;
  const std::int64_t start = monotonic_ns();
  if (const auto reply = call_slowly(*client, "SAVE"); !reply) return reply.error();
  (is_ours(seat) ? row.seconds.ours : row.seconds.redis).push_back(seconds_since(start));
  const Result<double> bytes = file_bytes(seat);
  if (!bytes) return bytes.error();
  (is_ours(seat) ? row.our_bytes : row.redis_bytes) = *bytes;
  return Done{};
}

// Whether all hashes are there again, and the first one is whole.
Status check(RespClient& client, std::size_t keys, std::size_t fields_each) {
  const Result<ReplyValue> size = client.call("DBSIZE");
  if (!size) return size.error();
  const Result<ReplyValue> length = client.call("HLEN", "hash:0000000");
  if (!length) return length.error();
  if (size->integer == static_cast<std::int64_t>(keys) &&
      length->integer == static_cast<std::int64_t>(fields_each)) {
    return Done{};
  }
  return Error{Code::corrupt, fmt::format("loaded {} keys, {} fields in the first, instead of {} "
                                          "and {}",
                                          size->integer, length->integer, keys, fields_each)};
}

// What was there is freed before the clock runs: it is not what a server does that starts.
Status load(const ServerSeat& seat, std::size_t keys, LoadRow& row) {
  Result<RespClient> client = seat.server.connect();
  if (!client) return client.error();
  if (const auto reply = call_slowly(*client, "FLUSHALL", "SYNC"); !reply) return reply.error();
  if (const auto used = used_memory(seat.server); !used) return used.error();
  const std::int64_t start = monotonic_ns();
  const auto reply = call_slowly(*client, "DEBUG", "RELOAD", "NOSAVE");
  if (!reply) return reply.error();
  (is_ours(seat) ? row.seconds.ours : row.seconds.redis).push_back(seconds_since(start));
  return check(*client, keys, row.fields_each);
}

}  // namespace

Result<SaveRow> measure_save(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                             std::size_t fields_each, bool compressed) {
  SaveRow row{.fields_each = fields_each, .compressed = compressed};
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    const Status status =
        in_turns(seats, repeat, [&](const ServerSeat& seat) { return save(seat, row); });
    if (!status) return status.error();
  }
  return row;
}

Result<LoadRow> measure_load(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                             std::size_t fields_each) {
  LoadRow row{.fields_each = fields_each};
  const std::size_t keys = (plan.persist_fields + fields_each - 1) / fields_each;
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    const Status status =
        in_turns(seats, repeat, [&](const ServerSeat& seat) { return load(seat, keys, row); });
    if (!status) return status.error();
  }
  return row;
}

}  // namespace mayfly
