// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_runner.h"

#include <string>

#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_memory.h"
#include "bench/server/bench_server_moment.h"
#include "bench/server/bench_server_ontime.h"
#include "bench/server/bench_server_persist.h"
#include "bench/server/bench_server_speed.h"
#include "bench/server/bench_server_stall.h"
#include "mayfly/clock.h"

namespace mayfly {
namespace {

// "7.0.15", as it tells itself.
Result<std::string> redis_version() {
  const Result<ServerChild> server = ServerChild::start(ServerKind::redis);
  if (!server) return server.error();
  Result<RespClient> client = server->connect();
  if (!client) return client.error();
  const Result<ReplyValue> info = client->call("INFO", "server");
  if (!info) return info.error();
  constexpr std::string_view kName = "redis_version:";
  const std::size_t at = info->text.find(kName);
  if (at == std::string::npos) return std::string("of an unknown version");
  const std::size_t start = at + kName.size();
  return info->text.substr(start, info->text.find('\r', start) - start);
}

// Keeps what was measured, or says why it could not be.
template <class T, class Kept>
Status keep(Result<T> measured, Kept& kept) {
  if (!measured) return measured.error();
  kept = std::move(*measured);
  return Done{};
}

}  // namespace

Status find_programs(ServerBenchPlan& plan) {
  plan.has_redis = is_installed("redis-server");
  const bool is_needed = plan.speed || plan.persist;
  if (!is_needed || is_installed("redis-benchmark")) return Done{};
  return Error{Code::not_found,
               "redis-benchmark is not installed, which measures the speed. Install it (apt-get "
               "install redis-tools), or measure the rest: --only memory,ontime,stall,hlen"};
}

Result<ServerResults> run_server_plan(const ServerBenchPlan& plan, Progress& progress) {
  const SystemClock clock;
  const Moments moments(clock);
  ServerResults results;
  Status status = Done{};
  if (plan.has_redis) status = keep(redis_version(), results.redis_version);
  if (status && plan.speed) status = keep(measure_speed(plan, progress), results.speed);
  if (status && plan.memory) status = keep(measure_memory(plan, clock, progress), results.memory);
  if (status && plan.on_time) {
    status = keep(measure_on_time(plan, moments, progress), results.on_time);
  }
  if (status && plan.stall) {
    status = keep(measure_stalls(plan, moments, progress), results.stalls);
    if (status) status = keep(measure_growth(plan, progress), results.growth);
  }
  if (status && plan.hlen) status = keep(measure_hlen(plan, moments, progress), results.hlen);
  if (status && plan.persist) {
    status = keep(measure_persist(plan, clock, progress), results.persist);
  }
  if (!status) return status.error();
  results.seconds = progress.seconds();
  return results;
}

double total_work(const ServerBenchPlan& plan) {
  double work = 0;
  if (plan.speed) work += speed_work(plan);
  if (plan.memory) work += memory_work(plan);
  if (plan.on_time) work += on_time_work(plan);
  if (plan.stall) work += stalls_work(plan) + growth_work(plan);
  if (plan.hlen) work += hlen_work(plan);
  if (plan.persist) work += persist_work(plan);
  return work;
}

}  // namespace mayfly
