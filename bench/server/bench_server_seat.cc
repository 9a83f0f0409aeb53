// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "bench/server/bench_server_moment.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::size_t kWritten = 100;                    // fields of one HSET
constexpr std::int64_t kPatienceNs = 1'800'000'000'000;  // 30 min, for 100 M fields
constexpr Millis kLook(20);

// One deadline is all that an HSETEX can set, so there is one for each field.
Status fill_ours(RespClient& client, std::size_t fields, std::size_t fields_each, Time far) {
  RespPipeline pipeline(client);
  std::string key;
  for (std::size_t i = 0; i < fields; ++i) {
    if (i % fields_each == 0) key = fmt::format("hash:{:07}", i / fields_each);
    pipeline.add("HSETEX", key, "PXAT", unix_ms(far + Millis(i)), "FIELDS", "1",
                 fmt::format("field:{:07}", i), fmt::format("value:{:07}", i));
  }
  return pipeline.finish();
}

Status fill_redis(RespClient& client, std::size_t fields, std::size_t fields_each) {
  RespPipeline pipeline(client, 16);
  std::vector<std::string> texts(2 * kWritten);
  std::size_t i = 0;
  while (i < fields) {
    const std::string key = fmt::format("hash:{:07}", i / fields_each);
    const std::size_t left = fields_each - i % fields_each;
    std::vector<std::string_view> words = {"HSET", key};
    for (std::size_t end = std::min({i + kWritten, i + left, fields}), j = 0; i < end;
         ++i, j += 2) {
      texts[j] = fmt::format("field:{:07}", i);
      texts[j + 1] = fmt::format("value:{:07}", i);
      words.insert(words.end(), {texts[j], texts[j + 1]});
    }
    pipeline.add(Words(words));
  }
  return pipeline.finish();
}

}  // namespace

Result<ServerSeat> ServerSeat::take(ServerKind kind) {
  Result<ScratchDirectory> directory =
      ScratchDirectory::make(std::filesystem::temp_directory_path());
  if (!directory) return directory.error();
  Result<ServerChild> server = ServerChild::start(kind, directory->path());
  if (!server) return server.error();
  return ServerSeat{std::move(*directory), std::move(*server)};
}

Result<std::vector<ServerSeat>> take_seats(const ServerBenchPlan& plan) {
  std::vector<ServerSeat> seats;
  for (const ServerKind kind : {ServerKind::mayfly, ServerKind::redis}) {
    if (kind == ServerKind::redis && !plan.has_redis) continue;
    Result<ServerSeat> seat = ServerSeat::take(kind);
    if (!seat) return seat.error();
    seats.push_back(std::move(*seat));
  }
  return seats;
}

Status fill_hashes(const ServerChild& server, std::size_t fields, std::size_t fields_each,
                   Time far) {
  Result<RespClient> client = server.connect();
  if (!client) return client.error();
  if (server.kind() == ServerKind::mayfly) return fill_ours(*client, fields, fields_each, far);
  return fill_redis(*client, fields, fields_each);
}

Result<ReplyValue> call_slowly(RespClient& client, Words words) {
  client.add(words);
  if (const Status status = client.send(); !status) return status.error();
  const std::int64_t start = monotonic_ns();
  while (monotonic_ns() - start < kPatienceNs) {
    Result<std::optional<ReplyValue>> reply = client.read_within(Millis(10'000));
    if (!reply) return reply.error();
    if (!*reply) continue;
    if ((*reply)->kind != ReplyValue::Kind::error) return std::move(**reply);
    return Error{Code::unsupported, fmt::format("{} failed: {}", words[0], (*reply)->text)};
  }
  return Error{Code::io, fmt::format("{} has not ended in half an hour", words[0])};
}

Status set_config(RespClient& client, std::string_view name, std::string_view value) {
  if (const auto reply = client.call("CONFIG", "SET", name, value); !reply) return reply.error();
  return Done{};
}

Result<bool> has_child(RespClient& client) {
  const Result<ReplyValue> info = client.call("INFO", "persistence");
  if (!info) return info.error();
  for (const std::string_view name :
       {"rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"}) {
    const Result<double> number = info_number(info->text, name);
    if (!number) return number.error();
    if (*number != 0) return true;
  }
  return false;
}

Status wait_for_child(RespClient& client) {
  const std::int64_t start = monotonic_ns();
  while (monotonic_ns() - start < kPatienceNs) {
    const Result<bool> is_there = has_child(client);
    if (!is_there) return is_there.error();
    if (!*is_there) return Done{};
    rest(kLook);
  }
  return Error{Code::io, "a file has not been written in half an hour"};
}

Status set_aof(const ServerChild& server, bool on) {
  Result<RespClient> client = server.connect();
  if (!client) return client.error();
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string_view>{"auto-aof-rewrite-percentage", "0"},
        {"appendfsync", "everysec"},
        {"appendonly", on ? "yes" : "no"}}) {
    if (const Status status = set_config(*client, name, value); !status) return status;
  }
  return wait_for_child(*client);
}

}  // namespace mayfly
