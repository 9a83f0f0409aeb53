// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/ttl_words.h"
#include "text/json.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

constexpr std::size_t kHistoryMost = 300;
constexpr std::size_t kCommandsShown = 8;
constexpr std::size_t kSparkWidth = 40;

// 950, 12.3 K, 4.5 M: in steps of 1000, or, for bytes, of 1024.
std::string scaled(double value, double step) {
  constexpr std::array<std::string_view, 5> kScales = {"", " K", " M", " G", " T"};
  std::size_t unit = 0;
  while (value >= step * 10 && unit + 1 < kScales.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit == 0 ? 0 : 1, kScales[unit]);
}

std::string count_text(double number) { return scaled(number, 1000); }
std::string count_text(Maybe number) { return number ? count_text(*number) : "?"; }
std::string per_second(Maybe number) {
  if (!number) return "?/s";
  if (*number > 0 && *number < 10) return fmt::format("{:.1f}/s", *number);
  return count_text(*number) + "/s";
}
std::string bytes_text(double number) {
  return scaled(number, 1024) + (number < 10'240 ? " B" : "B");
}
std::string seconds_text(double number) {
  if (number < 60) return fmt::format("{:.0f}s", std::floor(number));
  return time_left_text(Millis(static_cast<std::int64_t>(number) * 1000));
}

std::string top_row(std::string_view name, const std::string& text) {
  return fmt::format("{:<13}{}", name, text);
}

std::string memory_text(const TopView& view) {
  std::string text = bytes_text(*view.used_bytes) + " used";
  if (view.rss_bytes) text += fmt::format(", {} resident", bytes_text(*view.rss_bytes));
  if (view.most_bytes) {
    text += fmt::format(", {:.0f} % of {}", 100 * *view.used_bytes / *view.most_bytes,
                        bytes_text(*view.most_bytes));
  } else {
    text += ", no limit";
  }
  if (view.fragmentation) text += fmt::format(", fragmentation {:.2f}", *view.fragmentation);
  return text;
}

std::string keys_text(const TopView& view) {
  std::string text =
      fmt::format("{}, {} with a TTL", count_text(view.keys), count_text(view.keys_with_deadline));
  if (view.keys_with_members) {
    text += fmt::format(", {} keys with member TTLs", count_text(*view.keys_with_members));
  }
  return text;
}

// A line of a small table: the name and five numbers.
std::string spans_text(std::string_view name,
                       const std::array<std::string, kTopSpans.size()>& cells) {
  std::string text = fmt::format("{:<8}", name);
  for (const std::string& cell : cells) text += pad_left(cell, 9);
  return text;
}

void add_spans(const TopView& view, std::vector<std::string>& lines) {
  if (!view.keys_within[0]) return;
  std::array<std::string, kTopSpans.size()> heads;
  std::array<std::string, kTopSpans.size()> keys;
  std::array<std::string, kTopSpans.size()> members;
  for (std::size_t i = 0; i < kTopSpans.size(); ++i) {
    heads[i] = kTopSpans[i];
    keys[i] = count_text(view.keys_within[i]);
    members[i] = count_text(view.members_within[i]);
  }
  lines.push_back(top_row("due within", spans_text("", heads)));
  lines.push_back(top_row("", spans_text("keys", keys)));
  lines.push_back(top_row("", spans_text("members", members) + "   keys, by their next member"));
}

std::string lateness_text(const TopLateness& lateness) {
  if (lateness.count == 0) return "none yet";
  return fmt::format("p50 {:.0f} ms, p99 {:.0f} ms, max {:.0f} ms", lateness.p50_ms,
                     lateness.p99_ms, lateness.max_ms);
}

void add_lateness(const TopView& view, std::vector<std::string>& lines) {
  if (view.late_by_sweep) {
    lines.push_back(top_row("late by", "swept      " + lateness_text(*view.late_by_sweep)));
  }
  if (view.late_on_access) {
    lines.push_back(top_row("", "on access  " + lateness_text(*view.late_on_access)));
  }
}

std::string expired_text(const TopView& view) {
  std::string text = fmt::format("{} keys", per_second(view.expired_keys_rate));
  if (view.expired_fields) text += fmt::format(", {} fields", per_second(view.expired_fields_rate));
  text += fmt::format("; total {} keys", count_text(view.expired_keys));
  if (view.expired_fields) text += fmt::format(", {} fields", count_text(*view.expired_fields));
  if (view.backlog && *view.backlog > 0)
    text += fmt::format("; {} overdue", count_text(*view.backlog));
  return text;
}

std::string persistence_text(const TopView& view) {
  std::string text = view.is_saving ? "saving now" : "";
  if (!view.is_saving && view.last_save_age_s) {
    text = fmt::format("saved {} ago", seconds_text(*view.last_save_age_s));
  }
  if (!view.is_save_good) text += ", THE LAST SAVE FAILED";
  if (view.unsaved_changes)
    text += fmt::format(", {} changes since", count_text(*view.unsaved_changes));
  text += view.has_aof ? "; AOF on" : "; AOF off";
  if (view.has_aof && view.aof_bytes) text += ", " + bytes_text(*view.aof_bytes);
  if (!view.is_aof_good) text += ", ITS LAST WRITE FAILED";
  return text;
}

std::string replication_text(const TopView& view) {
  std::string text = view.primary.empty() ? "primary" : "replica of " + view.primary;
  if (!view.primary.empty() && !view.is_link_up) text += ", LINK DOWN";
  if (view.replicas && (*view.replicas > 0 || view.primary.empty())) {
    text += fmt::format(", {:.0f} replicas", *view.replicas);
  }
  if (view.lag_s && *view.lag_s >= 0) text += fmt::format(", lag {:.0f} s", *view.lag_s);
  return text;
}

void add_operations(const TopView& view, const TopHistory& history,
                    std::vector<std::string>& lines) {
  std::string text = per_second(view.operations);
  if (!history.operations.empty()) {
    text = fmt::format("{:<12}{}", text, sparkline(history.operations, kSparkWidth));
  }
  lines.push_back(top_row("operations", text));
  std::string commands;
  for (std::size_t i = 0; i < std::min(view.commands.size(), kCommandsShown); ++i) {
    const auto& [name, a_second] = view.commands[i];
    commands += fmt::format("{}{} {}", i == 0 ? "" : ", ", name, per_second(a_second));
  }
  if (!commands.empty()) lines.push_back(top_row("", commands));
}

void add_spans_json(Json& json, std::string_view name,
                    const std::array<Maybe, kTopSpans.size()>& numbers) {
  json.key(name);
  json.open('{');
  for (std::size_t i = 0; i < kTopSpans.size(); ++i) json.member(kTopSpans[i], numbers[i]);
  json.close('}');
}

void add_lateness_json(Json& json, std::string_view name,
                       const std::optional<TopLateness>& lateness) {
  if (!lateness) return json.member(name, Maybe());
  json.key(name);
  json.open('{');
  json.member("count", lateness->count);
  json.member("p50", lateness->p50_ms);
  json.member("p99", lateness->p99_ms);
  json.member("max", lateness->max_ms);
  json.close('}');
}

// Removes line breaks and indentation; newlines in strings are escaped.
std::string without_newlines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      out += text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
  }
  return out;
}

}  // namespace

void TopHistory::add(const TopView& view) {
  const auto push = [](std::deque<double>& values, double value) {
    values.push_back(value);
    if (values.size() > kHistoryMost) values.pop_front();
  };
  if (view.operations) push(operations, *view.operations);
  const double fields = view.expired_fields_rate.value_or(0);
  if (view.expired_keys_rate) push(expired, *view.expired_keys_rate + fields);
}

std::string sparkline(const std::deque<double>& values, std::size_t width) {
  constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t from = values.size() > width ? values.size() - width : 0;
  double most = 0;
  for (std::size_t i = from; i < values.size(); ++i) most = std::max(most, values[i]);
  std::string line;
  for (std::size_t i = from; i < values.size(); ++i) {
    const double share = most > 0 ? values[i] / most : 0;
    line += kHeights[static_cast<std::size_t>(std::lround(share * (kHeights.size() - 1)))];
  }
  return line;
}

std::string cut(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_first = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (is_first && characters++ == width) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

std::vector<std::string> top_lines(const TopView& view, const TopHistory& history,
                                   std::string_view address, std::size_t width) {
  std::vector<std::string> lines;
  std::string title = fmt::format("{} at {}", view.server, address);
  if (view.uptime_s) title += fmt::format(", up {}", seconds_text(*view.uptime_s));
  lines.push_back(title);
  lines.emplace_back();
  add_operations(view, history, lines);
  if (view.clients) {
    lines.push_back(top_row("clients", fmt::format("{}, {} blocked", count_text(*view.clients),
                                                   count_text(view.blocked_clients))));
  }
  if (view.used_bytes) lines.push_back(top_row("memory", memory_text(view)));
  lines.push_back(top_row("keys", keys_text(view)));
  add_spans(view, lines);
  lines.push_back(top_row("expired", expired_text(view)));
  if (!history.expired.empty()) {
    lines.push_back(top_row("", sparkline(history.expired, kSparkWidth + 12)));
  }
  add_lateness(view, lines);
  lines.push_back(top_row("evicted", fmt::format("{} keys; total {}", per_second(view.evicted_rate),
                                                 count_text(view.evicted_keys))));
  if (view.hit_share)
    lines.push_back(top_row("hits", fmt::format("{:.1f} %", 100 * *view.hit_share)));
  if (view.in_rate) {
    std::string text = bytes_text(*view.in_rate) + "/s in";
    if (view.out_rate) text += fmt::format(", {}/s out", bytes_text(*view.out_rate));
    lines.push_back(top_row("network", text));
  }
  lines.push_back(top_row("persistence", persistence_text(view)));
  if (!view.role.empty()) lines.push_back(top_row("replication", replication_text(view)));
  for (std::string& line : lines) line = cut(line, width);
  return lines;
}

std::string top_json(const TopView& view, std::string_view address, Time now) {
  Json json;
  json.open('{');
  json.member("time_ms", static_cast<std::int64_t>(now.time_since_epoch().count()));
  json.member("address", address);
  json.member("server", std::string_view(view.server));
  json.member("uptime_s", view.uptime_s);
  json.member("operations_per_s", view.operations);
  json.key("commands_per_s");
  json.open('{');
  for (const auto& [name, a_second] : view.commands) json.member(name, a_second);
  json.close('}');
  json.member("clients", view.clients);
  json.member("blocked_clients", view.blocked_clients);
  json.member("memory_used_bytes", view.used_bytes);
  json.member("memory_resident_bytes", view.rss_bytes);
  json.member("memory_limit_bytes", view.most_bytes);
  json.member("fragmentation", view.fragmentation);
  json.member("keys", view.keys);
  json.member("keys_with_deadline", view.keys_with_deadline);
  json.member("keys_with_member_deadlines", view.keys_with_members);
  add_spans_json(json, "keys_due_within", view.keys_within);
  add_spans_json(json, "keys_with_members_due_within", view.members_within);
  json.member("expired_keys", view.expired_keys);
  json.member("expired_fields", view.expired_fields);
  json.member("expired_keys_per_s", view.expired_keys_rate);
  json.member("expired_fields_per_s", view.expired_fields_rate);
  json.member("overdue_keys", view.backlog);
  add_lateness_json(json, "late_by_sweep_ms", view.late_by_sweep);
  add_lateness_json(json, "late_on_access_ms", view.late_on_access);
  json.member("evicted_keys", view.evicted_keys);
  json.member("evicted_keys_per_s", view.evicted_rate);
  json.member("hit_share", view.hit_share);
  json.member("network_in_bytes_per_s", view.in_rate);
  json.member("network_out_bytes_per_s", view.out_rate);
  json.member("unsaved_changes", view.unsaved_changes);
  json.member("last_save_age_s", view.last_save_age_s);
  json.member("is_saving", view.is_saving);
  json.member("is_save_good", view.is_save_good);
  json.member("has_aof", view.has_aof);
  json.member("is_aof_good", view.is_aof_good);
  json.member("role", std::string_view(view.primary.empty() ? "primary" : "replica"));
  json.member("replicas", view.replicas);
  json.member("lag_s", view.lag_s);
  json.close('}');
  return without_newlines(json.text());
}

}  // namespace mayfly
