// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_persist.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_aof.h"
#include "bench/server/bench_server_fork.h"
#include "bench/server/bench_server_save.h"
#include "bench/server/bench_server_seat.h"
#include "bench/server/bench_server_sync.h"

namespace mayfly {
namespace {

constexpr Millis kFar = std::chrono::hours(24);
constexpr std::size_t kPacked = kPersistShapes[std::size(kPersistShapes) - 1];

// About how long things take, in seconds, on both servers.
double millions(const ServerBenchPlan& plan) {
  return static_cast<double>(plan.persist_fields) / 1e6;
}
double fill_work(const ServerBenchPlan& plan) { return 0.2 + 3 * millions(plan); }
double save_work(const ServerBenchPlan& plan) { return plan.repeats * 0.7 * millions(plan); }
double load_work(const ServerBenchPlan& plan) { return plan.repeats * (0.5 + millions(plan)); }
double child_work(const ServerBenchPlan& plan) { return plan.repeats * (1.5 + millions(plan)); }
double sync_work(const ServerBenchPlan& plan) { return 2 + 2 * millions(plan); }
double aof_work(const ServerBenchPlan& plan) {
  return 2 + plan.repeats * 8 * static_cast<double>(aof_requests(plan)) / 600'000;
}

// Keeps a row, or says why there is none.
template <class Row>
Status keep(Result<Row> measured, std::vector<Row>& rows) {
  if (!measured) return measured.error();
  rows.push_back(std::move(*measured));
  return Done{};
}

// One shape of the data on both servers, from their filling to their end.
class Persistence {
 public:
  Persistence(const ServerBenchPlan& plan, std::size_t fields_each, Progress& progress,
              PersistResults& results)
      : plan_(plan), fields_each_(fields_each), progress_(progress), results_(results) {}

  Status fill(Time far) {
    Result<std::vector<ServerSeat>> seats = take_seats(plan_);
    if (!seats) return seats.error();
    for (ServerSeat& seat : *seats) {
      begin(fmt::format("filling {}", title_of(seat.server.kind())));
      const Status status = fill_hashes(seat.server, plan_.persist_fields, fields_each_, far);
      if (!status) return status;
      seats_.push_back(std::move(seat));
    }
    progress_.add(fill_work(plan_));
    return Done{};
  }

  // The file that is compressed, as servers do unless they are told otherwise, comes last: it is
  // the one that is loaded. Fields are too short to be compressed, but not a whole packed hash.
  Status save_and_load() {
    for (const bool compressed : {false, true}) {
      if (!compressed && fields_each_ != kPacked) continue;
      begin("SAVE");
      const Status status =
          keep(measure_save(plan_, seats_, fields_each_, compressed), results_.saves);
      if (!status) return status;
      progress_.add(save_work(plan_));
    }
    begin("loading");
    const Status status = keep(measure_load(plan_, seats_, fields_each_), results_.loads);
    progress_.add(load_work(plan_));
    return status;
  }

  Status watch_children() {
    for (const std::string_view work : kForkWorks) {
      begin(fmt::format("GETs during {}", work));
      if (const Status status = set_aofs(work == "BGREWRITEAOF"); !status) return status;
      const Status status = keep(measure_child(plan_, seats_, work), results_.children);
      if (!status) return status;
      progress_.add(child_work(plan_));
    }
    return set_aofs(false);
  }

  Status make_replicas() {
    for (const ServerSeat& seat : seats_) {
      begin(fmt::format("a replica of {}", title_of(seat.server.kind())));
      if (const Status status = keep(measure_sync(seat), results_.syncs); !status) return status;
    }
    progress_.add(sync_work(plan_));
    return Done{};
  }

 private:
  void begin(std::string_view what) {
    progress_.begin(fmt::format("persist: {}, {} fields, {} a hash", what,
                                size_title(plan_.persist_fields), size_title(fields_each_)));
  }

  Status set_aofs(bool on) {
    for (const ServerSeat& seat : seats_) {
      if (const Status status = set_aof(seat.server, on); !status) return status;
    }
    return Done{};
  }

  const ServerBenchPlan& plan_;
  const std::size_t fields_each_;
  Progress& progress_;
  PersistResults& results_;
  std::vector<ServerSeat> seats_;
};

}  // namespace

Result<PersistResults> measure_persist(const ServerBenchPlan& plan, const Clock& clock,
                                       Progress& progress) {
  PersistResults results;
  for (const std::size_t fields_each : kPersistShapes) {
    Persistence persistence(plan, fields_each, progress, results);
    Status status = persistence.fill(deadline_after(clock.now(), kFar));
    if (status) status = persistence.save_and_load();
    if (status && fields_each == kPacked) status = persistence.watch_children();
    if (status && fields_each == kPacked) status = persistence.make_replicas();
    if (!status) return status.error();
  }
  progress.begin("persist: SET and HSETEX with the append-only file");
  Result<std::vector<AofRow>> aof = measure_aof(plan);
  if (!aof) return aof.error();
  results.aof = std::move(*aof);
  progress.add(aof_work(plan));
  return results;
}

double persist_work(const ServerBenchPlan& plan) {
  return 2 * fill_work(plan) + 3 * save_work(plan) + 2 * load_work(plan) + 2 * child_work(plan) +
         sync_work(plan) + aof_work(plan);
}

}  // namespace mayfly
