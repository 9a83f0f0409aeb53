// SPDX-License-Identifier: Apache-2.0
// The simulation of entries that come and go. Declared in store_suite.h.

#include <algorithm>
#include <string>
#include <utility>

#include "bench/report/must.h"
#include "bench/store/store_suite.h"
#include "mayfly/store.h"

namespace mayfly::bench {
namespace {

void put_second(Store& store, const ChurnPlan& plan, const ValuePool& values, std::size_t first) {
  const std::size_t end = first + plan.puts_per_second;
  for (std::size_t begin = first; begin < end; begin += plan.batch) {
    WriteTxn txn = must(store.write());
    for (std::size_t number = begin; number < std::min(begin + plan.batch, end); ++number) {
      const StoreOp op{.key = token_key(number),
                       .value = static_cast<std::uint32_t>(number % 65'536)};
      txn.put(op.key_view(), values[op], plan.ttl);
    }
    must(txn.commit());
  }
}

double file_bytes(Store& store) { return static_cast<double>(must(store.stats()).file_bytes); }

}  // namespace

Run run_churn(const ChurnPlan& plan, const std::filesystem::path& directory, Progress& progress) {
  ManualClock clock(kStoreBenchStart);
  Store store = must(Store::open(directory / "churn.db", clock, {.durability = plan.durability}));
  const ValuePool values(plan.value_bytes, 1);
  Series sizes{"file", "bytes"};
  std::size_t puts = 0;
  const double start = progress.seconds();
  for (std::chrono::seconds now{0}; now < plan.length; ++now) {
    if (now % std::chrono::seconds(10) == std::chrono::seconds(0)) {
      progress.begin("churn, " + std::to_string(now.count()) + " simulated seconds");
    }
    if (now % std::chrono::seconds(60) == std::chrono::seconds(0) &&
        now > std::chrono::seconds(0)) {
      sizes.points.emplace_back(static_cast<double>(now.count()), file_bytes(store));
    }
    put_second(store, plan, values, puts);
    puts += plan.puts_per_second;
    clock.advance(std::chrono::seconds(1));
    must(store.purge_expired().status);
    progress.add(churn_work(plan) / static_cast<double>(plan.length.count()));
  }
  const double took = progress.seconds() - start;
  const auto live = static_cast<double>(must(store.count()).live);
  must(store.checkpoint());               // the last entries are in the log still
  const double size = file_bytes(store);  // the file never shrinks, so this is the most
  sizes.points.emplace_back(static_cast<double>(plan.length.count()), size);
  const std::filesystem::path copy = directory / "churn-compact.db";
  must(store.backup(copy));
  const auto compact = static_cast<double>(std::filesystem::file_size(copy));
  return {.suite = "store",
          .part = "churn",
          .name = "churn",
          .system = "mayfly",
          .settings = {{"puts_per_second", static_cast<double>(plan.puts_per_second)},
                       {"simulated_seconds", static_cast<double>(plan.length.count())},
                       {"ttl_seconds", static_cast<double>(plan.ttl.count())},
                       {"durability", std::string(name_of(plan.durability))}},
          .metrics = {{"puts", static_cast<double>(puts)},
                      {"live_entries", live},
                      {"live_bytes", live * static_cast<double>(kBenchKeyBytes + plan.value_bytes)},
                      {"compact_bytes", compact},
                      {"file_bytes", size},
                      {"file_to_compact", size / compact},
                      {"puts_per_second", static_cast<double>(puts) / took}},
          .series = {std::move(sizes)}};
}

double churn_work(const ChurnPlan& plan) {
  return static_cast<double>(plan.puts_per_second) * static_cast<double>(plan.length.count()) * 10;
}

}  // namespace mayfly::bench
