// SPDX-License-Identifier: Apache-2.0
// expiring: lists the keys that expire soon, or counts them per interval.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

constexpr const char* kExpiringExamples =
    "Examples:\n"
    "  mayfly expiring --db app.db                       in the next hour, soonest first\n"
    "  mayfly expiring --db app.db --within 1d --limit 20\n"
    "  mayfly expiring --db app.db --from 2099-12-31 --to 2100-01-01\n"
    "  mayfly expiring --db app.db --within 1d --summary     counts per interval as bars\n"
    "Prints one line per key: the key, the remaining time and the expiry time, separated by tabs.";

// Possible intervals of a bar: the shortest that needs at most kBarsMost bars is used.
constexpr Millis kIntervals[] = {
    std::chrono::milliseconds(100), std::chrono::seconds(1), std::chrono::seconds(5),
    std::chrono::seconds(15),       std::chrono::minutes(1), std::chrono::minutes(5),
    std::chrono::minutes(15),       std::chrono::hours(1),   std::chrono::hours(6),
    std::chrono::days(1),           std::chrono::days(7),    std::chrono::days(30),
    std::chrono::days(365)};
constexpr std::int64_t kBarsMost = 24;
constexpr std::size_t kBarWidth = 40;  // characters

struct ExpiringArgs {
  std::string within;
  std::string from;
  std::string to;
  std::string limit;
  bool is_summary = false;
};

struct TimeRange {
  Time from;
  Time to;
};

Result<TimeRange> range_of(const ExpiringArgs& args, Time now) {
  if (!args.within.empty() && !(args.from.empty() && args.to.empty())) {
    return Error{Code::invalid, "give either --within TIME, or --from TIME and --to TIME"};
  }
  TimeRange range{now, kNever};
  if (args.from.empty() && args.to.empty()) range.to = now + std::chrono::hours(1);
  const auto read = [now](const std::string& text, Time& moment) -> Status {
    if (text.empty()) return Done{};
    const Result<Time> parsed = parse_moment(text, now);
    if (!parsed) return parsed.error();
    moment = *parsed;
    return Done{};
  };
  if (const Status status = read(args.within, range.to); !status) return status.error();
  if (const Status status = read(args.from, range.from); !status) return status.error();
  if (const Status status = read(args.to, range.to); !status) return status.error();
  if (range.from < range.to) return range;
  return Error{Code::invalid, fmt::format("the range from {} to {} is empty (--to must be later)",
                                          moment_text(range.from), moment_text(range.to))};
}

struct ExpirySummary {
  Time from;
  Millis interval;
  std::vector<std::uint64_t> counts;  // of each interval from `from` on
};

// REQUIRES: `found` is not empty.
ExpirySummary summary_of(const std::vector<Expiring>& found, TimeRange range, Time now) {
  const Time from = std::max(range.from, now);
  const Millis span = std::min(range.to, found.back().deadline + Millis(1)) - from;
  Millis interval = kIntervals[0];
  for (const Millis longer : kIntervals) {
    interval = longer;
    if (span <= interval * kBarsMost) break;
  }
  interval = std::max(interval, span / kBarsMost + Millis(1));
  ExpirySummary summary{from, interval, {}};
  for (const Expiring& entry : found) {
    const auto place = static_cast<std::size_t>((entry.deadline - from) / interval);
    if (summary.counts.size() <= place) summary.counts.resize(place + 1);
    ++summary.counts[place];
  }
  return summary;
}

std::string expiry_json(const ExpirySummary& summary) {
  std::string stretches;
  Time start = summary.from;
  for (const std::uint64_t count : summary.counts) {
    if (!stretches.empty()) stretches += ", ";
    stretches += fmt::format(R"({{"from_ms": {}, "from": "{}", "count": {}}})",
                             start.time_since_epoch().count(), moment_text(start), count);
    start += summary.interval;
  }
  return fmt::format("{{\"stretch_ms\": {}, \"stretches\": [{}]}}\n", summary.interval.count(),
                     stretches);
}

std::string expiry_text(const ExpirySummary& summary, Time now) {
  TextTable table({{"from", ""}, {"in", ""}, {"keys", ""}, {"", ""}});
  const auto most = static_cast<double>(std::ranges::max(summary.counts));
  Time start = summary.from;
  for (const std::uint64_t count : summary.counts) {
    table.add_row({{moment_text(start)},
                   {start == now ? "now" : time_left_text(start - now)},
                   {fmt::to_string(count)},
                   {text_bar(static_cast<double>(count) / most, kBarWidth)}});
    start += summary.interval;
  }
  return fmt::format("Keys that expire per interval of {}\n", time_left_text(summary.interval)) +
         table.render(Colours(wants_colours()));
}

void print_histogram(const std::vector<Expiring>& found, TimeRange range, Time now, bool is_json) {
  if (!found.empty()) {
    const ExpirySummary summary = summary_of(found, range, now);
    fmt::print("{}", is_json ? expiry_json(summary) : expiry_text(summary, now));
  } else if (is_json) {
    fmt::print("{{\"stretch_ms\": null, \"stretches\": []}}\n");
  } else {
    fmt::print("No key expires from {} to {}\n", moment_text(range.from), moment_text(range.to));
  }
}

Result<Exit> run_expiring(const ExpiringArgs& args, const StoreFile& file) {
  std::size_t limit = SIZE_MAX;
  if (!args.limit.empty()) {
    const auto number = parse_number<std::size_t>("--limit", args.limit, 0, INT64_MAX);
    if (!number) return number.error();
    limit = *number;
  }
  if (const auto range = range_of(args, file.now()); !range) return range.error();
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<TimeRange> range = range_of(args, txn->now());  // it may be empty by now
  if (!range) return range.error();
  const auto found = txn->expiring(range->from, range->to, limit, opened->family);
  if (!found) return found.error();
  if (!args.is_summary) {
    return exit_of(print_expiring(*found, txn->now(), file.family_name(), file, nullptr));
  }
  print_histogram(*found, *range, txn->now(), file.is_json());
  return Exit::ok;
}

}  // namespace

Status print_expiring(const std::vector<Expiring>& keys, Time now, std::string_view family_name,
                      const StoreFile& file, IsStopped is_stopped) {
  Lines lines;
  const EntryText text(file, family_name);
  for (const Expiring& entry : keys) {
    lines.text() += file.is_json() ? fmt::format("{{{}, {}}}\n", text.key_json(entry.key),
                                                 deadline_json(entry.deadline, now))
                                   : fmt::format("{}\tin {}\t{}\n", text.key_line(entry.key),
                                                 time_left_text(remaining(entry.deadline, now)),
                                                 moment_text(entry.deadline));
    if (!lines.go_on() || (is_stopped != nullptr && is_stopped())) break;
  }
  return lines.finish();
}

void add_expiring_command(Program& program, StoreFile* file) {
  const auto args = program.keep<ExpiringArgs>();
  const CliCommand command = file->add_command(program, "expiring", "List keys that expire soon",
                                               kExpiringExamples, args, run_expiring);
  command.add_text("--within", args->within, "TIME",
                   "Keys that expire within this time (default 1h)");
  command.add_text("--from", args->from, "TIME",
                   "Keys that expire at or after this time (default: now)");
  command.add_text("--to", args->to, "TIME",
                   "Keys that expire before this time (default: no limit)");
  command.add_text("--limit", args->limit, "N", "Maximum number of keys (default: all)");
  command.add_flag("--summary,--histogram", args->is_summary,
                   "Show counts per interval as a bar chart");
  file->add_byte_options(command);
}

}  // namespace mayfly
