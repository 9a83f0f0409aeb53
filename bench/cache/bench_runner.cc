// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/bench_runner.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/report/statistics.h"

namespace mayfly {
namespace {

// What was measured of one strategy in one setting, round by round.
struct Trial {
  const Strategy* strategy;
  std::vector<Costs> index;
  std::vector<Costs> cache;
  double seconds = 0;  // of the last round
};

struct Setting {
  std::size_t size;
  Distribution distribution;
  std::vector<Trial> trials;
};

// More entries cost more each, since fewer of them fit into the processor's caches.
double work_of(std::size_t size) { return std::pow(static_cast<double>(size), 1.15); }

double lateness_work(const BenchPlan& plan) {
  return work_of(plan.lateness_keys + static_cast<std::size_t>(plan.lateness_length.count())) / 8;
}

std::vector<Setting> settings_of(const BenchPlan& plan) {
  std::vector<Setting> settings;
  for (const std::size_t size : plan.sizes) {
    for (const Distribution distribution : plan.distributions) {
      Setting& setting = settings.emplace_back(Setting{size, distribution, {}});
      for (const Strategy* strategy : plan.strategies) {
        setting.trials.push_back({.strategy = strategy, .index = {}, .cache = {}});
      }
    }
  }
  return settings;
}

// Whether there is time for another round of a trial. One that alone takes a large part of all the
// time has to do with its first round, so that the others get their second and third.
bool fits(const BenchPlan& plan, const Trial& trial, const Progress& progress) {
  if (!plan.seconds_limit) return true;
  const double limit = *plan.seconds_limit;
  return trial.seconds < limit / 20 && progress.seconds() + trial.seconds < limit;
}

void run_round(const BenchPlan& plan, int round, Setting& setting, Progress& progress) {
  const std::string title =
      fmt::format("{}, {}, ", size_title(setting.size), name_of(setting.distribution).name);
  progress.begin(title + "workload");
  // Made anew for each round, since all workloads of a large plan at once would fill the memory.
  const Workload workload = make_workload(setting.size, setting.distribution, plan.seed);
  for (Trial& trial : setting.trials) {
    if (round == 0 || fits(plan, trial, progress)) {
      progress.begin(title + std::string(trial.strategy->title));
      const double start = progress.seconds();
      trial.index.push_back(trial.strategy->measure_index(workload));
      trial.cache.push_back(trial.strategy->measure_cache(workload));
      trial.seconds = progress.seconds() - start;
    }
    progress.add(work_of(setting.size));
  }
}

Costs medians(const std::vector<Costs>& rounds) {
  Costs result;
  for (std::size_t i = 0; i < kMeasures; ++i) {
    const auto measure = static_cast<Measure>(i);
    std::vector<double> values;
    for (const Costs& costs : rounds) {
      if (costs[measure]) values.push_back(*costs[measure]);
    }
    if (!values.empty()) result[measure] = median(values);
  }
  return result;
}

Comparison compare(Layer layer, const Setting& setting) {
  Comparison comparison{layer, setting.size, setting.distribution, {}};
  for (const Trial& trial : setting.trials) {
    const std::vector<Costs>& rounds = layer == Layer::index ? trial.index : trial.cache;
    comparison.rows.push_back({trial.strategy->name, medians(rounds), rounds.size()});
  }
  return comparison;
}

LatenessComparison compare_lateness(const BenchPlan& plan, Distribution distribution,
                                    Progress& progress) {
  const Traffic traffic =
      make_traffic(plan.lateness_keys, plan.lateness_length, distribution, plan.seed);
  LatenessComparison comparison{distribution, plan.lateness_keys, plan.lateness_length, {}};
  for (const Strategy* strategy : plan.strategies) {
    progress.begin(fmt::format("lateness, {}, {}", name_of(distribution).name, strategy->title));
    comparison.rows.push_back({strategy->name, strategy->simulate(traffic)});
    progress.add(lateness_work(plan));
  }
  return comparison;
}

}  // namespace

double total_work(const BenchPlan& plan) {
  double once = lateness_work(plan);
  for (const std::size_t size : plan.sizes) once += work_of(size) * plan.rounds;
  return once * static_cast<double>(plan.strategies.size() * plan.distributions.size());
}

BenchResults run_plan(const BenchPlan& plan, Progress& progress) {
  BenchResults results;
  for (const Distribution distribution : plan.distributions) {
    results.lateness.push_back(compare_lateness(plan, distribution, progress));
  }
  std::vector<Setting> settings = settings_of(plan);
  for (int round = 0; round < plan.rounds; ++round) {
    for (Setting& setting : settings) run_round(plan, round, setting, progress);
  }
  for (const Setting& setting : settings) {
    results.comparisons.push_back(compare(Layer::index, setting));
    results.comparisons.push_back(compare(Layer::cache, setting));
  }
  results.seconds = progress.seconds();
  return results;
}

}  // namespace mayfly
