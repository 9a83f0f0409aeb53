// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/expiry_suite.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "bench/report/option_values.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly::bench {
namespace {

constexpr double kDefaultSeconds = 48;  // leaves room in a minute for a busy machine

template <class Index>
constexpr Strategy strategy(std::string_view name, std::string_view idea) {
  return {name, idea, measure_index<Index>, measure_cache<Index>, simulate_lateness<Index>};
}

constexpr Strategy kStrategies[] = {
    strategy<LazyIndex>("lazy", "no index: only reads remove expired entries"),
    strategy<DeadlineHeap>("heap", "binary heap, stale entries are left in it"),
    strategy<Sampler>("sampling", "20 entries at random, ten times a second"),
    strategy<WindowQueue>("windows", "deadlines rounded up to seconds"),
    strategy<TimerWheel>("wheel", "hierarchical timer wheel"),
    strategy<VolatileSet>("volatile-set", "buckets that split by time; the default of Cache"),
    strategy<DeadlineTree>("tree", "ordered set, the reference"),
};

// One strategy in one setting.
struct Trial {
  const Strategy* strategy;
  double seconds = 0;  // of the last round
};

struct Case {
  std::size_t size;
  Distribution distribution;
  std::vector<Trial> trials;
};

// More entries cost more each, since fewer of them fit into the processor's caches.
double work_of(std::size_t size) { return std::pow(static_cast<double>(size), 1.15); }

double lateness_work(const ExpiryPlan& plan) {
  return work_of(plan.lateness_keys + static_cast<std::size_t>(plan.lateness_length.count())) / 8;
}

double total_work(const ExpiryPlan& plan) {
  double once = lateness_work(plan);
  for (const std::size_t size : plan.sizes) once += work_of(size) * plan.rounds;
  return once * static_cast<double>(plan.strategies.size() * plan.distributions.size());
}

std::vector<Case> cases_of(const ExpiryPlan& plan) {
  std::vector<Case> cases;
  for (const std::size_t size : plan.sizes) {
    for (const Distribution distribution : plan.distributions) {
      Case& one = cases.emplace_back(Case{size, distribution, {}});
      for (const Strategy* strategy : plan.strategies) one.trials.push_back({strategy});
    }
  }
  return cases;
}

// Whether there is time for another round of a trial. One that alone takes a large part of all the
// time gets its first round only, so that the others get their second and third.
bool fits(const ExpiryPlan& plan, const Trial& trial, const Progress& progress) {
  if (!plan.seconds_limit) return true;
  const double limit = *plan.seconds_limit;
  return trial.seconds < limit / 20 && progress.seconds() + trial.seconds < limit;
}

void run_round(const ExpiryPlan& plan, int round, Case& one, Results& results, Progress& progress) {
  const std::string name(name_of(one.distribution).name);
  const std::string title = fmt::format("{}, {}, ", size_title(one.size), name);
  progress.begin(title + "workload");
  // Made anew for each round, since all workloads of a large plan at once would fill the memory.
  const Workload workload = make_workload(one.size, one.distribution, plan.seed);
  for (Trial& trial : one.trials) {
    if (round == 0 || fits(plan, trial, progress)) {
      progress.begin(title + std::string(trial.strategy->name));
      const double start = progress.seconds();
      Run run{.suite = "expiry",
              .part = "index",
              .name = name,
              .system = std::string(trial.strategy->name),
              .round = round,
              .settings = {{"entries", static_cast<double>(one.size)}}};
      run.metrics = trial.strategy->measure_index(workload);
      results.add(run);
      run.part = "cache";
      run.metrics = trial.strategy->measure_cache(workload);
      results.add(std::move(run));
      trial.seconds = progress.seconds() - start;
    }
    progress.add(work_of(one.size));
  }
}

double in_ms(Millis time) { return static_cast<double>(time.count()); }

Run lateness_run(const ExpiryPlan& plan, Distribution distribution, const Strategy& strategy,
                 const Lateness& lateness) {
  Series series{"expired but present", "% of entries present"};
  double peak = 0;
  for (std::size_t i = 0; i < lateness.share.size(); ++i) {
    const double seconds = in_ms(kShareStep) / 1e3 * static_cast<double>(i + 1);
    series.points.emplace_back(seconds, 100 * lateness.share[i]);
    peak = std::max(peak, 100 * lateness.share[i]);
  }
  return {.suite = "expiry",
          .part = "lateness",
          .name = std::string(name_of(distribution).name),
          .system = std::string(strategy.name),
          .settings = {{"keys", static_cast<double>(plan.lateness_keys)},
                       {"seconds", in_ms(plan.lateness_length) / 1e3}},
          .metrics = {{"p50_ms", in_ms(lateness.p50)},
                      {"p99_ms", in_ms(lateness.p99)},
                      {"max_ms", in_ms(lateness.max)},
                      {"expired", static_cast<double>(lateness.expired)},
                      {"left", static_cast<double>(lateness.left)},
                      {"peak_percent", peak}},
          .series = {std::move(series)}};
}

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

ExpiryPlan make_expiry_plan(const ExpiryOptions& options) {
  if (options.full && options.quick) throw Failure("--quick and --full exclude each other");
  ExpiryPlan plan;
  plan.sizes = {100'000, 1'000'000};
  if (options.quick) {
    plan.sizes = {1000, 10'000};
    plan.rounds = 1;
    plan.lateness_keys = 5000;
    plan.lateness_length = std::chrono::seconds(10);
  }
  if (!options.sizes.empty()) {
    plan.sizes.clear();
    for (const std::string_view text : split_list(options.sizes)) {
      plan.sizes.push_back(parse_size("--sizes", text));
    }
  }
  if (options.full) plan.sizes.push_back(10'000'000);
  std::ranges::sort(plan.sizes);
  plan.sizes.erase(std::unique(plan.sizes.begin(), plan.sizes.end()), plan.sizes.end());

  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies()) names.push_back(strategy.name);
  for (const std::size_t place : chosen("--strategies", options.strategies, names)) {
    plan.strategies.push_back(&strategies()[place]);
  }
  names.clear();
  for (const DistributionName& row : distributions()) names.push_back(row.name);
  for (const std::size_t place : chosen("--distributions", options.distributions, names)) {
    plan.distributions.push_back(distributions()[place].distribution);
  }
  read_number("--rounds", options.rounds, 1, 100, plan.rounds);
  read_number<std::uint64_t>("--seed", options.seed, 0, ~std::uint64_t{0}, plan.seed);
  if (options.rounds.empty() && !options.full) plan.seconds_limit = kDefaultSeconds;
  return plan;
}

void run_expiry(const ExpiryPlan& plan, Results& results) {
  Progress progress(stderr, is_terminal(STDERR_FILENO), total_work(plan));
  for (const Strategy* const strategy : plan.strategies) {
    results.systems.emplace_back(strategy->name, strategy->idea);
  }
  for (const Distribution distribution : plan.distributions) {
    const Traffic traffic =
        make_traffic(plan.lateness_keys, plan.lateness_length, distribution, plan.seed);
    for (const Strategy* strategy : plan.strategies) {
      progress.begin(fmt::format("lateness, {}, {}", name_of(distribution).name, strategy->name));
      results.add(lateness_run(plan, distribution, *strategy, strategy->simulate(traffic)));
      progress.add(lateness_work(plan));
    }
  }
  std::vector<Case> cases = cases_of(plan);
  for (int round = 0; round < plan.rounds; ++round) {
    for (Case& one : cases) run_round(plan, round, one, results, progress);
  }
  results.seconds = progress.seconds();
}

}  // namespace mayfly::bench
