// SPDX-License-Identifier: Apache-2.0
// What is measured of Mayfly's store alone, one row each: the rows, and the short ones of them.
// Declared in store_suite.h.

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "bench/report/must.h"
#include "bench/store/store_suite.h"
#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kFillBatch = 100;

// clang-format off
constexpr StoreExtra kExtras[] = {
    {"stream", true, false,
     [](const StorePlan& plan, const std::filesystem::path& directory, Progress& progress) {
       return run_stream(plan.stream, directory, progress);
     },
     [](const StorePlan& plan) { return stream_work(plan.stream); },
     [](const StorePlan&) { return std::uint64_t{1} << 30; }},
    {"overwrite", true, false,
     [](const StorePlan& plan, const std::filesystem::path& directory, Progress& progress) {
       return run_overwrites(plan.overwrites, directory, progress);
     },
     [](const StorePlan& plan) { return static_cast<double>(plan.overwrites); },
     [](const StorePlan&) { return std::uint64_t{100} << 20; }},
    {"recovery", true, false,
     [](const StorePlan& plan, const std::filesystem::path& directory, Progress& progress) {
       return run_recovery(plan.recovery, directory, progress);
     },
     [](const StorePlan& plan) { return static_cast<double>(plan.recovery.segment_bytes) / 20; },
     [](const StorePlan& plan) { return std::uint64_t{40} * plan.recovery.segment_bytes; }},
    {"churn", false, true,
     [](const StorePlan& plan, const std::filesystem::path& directory, Progress& progress) {
       return run_churn(plan.churn, directory, progress);
     },
     [](const StorePlan& plan) { return churn_work(plan.churn); },
     [](const StorePlan& plan) {
       const auto ttl = static_cast<std::uint64_t>(plan.churn.ttl.count());
       return (plan.churn.value_bytes + 400) * plan.churn.puts_per_second * ttl * 3;
     }},
};
// clang-format on

// In the child: puts until the log is nearly full, tells how many bytes it has, and waits.
[[noreturn]] void fill_and_wait(const RecoveryPlan& plan, const std::filesystem::path& path,
                                int out) {
  const SystemClock clock;
  std::array<double, 2> told{};  // puts, bytes in the log that are not in the tree
  auto store = Store::open(path, clock, {.log_segment_bytes = plan.segment_bytes});
  const ValuePool values(plan.value_bytes, 1);
  const auto full = 2 * static_cast<double>(plan.segment_bytes) * 0.9;  // erasures have the rest
  for (std::size_t puts = 0; store && puts < plan.most_puts && told[1] < full;) {
    auto txn = store->write();
    if (!txn) break;
    for (std::size_t i = 0; i < kFillBatch; ++i, ++puts) {
      const StoreOp op{.key = token_key(puts), .value = static_cast<std::uint32_t>(puts % 65'536)};
      txn->put(op.key_view(), values[op], std::chrono::hours(1));
    }
    if (!txn->commit()) break;
    const auto stats = store->stats();
    if (!stats) break;
    told = {static_cast<double>(puts), static_cast<double>(stats->pending_bytes)};
  }
  if (::write(out, told.data(), sizeof told) != sizeof told) ::_exit(1);
  for (;;) ::pause();
}

// Forks, lets the child fill the log, and kills it. Returns what it told.
std::array<double, 2> killed_while_full(const RecoveryPlan& plan,
                                        const std::filesystem::path& path) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw Failure("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw Failure("no process");
  if (child == 0) {
    try {
      fill_and_wait(plan, path, pipe[1]);
    } catch (...) {
      ::_exit(1);
    }
  }
  ::close(pipe[1]);
  std::array<double, 2> told{};
  const bool whole = ::read(pipe[0], told.data(), sizeof told) == sizeof told;
  ::close(pipe[0]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!whole || told[0] == 0) throw Failure("the store to be killed could not be filled");
  return told;
}

}  // namespace

std::span<const StoreExtra> store_extras() { return kExtras; }

Run run_overwrites(std::size_t puts, const std::filesystem::path& directory, Progress& progress) {
  constexpr std::size_t kValueBytes = 60;
  progress.begin("overwrites of one key");
  const std::filesystem::path path = directory / "overwrite.db";
  std::filesystem::remove(path);
  const SystemClock clock;
  const ValuePool values(kValueBytes, 1);
  Store store = must(Store::open(path, clock));
  for (std::size_t i = 0; i < puts; ++i) {
    must(store.put("key:00000042", values[{.key = {}, .value = static_cast<std::uint32_t>(i)}]));
  }
  must(store.close());
  progress.add(static_cast<double>(puts));
  return {.suite = "store",
          .part = "overwrite",
          .name = "one key",
          .system = "mayfly",
          .settings = {{"puts", static_cast<double>(puts)},
                       {"value_bytes", static_cast<double>(kValueBytes)}},
          .metrics = {{"file_bytes", static_cast<double>(std::filesystem::file_size(path))}}};
}

Run run_recovery(const RecoveryPlan& plan, const std::filesystem::path& directory,
                 Progress& progress) {
  progress.begin("filling the log of a process to be killed");
  const std::filesystem::path path = directory / "recovery.db";
  for (const char* const ending : {"", "-wal", "-shm", "-lock"}) {
    std::filesystem::remove(path.string() + ending);
  }
  const auto [puts, pending] = killed_while_full(plan, path);
  const SystemClock clock;
  const std::int64_t start = monotonic_ns();
  Store store = must(Store::open(path, clock, {.log_segment_bytes = plan.segment_bytes}));
  const auto took = static_cast<double>(monotonic_ns() - start) / 1e6;
  const auto live = static_cast<double>(must(store.count()).live);
  if (live != puts) {
    throw Failure(fmt::format("{} of {} entries are there after a kill", live, puts));
  }
  must(store.close());
  progress.add(static_cast<double>(plan.segment_bytes) / 20);
  return {.suite = "store",
          .part = "recovery",
          .name = "killed with a full log",
          .system = "mayfly",
          .settings = {{"segment_bytes", static_cast<double>(plan.segment_bytes)},
                       {"value_bytes", static_cast<double>(plan.value_bytes)}},
          .metrics = {{"entries", puts}, {"pending_bytes", pending}, {"open_ms", took}}};
}

}  // namespace mayfly::bench
