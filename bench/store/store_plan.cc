// SPDX-License-Identifier: Apache-2.0
// What a run of the suite `store` measures. Declared in store_suite.h.

#include <fmt/format.h>

#include <algorithm>

#include "bench/report/option_values.h"
#include "bench/store/store_suite.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kMostKeys = 40'000'000;  // keys have eight digits, and some are appended

void choose_peers(const StoreOptions& options, StorePlan& plan) {
  std::vector<std::string_view> names;
  for (const PeerRow& peer : peer_rows()) {
    if (!peer.is_ours) names.push_back(peer.name);
  }
  const std::vector<std::size_t> places = chosen("--peers", options.peers, names);
  for (const PeerRow& peer : peer_rows()) {
    const bool is_chosen = peer.is_ours || std::ranges::any_of(places, [&](std::size_t place) {
                             return names[place] == peer.name;
                           });
    if (is_chosen) (is_built_in(peer) ? plan.peers : plan.missing).push_back(&peer);
  }
}

void choose_workloads(const StoreOptions& options, StorePlan& plan) {
  std::vector<std::string_view> names;
  for (const StoreWorkload& workload : store_workloads()) {
    if (std::ranges::find(names, workload.name) == names.end()) names.push_back(workload.name);
  }
  for (const StoreExtra& extra : store_extras()) names.push_back(extra.name);
  for (const std::size_t place : chosen("--only", options.only, names)) {
    for (const StoreExtra& extra : store_extras()) {
      const bool is_wanted = extra.by_default || !options.only.empty();
      if (extra.name == names[place] && is_wanted) plan.extras.push_back(&extra);
    }
    for (const StoreWorkload& workload : store_workloads()) {
      if (workload.name == names[place]) plan.workloads.push_back(&workload);
    }
  }
  std::ranges::sort(plan.workloads);  // they lie in one array, in the order in which they run
}

std::uint64_t needed_bytes(const StorePlan& plan) {
  std::uint64_t bytes = 0;
  if (!plan.workloads.empty()) {
    // Pages that are half empty, free pages, logs, compactions in progress.
    const std::size_t value = *std::ranges::max_element(plan.value_bytes);
    bytes = (value * 5 / 2 + 400) * plan.keys * plan.peers.size();
  }
  for (const StoreExtra* const extra : plan.extras) bytes = std::max(bytes, extra->bytes(plan));
  return bytes;
}

}  // namespace

StorePlan make_store_plan(const StoreOptions& options) {
  StorePlan plan;
  if (options.quick) {
    plan.keys = 5000;
    plan.rounds = 1;
    plan.single_puts = 100;
    plan.single_seconds = 0.05;
    plan.sustained_seconds = 0.2;
    plan.churn.puts_per_second = 500;
    plan.churn.length = std::chrono::seconds(120);
    plan.churn.ttl = std::chrono::seconds(10);
    plan.stream.puts_per_second = 2000;
    plan.stream.length = std::chrono::seconds(2);
    plan.stream.ttl = Millis(200);
    plan.overwrites = 300;
    plan.recovery.segment_bytes = std::size_t{1} << 20;
  }
  if (!options.keys.empty()) plan.keys = parse_size("--keys", options.keys, 100, kMostKeys);
  read_number("--rounds", options.rounds, 1, 100, plan.rounds);
  if (!options.values.empty()) {
    plan.value_bytes.clear();
    for (const std::string_view text : split_list(options.values)) {
      plan.value_bytes.push_back(must(parse_number<std::size_t>("--values", text, 8, 65'536)));
    }
  }
  choose_peers(options, plan);
  choose_workloads(options, plan);
  plan.directory = options.directory.empty() ? std::filesystem::temp_directory_path()
                                             : std::filesystem::path(options.directory);
  return plan;
}

bool is_reported(const StorePlan& plan, const StoreWorkload& workload) {
  return std::ranges::find(plan.workloads, &workload) != plan.workloads.end();
}

bool is_asked_for(const StorePlan& plan, const StoreExtra& extra) {
  return std::ranges::find(plan.extras, &extra) != plan.extras.end();
}

bool is_needed(const StorePlan& plan, const StoreWorkload& workload) {
  if (is_reported(plan, workload)) return true;
  if (!workload.fresh) return false;
  const StoreWorkload* const end = store_workloads().data() + store_workloads().size();
  for (const StoreWorkload* next = &workload + 1; next != end && !next->fresh; ++next) {
    if (is_reported(plan, *next)) return true;
  }
  return false;
}

void check_space(const StorePlan& plan, std::uint64_t available) {
  const std::uint64_t needed = needed_bytes(plan);
  if (needed <= available) return;
  throw Failure(fmt::format(
      "the files take up to {:.1f} GB, and '{}' has {:.1f} GB free; use --dir, or fewer --keys",
      static_cast<double>(needed) / 1e9, plan.directory.string(),
      static_cast<double>(available) / 1e9));
}

}  // namespace mayfly::bench
