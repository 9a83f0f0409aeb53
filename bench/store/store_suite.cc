// SPDX-License-Identifier: Apache-2.0
#include "bench/store/store_suite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>

#include "bench/report/must.h"
#include "mayfly/internal/stopwatch.h"
#include "tools/scratch_directory.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kBlock = 10;  // single puts between two readings of the stopwatch

std::size_t op_count(const StorePlan& plan, const StoreWorkload& workload) {
  if (workload.sustained) return plan.keys;
  if (is_single(workload)) return plan.single_puts;
  const bool is_half = workload.task == StoreTask::mixed || workload.task == StoreTask::purge;
  return is_half ? plan.keys / 2 : plan.keys;
}

double work_of(const StorePlan& plan, const StoreWorkload& workload, std::size_t value_bytes) {
  const std::size_t weight = is_single(workload) ? 5 : 1;
  return static_cast<double>(op_count(plan, workload) * weight * (value_bytes + 512)) / 512;
}

double total_work(const StorePlan& plan) {
  double work = 0;
  for (const StoreExtra& extra : store_extras()) {
    if (is_asked_for(plan, extra)) work += extra.work(plan) * (extra.once ? 1 : plan.rounds);
  }
  for (const StoreWorkload& workload : store_workloads()) {
    if (!is_needed(plan, workload)) continue;
    for (const PeerRow* const peer : plan.peers) {
      if (!takes(*peer, workload)) continue;
      for (const std::size_t value_bytes : plan.value_bytes) {
        work += work_of(plan, workload, value_bytes) * plan.rounds;
      }
    }
  }
  return work;
}

void sync_files(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::syncfs(descriptor);
  ::close(descriptor);
}

// One of the systems, and the database that it has open.
class System {
 public:
  System(const PeerRow& row, const Clock& clock, const std::filesystem::path& directory)
      : row_(&row), clock_(&clock) {
    // Both of ours share one database.
    place_.directory = directory / (row.is_ours ? std::string_view("mayfly") : row.name);
  }

  const PeerRow& row() const { return *row_; }
  Peer& peer() { return *peer_; }

  // Opens the database as the workload needs it: fresh, with its durability, and warm for reads.
  // This is not measured.
  void prepare(const StoreWorkload& workload, std::size_t value_bytes) {
    const bool is_right = peer_ != nullptr && place_.durability == workload.durability;
    if (!is_right || workload.fresh || workload.at_rest) {
      peer_.reset();  // there may be only one at a time
      if (workload.fresh) {
        std::filesystem::remove_all(place_.directory);
        std::filesystem::create_directories(place_.directory);
      }
      place_.durability = workload.durability;
      place_.ttl = workload.ttl;
      place_.value_bytes = value_bytes;
      peer_ = row_->make(*clock_);
      is_warm_ = false;
      peer_->open(place_);
    }
    if (is_warm_ || writes(workload) || row_->name == "mayfly-c") return;
    is_warm_ = true;
    peer_->scan();  // reads everything once, so that all pages are in memory
  }

  // After a workload: waits until the disk has what was written, so that no system pays for what
  // another one wrote.
  void finish(const StoreWorkload& workload) {
    if (row_->name == "mayfly-c") return peer_.reset();
    if (!writes(workload)) return;
    is_warm_ = false;
    sync_files(place_.directory);
  }

  void close() { peer_.reset(); }

 private:
  const PeerRow* row_;
  const Clock* clock_;
  PeerPlace place_;
  std::unique_ptr<Peer> peer_;
  bool is_warm_ = false;  // all was read since it was opened or written to
};

struct Measured {
  PeerTally tally;
  double rate = 0;  // operations a second
};

PeerTally run_task(Peer& peer, StoreTask task, const StoreOps& ops) {
  switch (task) {
    case StoreTask::get:
      return peer.get(ops);
    case StoreTask::get_each:
      return peer.get_each(ops);
    case StoreTask::scan:
      return peer.scan();
    case StoreTask::purge:
    case StoreTask::put:
    case StoreTask::put_each:
    case StoreTask::put_threads:
    case StoreTask::mixed:
      break;
  }
  return peer.apply(ops, kStoreBatch);
}

// Until `most` seconds have passed. The first puts are not measured: some systems make their log
// with them. The rate of several threads is that of all together.
Measured measure_single_puts(double most, Peer& peer, const StoreOps& ops) {
  peer.apply({ops.values, ops.ops.first(std::min(kBlock, ops.ops.size()))}, 1);
  const std::int64_t start = monotonic_ns();
  std::size_t done = 0;
  double seconds = 0;
  while (done < ops.ops.size() && seconds < most) {
    const auto block = ops.ops.subspan(done, std::min(kBlock, ops.ops.size() - done));
    peer.apply({ops.values, block}, 1);
    done += block.size();
    seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  }
  return {{.entries = done}, static_cast<double>(done) / seconds};
}

Measured measure_threads(double most, Peer& peer, const StoreOps& ops) {
  const std::size_t share = ops.ops.size() / kStoreThreads;
  std::vector<std::future<Measured>> parts;
  for (std::size_t i = 0; i < kStoreThreads; ++i) {
    const StoreOps part{ops.values, ops.ops.subspan(i * share, share)};
    parts.push_back(std::async(std::launch::async,
                               [=, &peer] { return measure_single_puts(most, peer, part); }));
  }
  Measured all;
  for (std::future<Measured>& part : parts) {
    const Measured one = part.get();
    all.tally.entries += one.tally.entries;
    all.rate += one.rate;
  }
  return all;
}

Measured measure(const StorePlan& plan, Peer& peer, const StoreWorkload& workload,
                 const StoreOps& ops) {
  const double most = workload.sustained ? plan.sustained_seconds : plan.single_seconds;
  if (workload.task == StoreTask::put_each) return measure_single_puts(most, peer, ops);
  if (workload.task == StoreTask::put_threads) return measure_threads(most, peer, ops);
  const std::int64_t start = monotonic_ns();
  const PeerTally tally = run_task(peer, workload.task, ops);
  const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  const bool by_entries = workload.task == StoreTask::scan;
  return {tally, static_cast<double>(by_entries ? tally.entries : ops.ops.size()) / seconds};
}

// What is gone counts, not what the purge says: Mayfly drops some of it by itself meanwhile.
Measured measure_purge(Peer& peer, ManualClock& clock) {
  const std::uint64_t before = peer.scan().entries;
  clock.set(kStoreBenchHalfDue);
  const std::int64_t start = monotonic_ns();
  peer.purge();
  const double seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
  clock.set(kStoreBenchStart);  // so that the scan shows what is still there, due or not
  const std::uint64_t gone = before - peer.scan().entries;
  return {{.entries = gone}, static_cast<double>(gone) / seconds};
}

// How many single puts there were depends on the speed; so does what is read after them.
void compare(const StoreWorkload& workload, const PeerRow& row, const PeerTally& expected,
             const PeerTally& seen) {
  if (is_single(workload)) return;
  const bool same_values = writes(workload) || seen.digest == expected.digest;
  if (seen.entries == expected.entries && same_values) return;
  throw Failure(fmt::format("'{}': {} saw {} entries where the first saw {}{}", workload.name,
                            row.name, seen.entries, expected.entries,
                            same_values ? "" : ", and other values"));
}

class StoreRunner {
 public:
  StoreRunner(const StorePlan& plan, const std::filesystem::path& directory, Results& results,
              Progress& progress)
      : plan_(plan), results_(results), progress_(progress) {
    for (const PeerRow* const row : plan.peers) systems_.emplace_back(*row, clock_, directory);
  }

  void run() {
    for (int round = 0; round < plan_.rounds; ++round) {
      for (const std::size_t value_bytes : plan_.value_bytes) {
        for (const StoreWorkload& workload : store_workloads()) {
          if (is_needed(plan_, workload)) run_workload(workload, value_bytes, round);
        }
        for (System& system : systems_) system.close();
      }
    }
  }

 private:
  // All systems run one workload. Another one begins in each round.
  void run_workload(const StoreWorkload& workload, std::size_t value_bytes, int round) {
    const ValuePool values(value_bytes, plan_.seed);
    const std::vector<StoreOp> ops = make_ops({.keys = plan_.keys,
                                               .count = op_count(plan_, workload),
                                               .order = workload.order,
                                               .ttl = workload.ttl,
                                               .mixed = workload.task == StoreTask::mixed,
                                               .generation = workload.generation,
                                               .seed = plan_.seed + static_cast<unsigned>(round)});
    std::optional<PeerTally> expected;
    for (std::size_t i = 0; i < systems_.size(); ++i) {
      System& system = systems_[(i + static_cast<std::size_t>(round)) % systems_.size()];
      if (!takes(system.row(), workload)) continue;
      progress_.begin(fmt::format("{}, {} B, {}", workload.title, value_bytes, system.row().name));
      system.prepare(workload, value_bytes);
      const Measured measured = workload.task == StoreTask::purge
                                    ? measure_purge(system.peer(), clock_)
                                    : measure(plan_, system.peer(), workload, {&values, ops});
      system.finish(workload);
      if (!expected) expected = measured.tally;
      compare(workload, system.row(), *expected, measured.tally);
      progress_.add(work_of(plan_, workload, value_bytes));
      if (is_reported(plan_, workload)) {
        record(workload, value_bytes, system.row(), round, measured.rate);
      }
    }
  }

  void record(const StoreWorkload& workload, std::size_t value_bytes, const PeerRow& peer,
              int round, double rate) {
    results_.add({.suite = "store",
                  .part = "rates",
                  .name = title_of(workload),
                  .system = std::string(peer.name),
                  .round = round,
                  .settings = {{"keys", static_cast<double>(plan_.keys)},
                               {"value_bytes", static_cast<double>(value_bytes)}},
                  .metrics = {{"ops_per_second", rate}}});
  }

  const StorePlan& plan_;
  Results& results_;
  Progress& progress_;
  ManualClock clock_{kStoreBenchStart};
  std::vector<System> systems_;
};

}  // namespace

void run_store(const StorePlan& plan, Results& results) {
  const ScratchDirectory scratch = must(ScratchDirectory::make(plan.directory));
  check_space(plan, std::filesystem::space(scratch.path()).available);
  for (const PeerRow* const peer : plan.missing) {
    results.notes.push_back(fmt::format("{}: not built in; `make bench` installs it", peer->name));
  }
  for (const PeerRow* const peer : plan.peers) {
    results.systems.emplace_back(peer->name, peer->idea);
  }
  Progress progress(stderr, is_terminal(STDERR_FILENO), total_work(plan));
  StoreRunner(plan, scratch.path(), results, progress).run();
  for (int round = 0; round < plan.rounds; ++round) {
    for (const StoreExtra& extra : store_extras()) {
      if (!is_asked_for(plan, extra) || (extra.once && round > 0)) continue;
      Run run = extra.run(plan, scratch.path(), progress);
      run.round = round;
      results.add(std::move(run));
    }
  }
  results.seconds = progress.seconds();
}

}  // namespace mayfly::bench
