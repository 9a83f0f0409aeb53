// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/bench_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr std::size_t kLeastSize = 100;  // fewer are gone before the stopwatch has ticked
constexpr std::size_t kMostSize = 100'000'000;
constexpr int kMostRounds = 100;

constexpr double kDefaultSeconds = 48;  // leaves room in a minute for a machine that is busy

Status read_sizes(const BenchWords& words, BenchPlan& plan) {
  plan.sizes = words.quick ? std::vector<std::size_t>{1000, 10'000}
                           : std::vector<std::size_t>{100'000, 1'000'000};
  if (!words.sizes.empty()) {
    plan.sizes.clear();
    for (const std::string_view text : split_list(words.sizes)) {
      const Result<std::size_t> size = parse_size(text);
      if (!size) return size.error();
      plan.sizes.push_back(*size);
    }
  }
  if (words.full) plan.sizes.push_back(10'000'000);
  std::ranges::sort(plan.sizes);
  plan.sizes.erase(std::unique(plan.sizes.begin(), plan.sizes.end()), plan.sizes.end());
  return Done{};
}

Status read_strategies(const BenchWords& words, BenchPlan& plan) {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies()) names.push_back(strategy.name);
  const auto chosen = choose_words("--strategies", words.strategies, names);
  if (!words.strategies.empty() && !chosen) return chosen.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (words.strategies.empty() || std::ranges::find(*chosen, i) != chosen->end()) {
      plan.strategies.push_back(&strategies()[i]);
    }
  }
  return Done{};
}

Status read_distributions(const BenchWords& words, BenchPlan& plan) {
  std::vector<std::string_view> names;
  for (const DistributionName& row : distributions()) names.push_back(row.name);
  const auto chosen = choose_words("--distributions", words.distributions, names);
  if (!words.distributions.empty() && !chosen) return chosen.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (words.distributions.empty() || std::ranges::find(*chosen, i) != chosen->end()) {
      plan.distributions.push_back(distributions()[i].distribution);
    }
  }
  return Done{};
}

Status read_numbers(const BenchWords& words, BenchPlan& plan) {
  if (words.quick) plan.rounds = 1;
  if (!words.rounds.empty()) {
    const auto rounds = parse_number("--rounds", words.rounds, 1, kMostRounds);
    if (!rounds) return rounds.error();
    plan.rounds = *rounds;
  } else if (!words.full) {
    plan.seconds_limit = kDefaultSeconds;
  }
  if (!words.seed.empty()) {
    const auto seed = parse_number<std::uint64_t>("--seed", words.seed, 0, ~std::uint64_t{0});
    if (!seed) return seed.error();
    plan.seed = *seed;
  }
  return Done{};
}

}  // namespace

Result<BenchPlan> make_plan(const BenchWords& words) {
  if (words.full && words.quick) {
    return Error{Code::invalid, "--quick and --full contradict each other: take one of them"};
  }
  BenchPlan plan;
  if (words.quick) {
    plan.lateness_keys = 5000;
    plan.lateness_length = std::chrono::seconds(10);
  }
  for (const auto read : {read_sizes, read_strategies, read_distributions, read_numbers}) {
    if (const Status status = read(words, plan); !status) return status.error();
  }
  return plan;
}

Result<std::size_t> parse_size(std::string_view text, std::string_view option) {
  const Error wrong{
      Code::invalid,
      fmt::format("{}: '{}' is not a number of entries from {} to {} M; write it as 100k, 1m or "
                  "250000, several with commas between",
                  option, text, kLeastSize, kMostSize / 1'000'000)};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc()) return wrong;

  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit == "k" || unit == "K") {
    number *= 1e3;
  } else if (unit == "m" || unit == "M") {
    number *= 1e6;
  } else if (!unit.empty()) {
    return wrong;
  }
  number = std::round(number);
  if (!(number >= static_cast<double>(kLeastSize) && number <= static_cast<double>(kMostSize))) {
    return wrong;
  }
  return static_cast<std::size_t>(number);
}

std::string size_title(std::size_t size) {
  if (size % 1'000'000 == 0) return fmt::format("{} M", size / 1'000'000);
  if (size % 1000 == 0) return fmt::format("{} K", size / 1000);
  return fmt::format("{}", size);
}

}  // namespace mayfly
