// SPDX-License-Identifier: Apache-2.0
// expiring: which keys end soon, soonest first, or how many in each stretch of time.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly expiring --db app.db                       in the next hour, soonest first\n"
    "  mayfly expiring --db app.db --within 1d --limit 20\n"
    "  mayfly expiring --db app.db --from 2099-12-31 --to 2100-01-01\n"
    "  mayfly expiring --db app.db --within 1d --summary     a bar for each hour or so\n"
    "A line for each key: the key, what is left, and the moment, with tabs between them.";

// How long a bar of the summary may stand for. The first that needs no more than kBarsMost.
constexpr Millis kStretches[] = {Millis(100), seconds(1),  seconds(5), seconds(15), minutes(1),
                                 minutes(5),  minutes(15), hours(1),   hours(6),    days(1),
                                 days(7),     days(30),    days(365)};
constexpr std::int64_t kBarsMost = 24;
constexpr std::size_t kBarWidth = 40;  // characters

struct Words {
  std::string within;
  std::string from;
  std::string to;
  std::string limit;
  bool is_summary = false;
};

struct Range {
  Time from;
  Time to;
};

Result<Range> range_of(const Words& words, Time now) {
  if (!words.within.empty() && !(words.from.empty() && words.to.empty())) {
    return Error{Code::invalid, "say either --within TIME, or --from TIME and --to TIME"};
  }
  Range range{now, kNever};
  if (words.from.empty() && words.to.empty()) range.to = now + hours(1);
  const auto read = [now](const std::string& text, Time& moment) -> Status {
    if (text.empty()) return Done{};
    const Result<Time> parsed = parse_moment(text, now);
    if (!parsed) return parsed.error();
    moment = *parsed;
    return Done{};
  };
  if (const Status status = read(words.within, range.to); !status) return status.error();
  if (const Status status = read(words.from, range.from); !status) return status.error();
  if (const Status status = read(words.to, range.to); !status) return status.error();
  if (range.from < range.to) return range;
  return Error{Code::invalid, fmt::format("from {} to {} there is no time; --to must be later",
                                          moment_text(range.from), moment_text(range.to))};
}

}  // namespace

std::string expiring_line(const Expiring& entry, Time now, const EntryText& text,
                          const StoreFile& file) {
  if (file.is_json()) {
    return fmt::format("{{{}, {}}}\n", text.key_json(entry.key),
                       deadline_json(entry.deadline, now));
  }
  return fmt::format("{}\tin {}\t{}\n", text.key_line(entry.key),
                     time_left_text(remaining(entry.deadline, now)), moment_text(entry.deadline));
}

namespace {

Status print_keys(const std::vector<Expiring>& found, Time now, const StoreFile& file) {
  Lines lines;
  const EntryText text(file, file.family_name());
  for (const Expiring& entry : found) {
    lines.text() += expiring_line(entry, now, text, file);
    if (!lines.go_on()) break;
  }
  return lines.finish();
}

struct Summary {
  Time from;
  Millis stretch;
  std::vector<std::uint64_t> counts;  // of each stretch from `from` on
};

// REQUIRES: `found` is not empty.
Summary summary_of(const std::vector<Expiring>& found, Range range, Time now) {
  const Time from = std::max(range.from, now);
  const Millis span = std::min(range.to, found.back().deadline + Millis(1)) - from;
  Millis stretch = kStretches[0];
  for (const Millis longer : kStretches) {
    stretch = longer;
    if (span <= stretch * kBarsMost) break;
  }
  stretch = std::max(stretch, span / kBarsMost + Millis(1));
  Summary summary{from, stretch, {}};
  for (const Expiring& entry : found) {
    const auto place = static_cast<std::size_t>((entry.deadline - from) / stretch);
    if (summary.counts.size() <= place) summary.counts.resize(place + 1);
    ++summary.counts[place];
  }
  return summary;
}

std::string summary_json(const Summary& summary) {
  std::string stretches;
  Time start = summary.from;
  for (const std::uint64_t count : summary.counts) {
    if (!stretches.empty()) stretches += ", ";
    stretches += fmt::format(R"({{"from_ms": {}, "from": "{}", "count": {}}})",
                             start.time_since_epoch().count(), moment_text(start), count);
    start += summary.stretch;
  }
  return fmt::format("{{\"stretch_ms\": {}, \"stretches\": [{}]}}\n", summary.stretch.count(),
                     stretches);
}

std::string summary_text(const Summary& summary, Time now) {
  TextTable table({{"from", ""}, {"in", ""}, {"keys", ""}, {"", ""}});
  const auto most = static_cast<double>(std::ranges::max(summary.counts));
  Time start = summary.from;
  for (const std::uint64_t count : summary.counts) {
    table.add_row({{moment_text(start)},
                   {start == now ? "now" : time_left_text(start - now)},
                   {fmt::to_string(count)},
                   {text_bar(static_cast<double>(count) / most, kBarWidth)}});
    start += summary.stretch;
  }
  return fmt::format("Keys that expire in each stretch of {}\n", time_left_text(summary.stretch)) +
         table.render(Colours(wants_colours()));
}

void print_summary(const std::vector<Expiring>& found, Range range, Time now, bool is_json) {
  if (!found.empty()) {
    const Summary summary = summary_of(found, range, now);
    fmt::print("{}", is_json ? summary_json(summary) : summary_text(summary, now));
  } else if (is_json) {
    fmt::print("{{\"stretch_ms\": null, \"stretches\": []}}\n");
  } else {
    fmt::print("No key expires from {} to {}\n", moment_text(range.from), moment_text(range.to));
  }
}

Result<Exit> expiring(const Words& words, const StoreFile& file) {
  std::size_t limit = SIZE_MAX;
  if (!words.limit.empty()) {
    const auto number = parse_number<std::size_t>("--limit", words.limit, 0, INT64_MAX);
    if (!number) return number.error();
    limit = *number;
  }
  if (const auto range = range_of(words, file.now()); !range) return range.error();
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<Range> range = range_of(words, txn->now());  // it may have become empty by now
  if (!range) return range.error();
  const auto found = txn->expiring(range->from, range->to, limit, opened->family);
  if (!found) return found.error();
  if (!words.is_summary) return exit_of(print_keys(*found, txn->now(), file));
  print_summary(*found, *range, txn->now(), file.is_json());
  return Exit::ok;
}

}  // namespace

void add_expiring_command(Program& program, StoreFile* file) {
  const auto words = program.keep<Words>();
  CliCommand command = program.add("expiring", "List the keys that expire soon", kExamples);
  add_word(command, "--within", words->within, "TIME", "Those that end until then (1h)");
  add_word(command, "--from", words->from, "TIME", "Those that end then or later (now)");
  add_word(command, "--to", words->to, "TIME", "Those that end before that moment (never)");
  add_word(command, "--limit", words->limit, "N", "The most keys to show (all)");
  command.add_flag("--summary,--histogram", words->is_summary,
                   "Show how many, as a bar for each stretch of time");
  file->add_options(command);
  file->add_byte_options(command);
  program.on(command, [words, file] { return expiring(*words, *file); });
}

}  // namespace mayfly
