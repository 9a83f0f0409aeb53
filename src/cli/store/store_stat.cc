// SPDX-License-Identifier: Apache-2.0
// stat: the statistics of a store file and its column families.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/store/store_answers.h"
#include "cli/store/store_summary.h"
#include "cli/ttl_words.h"
#include "mayfly/internal/stopwatch.h"
#include "text/byte_text.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

std::string next_expiry(Time deadline, Time now) {
  if (deadline == kNever) return "-";
  return "in " + time_left_text(remaining(deadline, now));
}

std::string families_table(const StoreSummary& summary, const Colours& colours) {
  TextTable table({{"family", ""},
                   {"entries", ""},
                   {"with a TTL", ""},
                   {"expired", "not removed"},
                   {"next", "expiry"},
                   {"default TTL", ""}});
  const auto add = [&](const StoreSummary::FamilySummary& row, const std::string& ttl,
                       Emphasis how) {
    table.add_row({{family_label(row.name), how},
                   {fmt::to_string(row.counts.live), how},
                   {fmt::to_string(row.counts.with_ttl), how},
                   {fmt::to_string(row.counts.expired), how},
                   {next_expiry(row.next_deadline, summary.now), how},
                   {ttl, how}});
  };
  for (const StoreSummary::FamilySummary& row : summary.families) {
    add(row, row.default_ttl ? time_left_text(*row.default_ttl) : "none", Emphasis::none);
  }
  if (summary.families.size() > 1) add(summary.total(), "", Emphasis::strong);
  return table.render(colours);
}

std::string counts_json(const StoreSummary::FamilySummary& family, const StoreSummary& summary) {
  const std::string deadline = deadline_json(family.next_deadline, summary.now);
  const StatOptions& options = summary.options;
  return fmt::format(
      R"("live": {}, "with_ttl": {}, "expired": {}, "next": {{{}}}{})", family.counts.live,
      family.counts.with_ttl, family.counts.expired, deadline,
      options.has_histogram ? ", " + histogram_json(family.histogram, options.has_bytes) : "");
}

std::string json_array(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) text += (text.empty() ? "" : ", ") + object;
  return "[" + text + "]";
}

// A program that only looks has written nothing; a shell may have.
std::string log_text(const StoreStats& file) {
  std::string text;
  if (file.log_bytes != 0) {
    text += fmt::format("Log {}, {} pending (not in the file yet), {} of memory for it here.\n",
                        size_text(file.log_bytes), size_text(file.pending_bytes),
                        size_text(file.table_bytes));
  }
  if (file.logged_bytes + file.tree_bytes == 0) return text;
  text +=
      fmt::format("Logged here {}. {} checkpoints wrote {} entries, {}; {} expired before that.",
                  size_text(file.logged_bytes), file.checkpoints, file.tree_entries,
                  size_text(file.tree_bytes), file.expired_unwritten);
  if (file.stalls != 0) {
    text += fmt::format(" {} commits waited for them, {} ms.", file.stalls, file.stalled_ms);
  }
  if (file.damaged_rows != 0) {
    text += fmt::format(" {} damaged rows were left (run a check).", file.damaged_rows);
  }
  return text + "\n";
}

std::string log_json(const StoreStats& file) {
  return fmt::format(
      R"("log": {{"bytes": {}, "pending_bytes": {}, "table_bytes": {}, "position": {}, )"
      R"("logged_bytes": {}, "syncs": {}, "checkpoints": {}, "tree_entries": {}, )"
      R"("tree_bytes": {}, "expired_unwritten": {}, "stalls": {}, "stalled_ms": {}, )"
      R"("damaged_rows": {}}})",
      file.log_bytes, file.pending_bytes, file.table_bytes, file.log_position, file.logged_bytes,
      file.log_syncs, file.checkpoints, file.tree_entries, file.tree_bytes, file.expired_unwritten,
      file.stalls, file.stalled_ms, file.damaged_rows);
}

std::string stat_text(const StoreSummary& summary, const Colours& colours) {
  const StoreStats& file = summary.file;
  std::string text =
      fmt::format("{}: {}, {} pages of {} bytes, {} of them ({}) free\n", summary.path,
                  size_text(file.file_bytes), file.pages, file.page_bytes, file.free_pages,
                  size_text(file.free_pages * file.page_bytes));
  text += fmt::format("Maximum size {}. Last transaction {}.\n", size_text(file.map_bytes),
                      file.last_transaction);
  text += log_text(file) + "\n";
  text += families_table(summary, colours);
  if (summary.options.has_histogram) text += histogram_text(summary, colours);
  if (file.readers.empty()) return text;
  text += "\nActive readers; pages of their snapshots are not reused until they finish\n";
  TextTable table({{"process", ""}, {"behind", "commits"}});
  for (const StoreReader& reader : file.readers) {
    table.add_row({{fmt::to_string(reader.process)}, {fmt::to_string(reader.behind)}});
  }
  return text + table.render(colours);
}

std::string stat_json(const StoreSummary& summary) {
  const StoreStats& file = summary.file;
  std::vector<std::string> families;
  for (const StoreSummary::FamilySummary& family : summary.families) {
    families.push_back(fmt::format(R"({{"name": {}, {}, "default_ttl": {}}})",
                                   bytes_as_json(family.name), counts_json(family, summary),
                                   seconds_json(family.default_ttl.value_or(Millis::max()))));
  }
  std::vector<std::string> readers;
  for (const StoreReader& reader : file.readers) {
    readers.push_back(fmt::format(R"({{"process": {}, "snapshot": {}, "behind": {}}})",
                                  reader.process, reader.snapshot, reader.behind));
  }
  return fmt::format(
      R"({{"file": {}, "file_bytes": {}, "page_bytes": {}, "pages": {}, "free_pages": {}, )"
      R"("map_bytes": {}, "last_transaction": {}, {}, {}, "readers": {}, "families": {}}})"
      "\n",
      bytes_as_json(summary.path), file.file_bytes, file.page_bytes, file.pages, file.free_pages,
      file.map_bytes, file.last_transaction, log_json(file), counts_json(summary.total(), summary),
      json_array(readers), json_array(families));
}

// What changes from one line of --watch to the next.
struct Sample {
  explicit Sample(const StoreSummary& summary)
      : at_ns(monotonic_ns()), counts(summary.total().counts), file(summary.file) {}

  double per_second(const Sample& before, std::uint64_t now_bytes, std::uint64_t then_bytes) const {
    const double seconds = static_cast<double>(at_ns - before.at_ns) / 1e9;
    return static_cast<double>(now_bytes - std::min(now_bytes, then_bytes)) / seconds;
  }
  double logged(const Sample& before) const {
    return per_second(before, file.log_position, before.file.log_position);
  }
  double applied(const Sample& before) const {
    return per_second(before, applied_bytes(), before.applied_bytes());
  }
  std::uint64_t applied_bytes() const { return file.log_position - file.pending_bytes; }

  std::int64_t at_ns;
  FamilyCounts counts;
  StoreStats file;
};

std::string watch_json(const Sample& now, const Sample& before, Time time) {
  return fmt::format(
      R"({{"time_ms": {}, "live": {}, "with_ttl": {}, "expired": {}, "file_bytes": {}, )"
      R"("log_bytes": {}, "pending_bytes": {}, "logged_per_s": {:.0f}, "applied_per_s": {:.0f}}})",
      time.time_since_epoch().count(), now.counts.live, now.counts.with_ttl, now.counts.expired,
      now.file.file_bytes, now.file.log_bytes, now.file.pending_bytes, now.logged(before),
      now.applied(before));
}

constexpr const char* kWatchLine = "{:>12} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}";

std::string watch_text(const Sample& now, const Sample& before) {
  const auto rate = [](double bytes) { return size_text(static_cast<std::uint64_t>(bytes)); };
  return fmt::format(fmt::runtime(kWatchLine), now.counts.live, now.counts.with_ttl,
                     now.counts.expired, size_text(now.file.file_bytes),
                     size_text(now.file.log_bytes), size_text(now.file.pending_bytes),
                     rate(now.logged(before)), rate(now.applied(before)));
}

// Returns false if it was interrupted.
bool pass_time(StopSignals& stop, Millis time) {
  const std::int64_t until_ns = monotonic_ns() + time.count() * 1'000'000;
  for (std::int64_t left_ns = 0; (left_ns = until_ns - monotonic_ns()) > 0 && !stop.asked();) {
    pollfd wait{stop.descriptor(), POLLIN, 0};
    (void)::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 1000)));
  }
  return !stop.asked();
}

}  // namespace

// Rates need two samples.
Status watch_stat(const Store& store, const StoreFile& file, Millis interval, StopSignals& stop) {
  Result<StoreSummary> summary = summarize(store);
  if (!summary) return summary.error();
  if (!file.is_json()) {
    fmt::print("{}\n", fmt::format(fmt::runtime(kWatchLine), "entries", "with a TTL", "expired",
                                   "file", "log", "pending", "logged/s", "applied/s"));
    flush_output();
  }
  Sample before(*summary);
  while (pass_time(stop, interval)) {
    summary = summarize(store);
    if (!summary) return summary.error();
    const Sample now(*summary);
    fmt::print("{}\n",
               file.is_json() ? watch_json(now, before, summary->now) : watch_text(now, before));
    flush_output();
    before = now;
  }
  return Done{};
}

Status print_stat(const Store& store, const StoreFile& file, StatOptions options) {
  const Result<StoreSummary> summary = summarize(store, options);
  if (!summary) return summary.error();
  if (options.is_prometheus) {
    fmt::print("{}", prometheus_text(*summary));
    return Done{};
  }
  fmt::print("{}",
             file.is_json() ? stat_json(*summary) : stat_text(*summary, Colours(wants_colours())));
  return Done{};
}

}  // namespace mayfly
