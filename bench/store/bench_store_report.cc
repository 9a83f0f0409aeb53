// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cache/bench_plan.h"
#include "bench/report/bench_report.h"
#include "bench/store/bench_store_bars.h"

namespace mayfly {
namespace {

constexpr std::string_view kLegend =
    "\n  Rates are thousands of operations a second; beside them, how many times as fast Mayfly "
    "is.\n"
    "  put, mixed: in transactions of 1,000; single put: each a transaction; purge: of 256 "
    "entries.\n"
    "  off, normal, full: what a commit promises; where none is said, only reads are measured.\n";

std::string rate_text(std::optional<double> rate) {
  if (!rate) return "-";
  const double thousands = *rate / 1e3;
  return fmt::format("{:.{}f}", thousands, thousands < 99.95 ? 1 : 0);
}

std::string ratio_text(std::optional<double> ratio) {
  if (!ratio) return "-";
  return fmt::format("{:.{}f}x", *ratio, *ratio < 9.995 ? 2 : 1);
}

// The systems that took part in any row, in the order in which they are shown.
std::vector<const PeerRow*> peers_in(const StoreResults& results) {
  std::vector<const PeerRow*> peers;
  for (const PeerRow& peer : peer_rows()) {
    const bool took_part = std::ranges::any_of(
        results.rows, [&](const StoreRow& row) { return row.find(peer.name) != nullptr; });
    if (took_part) peers.push_back(&peer);
  }
  return peers;
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string render_head(const StoreBenchPlan& plan, const StoreResults& results,
                        const Machine& machine, const Colours& colours) {
  std::string text = "\n";
  text += colours.apply("How fast is the store?", Emphasis::strong);
  text += fmt::format("  Mayfly {} on {}, {} cores\n", machine.version, machine.processor,
                      machine.cores);
  text += plan.repeats == 1 ? "One repeat"
                            : fmt::format("Medians of {} interleaved repeats", plan.repeats);
  text += fmt::format(", {} keys of {} bytes, {:.0f} s in all.\n", size_title(plan.keys),
                      kBenchKeyBytes, results.seconds);
  if (machine.has_assertions) {
    text += colours.apply("Built with assertions: these numbers say nothing.\n", Emphasis::bad);
  }
  return text;
}

std::string render_bars(const std::vector<Bar>& bars, const Colours& colours) {
  if (bars.empty()) return "";
  std::string text = "\n";
  text += colours.apply("What is expected, and whether it holds here", Emphasis::strong);
  text += " (the worst of all sizes of values)\n\n";
  for (const Bar& bar : bars) text += render_bar(bar, colours);
  return text;
}

}  // namespace

std::string render_store_rates(const StoreResults& results, std::size_t value_bytes,
                               const Colours& colours) {
  const std::vector<const PeerRow*> peers = peers_in(results);
  std::vector<TextTable::Column> heads = {{fmt::format("{} B values", value_bytes), ""}};
  for (const PeerRow* const peer : peers) {
    heads.push_back({std::string(peer->title), "k/s"});
    if (peer->name != "mayfly") heads.push_back({"", ""});
  }
  TextTable table(heads);
  for (const StoreRow& row : results.rows) {
    if (row.value_bytes != value_bytes) continue;
    std::vector<TextTable::Cell> cells = {{title_of(*row.workload)}};
    for (const PeerRow* const peer : peers) {
      cells.push_back({rate_text(row.rate(peer->name))});
      if (peer->name == "mayfly") continue;
      cells.push_back(
          {ratio_text(ratio(row.find("mayfly"), row.find(peer->name))), Emphasis::weak});
    }
    table.add_row(std::move(cells));
  }
  return table.render(colours);
}

std::string render_churn(const ChurnPlan& plan, const ChurnResult& churn, const Colours& colours) {
  std::vector<double> sizes(churn.file_bytes_each_minute.begin(),
                            churn.file_bytes_each_minute.end());
  sizes.push_back(static_cast<double>(churn.file_bytes));
  std::string text = colours.apply("How large does the file get under churn?", Emphasis::strong);
  text += fmt::format(
      "\n  {} puts a second with a TTL of {} s, for {} simulated seconds; purged every second; "
      "durability {}\n\n",
      plan.puts_per_second, plan.ttl.count(), plan.length.count(), name_of(plan.durability));
  text += fmt::format("  live at the end       {} entries, {} of keys and values\n",
                      churn.live_entries, megabytes(churn.live_bytes));
  text += fmt::format("  a compacted copy      {}\n", megabytes(churn.compact_bytes));
  text += fmt::format("  the file              {}, {:.2f}x the copy, {:.2f}x keys and values\n",
                      megabytes(churn.file_bytes), churn.ratio(),
                      static_cast<double>(churn.file_bytes) /
                          static_cast<double>(std::max<std::uint64_t>(churn.live_bytes, 1)));
  text += fmt::format(
      "  over time             {}\n",
      sparkline(sizes, *std::ranges::max_element(sizes), std::min<std::size_t>(sizes.size(), 32)));
  text += fmt::format("  it took               {:.0f} s, {:.0f} k puts and removals a second\n",
                      churn.seconds, static_cast<double>(churn.puts) / churn.seconds / 1e3);
  return text;
}

std::string render_missing(const StoreBenchPlan& plan) {
  std::string text;
  for (const PeerRow* const peer : plan.missing) {
    text += fmt::format("{}: not built in", peer->title);
    if (!peer->is_ours) text += "; `make bench` installs it";
    text += '\n';
  }
  return text;
}

std::string render_store_report(const StoreBenchPlan& plan, const StoreResults& results,
                                const Machine& machine, const Colours& colours) {
  std::string text = render_head(plan, results, machine, colours);
  text += render_missing(plan);
  if (!results.rows.empty()) {
    text += '\n';
    for (const PeerRow* const peer : plan.peers) {
      text += fmt::format("  {:<8} {}\n", peer->title, peer->idea);
    }
    text += colours.apply(kLegend, Emphasis::weak);
    for (const std::size_t value_bytes : plan.value_bytes) {
      text += '\n';
      text += render_store_rates(results, value_bytes, colours);
    }
  }
  if (results.churn) {
    text += '\n';
    text += render_churn(plan.churn_plan, *results.churn, colours);
  }
  return text + render_bars(judge_store(results), colours);
}

}  // namespace mayfly
