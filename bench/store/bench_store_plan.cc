// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cache/bench_plan.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr std::size_t kMostKeys = 40'000'000;  // keys have eight digits, and some are appended
constexpr int kMostRepeats = 100;
constexpr std::size_t kLeastValue = 8;
constexpr std::size_t kMostValue = 65'536;
constexpr std::string_view kChurn = "churn";

Status read_numbers(const StoreBenchWords& words, StoreBenchPlan& plan) {
  if (!words.keys.empty()) {
    const Result<std::size_t> keys = parse_size(words.keys, "--keys");
    if (!keys) return keys.error();
    if (*keys > kMostKeys) {
      return Error{Code::invalid, fmt::format("--keys: {} are too many; {} M are the most", *keys,
                                              kMostKeys / 1'000'000)};
    }
    plan.keys = *keys;
  }
  if (!words.repeats.empty()) {
    const Result<int> repeats = parse_number("--repeats", words.repeats, 1, kMostRepeats);
    if (!repeats) return repeats.error();
    plan.repeats = *repeats;
  }
  if (words.values.empty()) return Done{};
  plan.value_bytes.clear();
  for (const std::string_view text : split_list(words.values)) {
    const auto bytes = parse_number("--values", text, kLeastValue, kMostValue);
    if (!bytes) return bytes.error();
    plan.value_bytes.push_back(*bytes);
  }
  return Done{};
}

Status read_peers(const StoreBenchWords& words, StoreBenchPlan& plan) {
  std::vector<std::string_view> names;
  for (const PeerRow& peer : peer_rows()) {
    if (!peer.is_ours) names.push_back(peer.name);
  }
  const auto chosen = choose_words("--peers", words.peers, names);
  if (!words.peers.empty() && !chosen) return chosen.error();
  for (const PeerRow& peer : peer_rows()) {
    const auto is_it = [&](std::size_t place) { return names[place] == peer.name; };
    const bool wanted = peer.is_ours || words.peers.empty() || std::ranges::any_of(*chosen, is_it);
    if (wanted) (is_built_in(peer) ? plan.peers : plan.missing).push_back(&peer);
  }
  return Done{};
}

// Unless told, everything but the churn, which takes as long as all the rest.
Status read_workloads(const StoreBenchWords& words, StoreBenchPlan& plan) {
  std::vector<std::string_view> names;
  for (const StoreWorkload& workload : store_workloads()) {
    if (std::ranges::find(names, workload.name) == names.end()) names.push_back(workload.name);
  }
  names.push_back(kChurn);
  const auto chosen = choose_words("--only", words.only, names);
  if (!words.only.empty() && !chosen) return chosen.error();
  const auto wants = [&](std::string_view name) {
    return std::ranges::any_of(*chosen, [&](std::size_t place) { return names[place] == name; });
  };
  for (const StoreWorkload& workload : store_workloads()) {
    if (words.only.empty() || wants(workload.name)) plan.workloads.push_back(&workload);
  }
  plan.churn = !words.only.empty() && wants(kChurn);
  return Done{};
}

void make_quick(StoreBenchPlan& plan) {
  plan.keys = 5000;
  plan.repeats = 1;
  plan.single_puts = 100;
  plan.single_seconds = 0.05;
  plan.churn_plan.puts_per_second = 500;
  plan.churn_plan.length = std::chrono::seconds(120);
  plan.churn_plan.ttl = std::chrono::seconds(10);
}

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

Result<StoreBenchPlan> make_store_plan(const StoreBenchWords& words) {
  StoreBenchPlan plan;
  if (words.quick) make_quick(plan);
  for (const auto read : {read_numbers, read_peers, read_workloads}) {
    if (const Status status = read(words, plan); !status) return status.error();
  }
  plan.directory = words.directory.empty() ? std::filesystem::temp_directory_path()
                                           : std::filesystem::path(words.directory);
  return plan;
}

bool is_asked(const StoreBenchPlan& plan, const StoreWorkload& workload) {
  return std::ranges::find(plan.workloads, &workload) != plan.workloads.end();
}

bool is_needed(const StoreBenchPlan& plan, const StoreWorkload& workload) {
  if (is_asked(plan, workload)) return true;
  if (!workload.fresh) return false;
  const StoreWorkload* const end = store_workloads().data() + store_workloads().size();
  for (const StoreWorkload* next = &workload + 1; next != end && !next->fresh; ++next) {
    if (is_asked(plan, *next)) return true;
  }
  return false;
}

std::size_t op_count(const StoreBenchPlan& plan, const StoreWorkload& workload) {
  switch (workload.task) {
    case StoreTask::put_each:
      return plan.single_puts;
    case StoreTask::mixed:
    case StoreTask::purge:
      return plan.keys / 2;
    case StoreTask::put:
    case StoreTask::get:
    case StoreTask::get_each:
    case StoreTask::scan:
      break;
  }
  return plan.keys;
}

std::uint64_t needed_bytes(const StoreBenchPlan& plan) {
  std::uint64_t bytes = 0;
  if (!plan.workloads.empty()) {
    // Pages that are half empty, free pages, logs, compactions under way.
    const std::size_t value = *std::ranges::max_element(plan.value_bytes);
    bytes = (value * 5 / 2 + 400) * plan.keys * plan.peers.size();
  }
  if (plan.churn) {
    const ChurnPlan& churn = plan.churn_plan;
    const auto live = churn.puts_per_second * static_cast<std::uint64_t>(churn.ttl.count());
    bytes += (churn.value_bytes + 400) * live * 3;
  }
  return bytes;
}

Status check_space(const StoreBenchPlan& plan, std::uint64_t available) {
  const std::uint64_t needed = needed_bytes(plan);
  if (needed <= available) return Done{};
  return Error{Code::full,
               fmt::format("the files take up to {}, and '{}' has room for {}; give "
                           "another place with --dir, or fewer --keys",
                           gigabytes(needed), plan.directory.string(), gigabytes(available))};
}

}  // namespace mayfly
