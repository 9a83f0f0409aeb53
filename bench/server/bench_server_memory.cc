// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_memory.h"

#include <fmt/format.h>

#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_moment.h"

namespace mayfly {
namespace {

constexpr Millis kFar = std::chrono::hours(24);

struct Shape {
  std::size_t fields_each;  // 0: all in one hash
  bool with_ttl;
  double bar;
};

constexpr Shape kShapes[] = {{10, false, 38}, {100, false, 33}, {0, false, 56},
                             {10, true, 48},  {100, true, 42},  {0, true, 66}};

Status fill(const ServerChild& server, std::size_t fields, const Shape& shape, Time far) {
  Result<RespClient> client = server.connect();
  if (!client) return client.error();
  RespPipeline pipeline(*client);
  const std::size_t fields_each = shape.fields_each == 0 ? fields : shape.fields_each;
  for (std::size_t i = 0; i < fields; ++i) {
    const std::string key = fmt::format("hash:{:07}", i / fields_each);
    const std::string field = fmt::format("field:{:07}", i);
    const std::string value = fmt::format("value:{:07}", i);
    if (shape.with_ttl) {
      const std::string deadline = unix_ms(far + Millis(i));
      pipeline.add("HSETEX", key, "PXAT", deadline, "FIELDS", "1", field, value);
    } else {
      pipeline.add("HSET", key, field, value);
    }
  }
  return pipeline.finish();
}

Result<double> bytes_per_field(ServerKind kind, const ServerBenchPlan& plan, const Shape& shape,
                               const Clock& clock) {
  const Result<ServerChild> server = ServerChild::start(kind);
  if (!server) return server.error();
  const Result<double> before = used_memory(*server);
  if (!before) return before.error();
  const Time far = deadline_after(clock.now(), kFar);
  const Status status = fill(*server, plan.memory_fields, shape, far);
  if (!status) return status.error();
  const Result<double> after = used_memory(*server);
  if (!after) return after.error();
  return (*after - *before) / static_cast<double>(plan.memory_fields);
}

double shape_work(const ServerBenchPlan& plan) {
  return 0.7 + static_cast<double>(plan.memory_fields) * 3e-6;
}

}  // namespace

Result<double> used_memory(const ServerChild& server) {
  constexpr int kSame = 3;
  constexpr int kMost = 100;
  Result<RespClient> client = server.connect();
  if (!client) return client.error();
  double last = -1;
  int same = 0;
  for (int i = 0; i < kMost && same < kSame; ++i) {
    rest(Millis(50));
    const Result<ReplyValue> info = client->call("INFO", "memory");
    if (!info) return info.error();
    const Result<double> used = info_number(info->text, "used_memory");
    if (!used) return used.error();
    same = *used == last ? same + 1 : 0;
    last = *used;
  }
  return last;
}

Result<std::vector<MemoryRow>> measure_memory(const ServerBenchPlan& plan, const Clock& clock,
                                              Progress& progress) {
  std::vector<MemoryRow> rows;
  for (const Shape& shape : kShapes) {
    const std::size_t each = shape.fields_each == 0 ? plan.memory_fields : shape.fields_each;
    MemoryRow row{.fields_each = each, .with_ttl = shape.with_ttl, .bar = shape.bar};
    progress.begin(fmt::format("memory: hashes of {}{}", size_title(each),
                               shape.with_ttl ? ", with TTLs" : ""));
    const Result<double> ours = bytes_per_field(ServerKind::mayfly, plan, shape, clock);
    if (!ours) return ours.error();
    row.ours = *ours;
    progress.add(shape_work(plan));
    if (plan.has_redis && !shape.with_ttl) {
      const Result<double> redis = bytes_per_field(ServerKind::redis, plan, shape, clock);
      if (!redis) return redis.error();
      row.redis = *redis;
      progress.add(shape_work(plan));
    }
    rows.push_back(row);
  }
  return rows;
}

double memory_work(const ServerBenchPlan& plan) {
  return shape_work(plan) * (plan.has_redis ? 9 : 6);
}

}  // namespace mayfly
