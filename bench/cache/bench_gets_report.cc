// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench cache` says: for people and for programs.

#include <fmt/format.h>

#include "bench/cache/bench_gets.h"
#include "bench/report/machine.h"
#include "tools/json/json.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

const GetsResult* find(const std::vector<GetsResult>& results, const std::string& name,
                       std::size_t threads) {
  for (const GetsResult& result : results) {
    if (result.name == name && result.threads == threads) return &result;
  }
  return nullptr;
}

// Against itself with one thread, if it runs with more than that; else against the bare map.
double ratio(const std::vector<GetsResult>& results, const GetsResult& of) {
  const GetsResult* const base = of.threads > 1 ? find(results, of.name, 1) : &results.front();
  return of.millions_per_second / base->millions_per_second;
}

}  // namespace

std::string render_gets(const GetsPlan& plan, const std::vector<GetsResult>& results) {
  const Machine machine = this_machine();
  std::string text = fmt::format("\nHow fast are reads?  Mayfly {} on {}, {} cores\n",
                                 machine.version, machine.processor, machine.cores);
  text += fmt::format(
      "Random gets of {} live entries with numbers for keys; medians of {} interleaved rounds.\n\n",
      plan.entries, plan.rounds);

  TextTable table({{"", ""}, {"threads", ""}, {"gets", "M/s"}, {"ratio", "x"}, {"against", ""}});
  for (const GetsResult& result : results) {
    table.add_row({{result.name},
                   {fmt::format("{}", result.threads)},
                   {fmt::format("{:.1f}", result.millions_per_second)},
                   {fmt::format("{:.2f}", ratio(results, result))},
                   {result.threads > 1 ? "one thread" : "bare map"}});
  }
  text += table.render(Colours(false));
  if (const GetsResult* const two = find(results, "ShardedCache", 2)) {
    const double scale = ratio(results, *two);
    text += fmt::format("\n  {}  ShardedCache does {:.2f}x the gets with 2 threads (bar: 1.6x)\n",
                        scale >= 1.6 ? "ok    " : "MISSED", scale);
  }
  return text;
}

std::string gets_to_json(const GetsPlan& plan, const std::vector<GetsResult>& results) {
  const Machine machine = this_machine();
  Json json;
  json.open('{');
  json.member("version", machine.version);
  json.member("processor", machine.processor);
  json.member("cores", std::uint64_t{machine.cores});
  json.member("entries", std::uint64_t{plan.entries});
  json.member("rounds", std::uint64_t{plan.rounds});
  json.key("gets");
  json.open('[');
  for (const GetsResult& result : results) {
    json.open('{');
    json.member("name", result.name);
    json.member("threads", std::uint64_t{result.threads});
    json.member("millions_per_second", result.millions_per_second);
    json.member("ratio", ratio(results, result));
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return json.text() + "\n";
}

}  // namespace mayfly
