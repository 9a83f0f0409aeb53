// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_aof.h"

#include "bench/server/bench_server_seat.h"
#include "bench/server/bench_server_speed.h"

namespace mayfly {
namespace {

constexpr std::size_t kLonger = 2;  // than a run of the part `speed`

struct AofSeats {
  bool with_aof;
  std::vector<ServerSeat> seats;
};

Result<AofSeats> take_aof_seats(const ServerBenchPlan& plan, bool with_aof) {
  Result<std::vector<ServerSeat>> seats = take_seats(plan);
  if (!seats) return seats.error();
  for (const ServerSeat& seat : *seats) {
    Status status = set_aof(seat.server, with_aof);
    if (status) status = fill_for_speed(seat.server, plan.key_range);
    if (!status) return status.error();
  }
  return AofSeats{with_aof, std::move(*seats)};
}

// Both with the file and both without it; which of them comes first, changes with the repeat.
Status run_all(const ServerBenchPlan& plan, const std::vector<AofSeats>& all, int repeat,
               AofRow& row) {
  const SpeedRow speed{row.command, row.other, kSpeedPipeline, plan.key_range};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AofSeats& those = all[(i + static_cast<std::size_t>(repeat)) % all.size()];
    Pair& rates = those.with_aof ? row.with : row.without;
    const Status status = in_turns(those.seats, repeat, [&](const ServerSeat& seat) -> Status {
      const Result<SpeedRun> run = run_benchmark(seat.server, speed, aof_requests(plan));
      if (!run) return run.error();
      const bool is_ours = seat.server.kind() == ServerKind::mayfly;
      (is_ours ? rates.ours : rates.redis).push_back(run->per_second);
      return Done{};
    });
    if (!status) return status;
  }
  return Done{};
}

}  // namespace

Result<std::vector<AofRow>> measure_aof(const ServerBenchPlan& plan) {
  std::vector<AofSeats> all;
  for (const bool with_aof : {false, true}) {
    Result<AofSeats> those = take_aof_seats(plan, with_aof);
    if (!those) return those.error();
    all.push_back(std::move(*those));
  }
  std::vector<AofRow> rows = {{.command = "SET", .other = "SET"},
                              {.command = "HSETEX", .other = "HSET"}};
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    for (AofRow& row : rows) {
      if (const Status status = run_all(plan, all, repeat, row); !status) return status.error();
    }
  }
  return rows;
}

std::size_t aof_requests(const ServerBenchPlan& plan) {
  return request_count(plan, kSpeedPipeline) * kLonger;
}

}  // namespace mayfly
