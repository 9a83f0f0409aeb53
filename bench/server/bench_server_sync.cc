// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bench/server/bench_server_memory.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::int64_t kPatienceNs = 300'000'000'000;  // 5 min
constexpr std::int64_t kLookNs = 20'000'000;           // 20 ms between two looks at the primary
constexpr std::int64_t kAfterNs = 500'000'000;         // 500 ms, for what is sent in the end

Status set_limits(RespClient& client) {
  const std::string backlog = std::to_string(kSyncBacklogBytes);
  const std::string limit = fmt::format("replica {} 0 0", kSyncOutputBytes);
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string_view>{"repl-backlog-size", backlog},
        {"client-output-buffer-limit", limit},
        {"repl-diskless-sync-delay", "0"}}) {
    if (const Status status = set_config(client, name, value); !status) return status;
  }
  return Done{};
}

// Notes the memory; tells whether the replica follows.
Result<bool> look(RespClient& watcher, SyncRow& row) {
  const Result<ReplyValue> memory = watcher.call("INFO", "memory");
  if (!memory) return memory.error();
  const Result<double> used = info_number(memory->text, "used_memory");
  if (!used) return used.error();
  row.peak_bytes = std::max(row.peak_bytes, *used);
  const Result<ReplyValue> replication = watcher.call("INFO", "replication");
  if (!replication) return replication.error();
  return replica_follows(replication->text);
}

// Writes until the replica follows, and a moment longer.
Status write_meanwhile(SteadyWriter& writer, RespClient& watcher, SyncRow& row) {
  const std::int64_t start = monotonic_ns();
  std::int64_t next_look = start;
  std::int64_t end = start + kPatienceNs;
  bool follows = false;
  while (monotonic_ns() < end) {
    const Result<bool> sent = writer.send_due();
    if (!sent) return sent.error();
    if (*sent) {
      if (const Status status = writer.take_replies(); !status) return status;
    } else {
      rest(Millis(1));
    }
    if (monotonic_ns() < next_look) continue;
    const Result<bool> now = look(watcher, row);
    if (!now) return now.error();
    next_look = monotonic_ns() + kLookNs;
    if (!*now || follows) continue;
    follows = true;
    row.seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    end = monotonic_ns() + kAfterNs;
  }
  return Done{};
}

// Whether the replica has what was written, and as many keys as the primary.
Result<bool> is_same(RespClient& writer, RespClient& replica) {
  const Result<ReplyValue> followers = writer.call("WAIT", "1", "30000");
  if (!followers) return followers.error();
  const Result<ReplyValue> here = writer.call("DBSIZE");
  const Result<ReplyValue> there = replica.call("DBSIZE");
  if (!here) return here.error();
  if (!there) return false;  // it still loads
  return followers->integer == 1 && here->integer == there->integer;
}

}  // namespace

bool replica_follows(std::string_view info) {
  constexpr std::string_view kOnline = "state=online,offset=";
  const std::size_t at = info.find(kOnline);
  return at != std::string_view::npos && !info.substr(at + kOnline.size()).starts_with("0,");
}

Result<SyncRow> measure_sync(const ServerSeat& primary) {
  const ServerKind kind = primary.server.kind();
  const Result<ServerSeat> replica = ServerSeat::take(kind);
  if (!replica) return replica.error();
  Result<RespClient> writer_client = primary.server.connect();
  Result<RespClient> watcher = primary.server.connect();
  Result<RespClient> follower = replica->server.connect();
  if (!writer_client) return writer_client.error();
  if (!watcher) return watcher.error();
  if (!follower) return follower.error();

  SteadyWriter writer(*writer_client, kSyncLoad);
  Status status = set_limits(*watcher);
  if (status) status = writer.fill();
  if (!status) return status.error();
  const Result<double> before = used_memory(primary.server);
  if (!before) return before.error();

  SyncRow row{.server = title_of(kind), .before_bytes = *before, .peak_bytes = *before};
  row.bound_bytes = static_cast<double>(kSyncBacklogBytes + kSyncOutputBytes);
  const auto told = follower->call("REPLICAOF", "127.0.0.1", std::to_string(primary.server.port()));
  if (!told) return told.error();
  status = write_meanwhile(writer, *watcher, row);
  if (!status) return status.error();
  row.written_bytes = static_cast<double>(writer.written_bytes());
  const Result<bool> same = is_same(*writer_client, *follower);
  if (!same) return same.error();
  row.is_done = row.seconds > 0 && *same;
  return row;
}

}  // namespace mayfly
