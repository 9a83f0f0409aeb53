// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_plan.h"

#include <algorithm>
#include <array>

#include "bench/cache/bench_plan.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr int kMostRepeats = 100;
constexpr std::size_t kLeastRequests = 100;
constexpr std::size_t kMostRequests = 100'000'000;
constexpr std::size_t kLeastKeys = 1000;
constexpr std::size_t kMostKeys = 100'000'000;
constexpr std::size_t kPipelinedFactor = 10;  // or it would be over before it can be measured
constexpr int kMostWait = 600;                // seconds

struct Part {
  std::string_view name;
  bool ServerBenchPlan::*is_on;
};

constexpr Part kParts[] = {
    {"speed", &ServerBenchPlan::speed},    {"memory", &ServerBenchPlan::memory},
    {"ontime", &ServerBenchPlan::on_time}, {"stall", &ServerBenchPlan::stall},
    {"hlen", &ServerBenchPlan::hlen},      {"persist", &ServerBenchPlan::persist}};

Status read_size(std::string_view option, std::string_view text, std::size_t least,
                 std::size_t most, std::size_t& size) {
  if (text.empty()) return Done{};
  const Result<std::size_t> read = parse_size(text, option);
  if (!read) return read.error();
  if (*read < least || *read > most) {
    return Error{Code::invalid,
                 fmt::format("{}: {} is not a number from {} to {}", option, *read, least, most)};
  }
  size = *read;
  return Done{};
}

Status read_numbers(const ServerBenchWords& words, ServerBenchPlan& plan) {
  if (!words.repeats.empty()) {
    const Result<int> repeats = parse_number("--repeat", words.repeats, 1, kMostRepeats);
    if (!repeats) return repeats.error();
    plan.repeats = *repeats;
  }
  if (!words.wait.empty()) {
    const Result<int> seconds = parse_number("--wait", words.wait, 1, kMostWait);
    if (!seconds) return seconds.error();
    plan.patience = std::chrono::seconds(*seconds);
  }
  const Status status =
      read_size("--requests", words.requests, kLeastRequests, kMostRequests, plan.requests);
  if (!status) return status;
  // The parts that are about many entries have them in common.
  for (std::size_t* const size : {&plan.growth_keys, &plan.persist_fields}) {
    const Status read = read_size("--keys", words.keys, kLeastKeys, kMostKeys, *size);
    if (!read) return read;
  }
  return Done{};
}

Status read_parts(const ServerBenchWords& words, ServerBenchPlan& plan) {
  if (words.only.empty()) return Done{};
  std::array<std::string_view, std::size(kParts)> names;
  std::ranges::transform(kParts, names.begin(), &Part::name);
  const auto chosen = choose_words("--only", words.only, names);
  if (!chosen) return chosen.error();
  for (const Part& part : kParts) plan.*part.is_on = false;
  for (const std::size_t place : *chosen) plan.*kParts[place].is_on = true;
  return Done{};
}

void make_quick(ServerBenchPlan& plan) {
  plan.repeats = 1;
  plan.requests = 1000;
  plan.key_range = 1000;
  plan.memory_fields = 10'000;
  plan.idle_sizes = {0, 1000};
  plan.due = 100;
  plan.patience = std::chrono::seconds(2);
  plan.stall_fields = 10'000;
  plan.growth_keys = 20'000;
  plan.hlen_fields = 10'000;
  plan.hlen_calls = 100;
  plan.persist_fields = 20'000;
}

}  // namespace

Result<ServerBenchPlan> make_server_plan(const ServerBenchWords& words) {
  ServerBenchPlan plan;
  if (words.quick && words.full) {
    return Error{Code::invalid, "--quick and --full exclude each other: say one of them"};
  }
  if (words.full) plan.growth_keys = kReferenceGrowthKeys;
  if (words.quick) make_quick(plan);
  for (const auto read : {read_numbers, read_parts}) {
    if (const Status status = read(words, plan); !status) return status.error();
  }
  return plan;
}

std::size_t request_count(const ServerBenchPlan& plan, int pipeline) {
  return pipeline == 1 ? plan.requests : plan.requests * kPipelinedFactor;
}

}  // namespace mayfly
