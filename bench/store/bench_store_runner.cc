// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/store/bench_store_seat.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::size_t kBlock = 10;  // single puts between two looks at the stopwatch

double work_of(const StoreBenchPlan& plan, const StoreWorkload& workload, std::size_t value_bytes) {
  const std::size_t weight = workload.task == StoreTask::put_each ? 20 : 1;
  return static_cast<double>(op_count(plan, workload) * weight * (value_bytes + 512)) / 512;
}

struct Measured {
  PeerTally tally;
  double rate = 0;  // operations a second
};

class StoreRunner {
 public:
  StoreRunner(const StoreBenchPlan& plan, const std::filesystem::path& directory,
              Progress& progress)
      : plan_(plan), progress_(progress) {
    for (const PeerRow* const row : plan.peers) seats_.emplace_back(*row, clock_, directory);
  }

  Result<StoreResults> run() {
    results_.keys = plan_.keys;
    add_rows();
    for (int repeat = 0; repeat < plan_.repeats; ++repeat) {
      for (const std::size_t value_bytes : plan_.value_bytes) {
        for (const StoreWorkload& workload : store_workloads()) {
          if (!is_needed(plan_, workload)) continue;
          const Status status = run_workload(workload, value_bytes, repeat);
          if (!status) return status.error();
        }
        for (Seat& seat : seats_) seat.close();
      }
    }
    return results_;
  }

 private:
  void add_rows() {
    for (const std::size_t value_bytes : plan_.value_bytes) {
      for (const StoreWorkload* const workload : plan_.workloads) {
        StoreRow row{workload, value_bytes, {}};
        for (const PeerRow* const peer : plan_.peers) {
          if (takes(*peer, *workload)) row.cells.push_back({peer});
        }
        results_.rows.push_back(std::move(row));
      }
    }
  }

  // All systems do one workload. The one that begins is another one in each repeat.
  Status run_workload(const StoreWorkload& workload, std::size_t value_bytes, int repeat) {
    const ValuePool values(value_bytes, plan_.seed);
    const std::vector<StoreOp> ops =
        make_ops({.keys = plan_.keys,
                  .count = op_count(plan_, workload),
                  .order = workload.order,
                  .ttl = workload.ttl,
                  .mixed = workload.task == StoreTask::mixed,
                  .generation = workload.generation,
                  .seed = plan_.seed + static_cast<std::uint64_t>(repeat)});
    clock_.set(workload.task == StoreTask::purge ? kStoreBenchHalfDue : kStoreBenchStart);
    std::optional<PeerTally> expected;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      Seat& seat = seats_[(i + static_cast<std::size_t>(repeat)) % seats_.size()];
      if (!takes(seat.row(), workload)) continue;
      progress_.begin(fmt::format("{}, {} B, {}", workload.title, value_bytes, seat.row().title));
      if (const Status status = seat.prepare(workload, value_bytes); !status) return status;
      const Result<Measured> measured = measure(seat.peer(), workload, {&values, ops});
      if (!measured) return measured.error();
      seat.finish(workload);
      if (!expected) expected = measured->tally;
      if (const Status status = compare(workload, seat, *expected, measured->tally); !status) {
        return status;
      }
      record(workload, value_bytes, seat.row(), measured->rate);
      progress_.add(work_of(plan_, workload, value_bytes));
    }
    return Done{};
  }

  Result<Measured> measure(Peer& peer, const StoreWorkload& workload, const StoreOps& ops) const {
    if (workload.task == StoreTask::put_each) return measure_single(peer, ops);
    const std::int64_t start = monotonic_ns();
    const Result<PeerTally> tally = run_task(peer, workload.task, ops);
    const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    if (!tally) return tally.error();
    const bool by_entries = workload.task == StoreTask::scan || workload.task == StoreTask::purge;
    const auto count = static_cast<double>(by_entries ? tally->entries : ops.ops.size());
    return Measured{*tally, count / seconds};
  }

  static Result<PeerTally> run_task(Peer& peer, StoreTask task, const StoreOps& ops) {
    switch (task) {
      case StoreTask::get:
        return peer.get(ops);
      case StoreTask::get_each:
        return peer.get_each(ops);
      case StoreTask::scan:
        return peer.scan();
      case StoreTask::purge:
        return peer.purge();
      case StoreTask::put:
      case StoreTask::put_each:
      case StoreTask::mixed:
        break;
    }
    return peer.apply(ops, kStoreBatch);
  }

  Result<Measured> measure_single(Peer& peer, const StoreOps& ops) const {
    const std::int64_t start = monotonic_ns();
    std::size_t done = 0;
    double seconds = 0;
    while (done < ops.ops.size() && seconds < plan_.single_seconds) {
      const auto block = ops.ops.subspan(done, std::min(kBlock, ops.ops.size() - done));
      const Result<PeerTally> tally = peer.apply({ops.values, block}, 1);
      if (!tally) return tally.error();
      done += block.size();
      seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    }
    return Measured{PeerTally{.entries = done}, static_cast<double>(done) / seconds};
  }

  // How many single puts there were depends on the speed; so does what is read after them.
  static Status compare(const StoreWorkload& workload, const Seat& seat, const PeerTally& expected,
                        const PeerTally& seen) {
    if (workload.task == StoreTask::put_each) return Done{};
    const bool same_values = writes(workload) || seen.digest == expected.digest;
    if (seen.entries == expected.entries && same_values) return Done{};
    return Error{Code::corrupt,
                 fmt::format("'{}': {} saw {} entries where the first saw {}{}", workload.name,
                             seat.row().title, seen.entries, expected.entries,
                             same_values ? "" : ", and other values")};
  }

  void record(const StoreWorkload& workload, std::size_t value_bytes, const PeerRow& peer,
              double rate) {
    for (StoreRow& row : results_.rows) {
      if (row.workload != &workload || row.value_bytes != value_bytes) continue;
      for (StoreRow::Cell& cell : row.cells) {
        if (cell.peer == &peer) cell.rates.push_back(rate);
      }
    }
  }

  const StoreBenchPlan& plan_;
  Progress& progress_;
  ManualClock clock_{kStoreBenchStart};
  std::vector<Seat> seats_;
  StoreResults results_;
};

}  // namespace

Result<StoreResults> run_store_plan(const StoreBenchPlan& plan,
                                    const std::filesystem::path& directory, Progress& progress) {
  Result<StoreResults> results = StoreRunner(plan, directory, progress).run();
  if (!results) return results;
  if (plan.churn) {
    const Result<ChurnResult> churn = run_churn(plan.churn_plan, directory, progress);
    if (!churn) return churn.error();
    results->churn = *churn;
  }
  results->seconds = progress.seconds();
  return results;
}

double total_work(const StoreBenchPlan& plan) {
  double work = plan.churn ? churn_work(plan.churn_plan) : 0;
  for (const StoreWorkload& workload : store_workloads()) {
    if (!is_needed(plan, workload)) continue;
    for (const PeerRow* const peer : plan.peers) {
      if (!takes(*peer, workload)) continue;
      for (const std::size_t value_bytes : plan.value_bytes) {
        work += work_of(plan, workload, value_bytes) * plan.repeats;
      }
    }
  }
  return work;
}

}  // namespace mayfly
