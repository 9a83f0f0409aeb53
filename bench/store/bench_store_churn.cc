// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_churn.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bench/store/bench_store_ops.h"
#include "mayfly/random.h"
#include "mayfly/store.h"

namespace mayfly {
namespace {

using std::chrono::seconds;

// The keys of session tokens: no order in them, and none comes twice. Three rounds of a Feistel
// cipher over 28 bits; what comes out beyond the eight digits that a key has goes round again.
std::size_t scrambled(std::size_t number) {
  constexpr std::uint64_t kHalf = (1 << 14) - 1;
  do {
    std::uint64_t left = number >> 14 & kHalf;
    std::uint64_t right = number & kHalf;
    for (std::uint64_t round = 1; round <= 3; ++round) {
      const std::uint64_t next = left ^ (Random(right + (round << 32)).next() & kHalf);
      left = std::exchange(right, next);
    }
    number = left << 14 | right;
  } while (number >= 100'000'000);
  return number;
}

Status put_second(Store& store, const ChurnPlan& plan, const ValuePool& values, std::size_t first) {
  const std::size_t end = first + plan.puts_per_second;
  for (std::size_t begin = first; begin < end; begin += plan.batch) {
    Result<WriteTxn> txn = store.write();
    if (!txn) return txn.error();
    for (std::size_t number = begin; number < std::min(begin + plan.batch, end); ++number) {
      const StoreOp op{.key = bench_key(scrambled(number)),
                       .value = static_cast<std::uint32_t>(number % 65'536)};
      txn->put(op.key_view(), values[op], plan.ttl);
    }
    if (const Status status = txn->commit(); !status) return status;
  }
  return Done{};
}

Status finish(Store& store, const ChurnPlan& plan, const std::filesystem::path& directory,
              ChurnResult& result) {
  const Result<FamilyCounts> counts = store.count();
  if (!counts) return counts.error();
  const Result<StoreStats> stats = store.stats();
  if (!stats) return stats.error();
  result.live_entries = counts->live;
  result.live_bytes = counts->live * (kBenchKeyBytes + plan.value_bytes);
  result.file_bytes = stats->file_bytes;
  const std::filesystem::path copy = directory / "churn-compact.db";
  if (const Status status = store.backup(copy); !status) return status;
  result.compact_bytes = std::filesystem::file_size(copy);
  return Done{};
}

}  // namespace

Result<ChurnResult> run_churn(const ChurnPlan& plan, const std::filesystem::path& directory,
                              Progress& progress) {
  ManualClock clock(kStoreBenchStart);
  Result<Store> store = Store::open(directory / "churn.db", clock, {.durability = plan.durability});
  if (!store) return store.error();
  const ValuePool values(plan.value_bytes, 1);
  ChurnResult result;
  const double start = progress.seconds();
  for (seconds now{0}; now < plan.length; ++now) {
    if (now % seconds(10) == seconds(0)) {
      progress.begin("churn, " + std::to_string(now.count()) + " simulated seconds");
    }
    if (now % seconds(60) == seconds(0) && now > seconds(0)) {
      const Result<StoreStats> stats = store->stats();
      if (!stats) return stats.error();
      result.file_bytes_each_minute.push_back(stats->file_bytes);
    }
    if (const Status status = put_second(*store, plan, values, result.puts); !status) {
      return status.error();
    }
    result.puts += plan.puts_per_second;
    clock.advance(seconds(1));
    if (const Purged purged = store->purge_expired(); !purged.status) return purged.status.error();
    progress.add(churn_work(plan) / static_cast<double>(plan.length.count()));
  }
  result.seconds = progress.seconds() - start;
  if (const Status status = finish(*store, plan, directory, result); !status) {
    return status.error();
  }
  return result;
}

double churn_work(const ChurnPlan& plan) {
  return static_cast<double>(plan.puts_per_second) * static_cast<double>(plan.length.count()) * 10;
}

}  // namespace mayfly
