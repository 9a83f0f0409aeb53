// SPDX-License-Identifier: Apache-2.0
// stat --ttl: how many entries expire when, as bars and as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/store/store_answers.h"
#include "cli/store/store_summary.h"
#include "cli/ttl_words.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

constexpr std::size_t kHistogramBar = 40;  // characters

// One bar for each bucket; the longest is that of the fullest one.
std::string histogram_bars(const TtlHistogram& histogram, bool has_bytes, const Colours& colours) {
  std::vector<TextTable::Column> columns = {{"within", ""}, {"entries", ""}};
  if (has_bytes) columns.push_back({"bytes", ""});
  columns.push_back({"", ""});
  TextTable table(std::move(columns));
  std::uint64_t most = std::max<std::uint64_t>(histogram.overdue.entries, 1);
  for (const TtlCount& bucket : histogram.buckets) most = std::max(most, bucket.entries);
  const auto add = [&](std::string_view name, const TtlCount& count, Emphasis how) {
    std::vector<TextTable::Cell> cells = {{std::string(name), how},
                                          {fmt::to_string(count.entries), how}};
    if (has_bytes) cells.push_back({size_text(count.bytes), how});
    const double share = static_cast<double>(count.entries) / static_cast<double>(most);
    cells.push_back({text_bar(share, kHistogramBar), how});
    table.add_row(std::move(cells));
  };
  add("overdue", histogram.overdue, Emphasis::weak);
  for (std::size_t i = 0; i < kTtlBuckets; ++i) {
    add(kTtlBounds[i].name, histogram.buckets[i], Emphasis::none);
  }
  return table.render(colours);
}

std::string histogram_rows(const StoreSummary& summary, const Colours& colours) {
  std::vector<TextTable::Column> columns = {{"family", ""}, {"overdue", ""}};
  for (const TtlBound& bound : kTtlBounds) columns.push_back({std::string(bound.name), ""});
  TextTable table(std::move(columns));
  for (const StoreSummary::FamilySummary& family : summary.families) {
    std::vector<TextTable::Cell> cells = {{family_label(family.name)},
                                          {fmt::to_string(family.histogram.overdue.entries)}};
    for (const TtlCount& bucket : family.histogram.buckets) {
      cells.push_back({fmt::to_string(bucket.entries)});
    }
    table.add_row(std::move(cells));
  }
  return table.render(colours);
}

std::string count_json(const TtlCount& count, bool has_bytes) {
  return fmt::format(R"({{"entries": {}, "bytes": {}}})", count.entries,
                     has_bytes ? fmt::to_string(count.bytes) : "null");
}

}  // namespace

std::string histogram_text(const StoreSummary& summary, const Colours& colours) {
  const TtlHistogram total = summary.total().histogram;
  std::string text = "\nEntries by the time they have left\n";
  text += histogram_bars(total, summary.options.has_bytes, colours);
  if (total.oldest_overdue != kNever) {
    text += fmt::format("The oldest that is overdue expired at {}.\n",
                        moment_text(total.oldest_overdue));
  }
  if (summary.families.size() > 1) text += "\n" + histogram_rows(summary, colours);
  return text;
}

std::string histogram_json(const TtlHistogram& histogram, bool has_bytes) {
  std::string buckets;
  for (std::size_t i = 0; i < kTtlBuckets; ++i) {
    if (i != 0) buckets += ", ";
    buckets +=
        fmt::format(R"("{}": {})", kTtlBounds[i].name, count_json(histogram.buckets[i], has_bytes));
  }
  const bool has_overdue = histogram.oldest_overdue != kNever;
  const std::string oldest =
      has_overdue ? fmt::to_string(histogram.oldest_overdue.time_since_epoch().count()) : "null";
  return fmt::format(R"("ttl": {{"overdue": {}, "oldest_overdue_ms": {}, "within": {{{}}}}})",
                     count_json(histogram.overdue, has_bytes), oldest, buckets);
}

}  // namespace mayfly
