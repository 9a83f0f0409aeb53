// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_bars.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace mayfly {
namespace {

using enum Durability;

constexpr std::size_t kReferenceKeys = 1'000'000;
constexpr double kChurnFactor = 2;

// One side of a comparison: who, doing what.
struct Side {
  std::string_view peer;
  std::string_view workload;
  Durability durability = off;
};

struct StoreBar {
  double factor;
  Side ours;
  Side other;
};

constexpr StoreBar vs_lmdb(double factor, std::string_view workload, Durability durability = off) {
  return {factor, {"mayfly", workload, durability}, {"lmdb", workload, durability}};
}

constexpr StoreBar vs_sqlite(double factor, std::string_view workload,
                             Durability durability = off) {
  return {factor, {"mayfly", workload, durability}, {"sqlite", workload, durability}};
}

constexpr StoreBar vs_own_full(double factor, std::string_view workload) {
  return {factor, {"mayfly", workload, normal}, {"mayfly", workload, full}};
}

constexpr StoreBar kBars[] = {
    vs_lmdb(0.95, "get"),
    vs_lmdb(0.9, "scan"),
    vs_lmdb(0.9, "put-seq"),
    vs_lmdb(0.9, "put-random"),
    vs_lmdb(0.9, "put-single-seq"),
    vs_lmdb(0.9, "put-single"),
    vs_lmdb(0.9, "put-single-seq", full),
    vs_lmdb(0.9, "put-single", full),
    vs_lmdb(0.9, "get-ttl"),
    vs_lmdb(0.9, "scan-ttl"),
    vs_lmdb(0.9, "put-ttl"),
    vs_lmdb(0.9, "put-single-ttl"),
    vs_lmdb(0.9, "put-single-ttl", full),
    vs_lmdb(0.9, "mixed"),
    vs_lmdb(0.9, "purge"),
    {0.6, {"mayfly-c", "get-auto"}, {"lmdb", "get"}},
    vs_sqlite(4, "get-ttl"),
    vs_sqlite(4, "put-ttl", normal),
    vs_sqlite(4, "purge", normal),
    vs_sqlite(4, "scan"),
    vs_sqlite(4, "scan-ttl"),
    vs_own_full(4, "put-single"),
    vs_own_full(4, "put-single-ttl"),
    vs_sqlite(0.7, "put-single", normal),
    vs_sqlite(0.7, "put-single-ttl", normal),
    vs_sqlite(3, "put-single"),
    vs_sqlite(3, "put-single-ttl"),
};

// The worst ratio over the sizes of values, and at which size it was.
struct Worst {
  double ratio;
  std::size_t value_bytes;
};

const StoreRow::Cell* find(const StoreResults& results, const Side& side, std::size_t value_bytes) {
  const StoreRow* const row = results.find(side.workload, side.durability, value_bytes);
  return row != nullptr ? row->find(side.peer) : nullptr;
}

std::optional<Worst> worst(const StoreResults& results, const StoreBar& bar) {
  std::optional<Worst> found;
  for (const StoreRow& row : results.rows) {
    const auto value =
        ratio(find(results, bar.ours, row.value_bytes), find(results, bar.other, row.value_bytes));
    if (value && (!found || *value < found->ratio)) found = Worst{*value, row.value_bytes};
  }
  return found;
}

// What the other side is called, as far as it differs from ours.
std::string other_title(const StoreBar& bar) {
  std::string title(peer_named(bar.other.peer).title);
  if (bar.other.peer == bar.ours.peer) {
    title = "itself at ";
    title += name_of(bar.other.durability);
  } else if (bar.other.workload != bar.ours.workload) {
    title += "'s '" + title_of(store_workload(bar.other.workload, bar.other.durability)) + "'";
  }
  return title;
}

Bar judge_churn(const ChurnResult& churn) {
  const ChurnPlan plan;
  const double measured = churn.ratio();
  return {fmt::format("under churn the file is {:.2f}x its compacted copy (bar: {:.0f}x at most)",
                      measured, kChurnFactor),
          measured, kChurnFactor, measured <= kChurnFactor,
          churn.puts == plan.puts_per_second * static_cast<std::uint64_t>(plan.length.count())};
}

}  // namespace

std::vector<Bar> judge_store(const StoreResults& results) {
  std::vector<Bar> bars;
  for (const StoreBar& bar : kBars) {
    const std::optional<Worst> found = worst(results, bar);
    if (!found) continue;
    const StoreWorkload& workload = store_workload(bar.ours.workload, bar.ours.durability);
    const std::string who =
        bar.ours.peer == "mayfly" ? "" : fmt::format("{}: ", peer_named(bar.ours.peer).title);
    bars.push_back({fmt::format("{}{}: {:.2f}x {} ({} B values; bar: {}x)", who, title_of(workload),
                                found->ratio, other_title(bar), found->value_bytes, bar.factor),
                    found->ratio, bar.factor, found->ratio >= bar.factor,
                    results.keys == kReferenceKeys});
  }
  if (results.churn) bars.push_back(judge_churn(*results.churn));
  return bars;
}

}  // namespace mayfly
