// SPDX-License-Identifier: Apache-2.0
// LATENCY: keeping what took longer than the threshold, the longest of each second, and showing it.

#include "server/monitoring/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "commands/words.h"
#include "server/core/server_call.h"
#include "server/monitoring/stats.h"

namespace mayfly {

void Latency::add(std::string_view event, std::int64_t ms, std::int64_t threshold_ms, Time now) {
  if (threshold_ms == 0 || ms < threshold_ms) return;
  const auto found = events_.find(event);
  LatencyEvent& kept = found != events_.end() ? found->second : events_[std::string(event)];
  const std::int64_t second =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();

  kept.max_ms = std::max(kept.max_ms, ms);
  kept.sum_ms += ms;
  ++kept.count;
  if (!kept.samples.empty() && kept.samples.back().at_seconds == second) {
    kept.samples.back().ms = std::max(kept.samples.back().ms, ms);
    return;
  }
  kept.samples.push_back({second, ms});
  if (kept.samples.size() > kSamples) kept.samples.pop_front();
}

bool Latency::reset(std::string_view event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  events_.erase(found);
  return true;
}

namespace {

std::int64_t to_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::string latency_report(const Latency& latency, std::int64_t threshold_ms) {
  if (threshold_ms == 0) {
    return "Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> turns "
           "it on.\n";
  }
  if (latency.events().empty()) {
    return fmt::format("Nothing has taken {} ms or longer.\n", threshold_ms);
  }
  std::string report = fmt::format("This took {} ms or longer:\n", threshold_ms);
  for (const auto& [name, event] : latency.events()) {
    std::int64_t sum = 0;
    for (const LatencySample& sample : event.samples) sum += sample.ms;
    report += fmt::format("- {}: {} times in the samples kept, {} ms on average, {} ms at most.\n",
                          name, event.samples.size(),
                          sum / static_cast<std::int64_t>(event.samples.size()), event.max_ms);
  }
  if (latency.events().contains("command")) {
    report += "SLOWLOG GET shows which commands were slow.\n";
  }
  if (latency.events().contains("expire-cycle")) {
    report += "expire-slice-microseconds bounds how long a sweep of what is due may take.\n";
  }
  return report;
}

// A bar for each sample, the oldest first.
std::string graph(std::string_view name, const LatencyEvent& event, std::int64_t now_seconds) {
  constexpr std::int64_t kWidth = 60;
  const auto less = [](const LatencySample& a, const LatencySample& b) { return a.ms < b.ms; };
  const std::int64_t high = std::ranges::max_element(event.samples, less)->ms;
  const std::int64_t low = std::ranges::min_element(event.samples, less)->ms;
  std::string text = fmt::format("{} - high {} ms, low {} ms (all time high {} ms)\n", name, high,
                                 low, event.max_ms);
  for (const LatencySample& sample : event.samples) {
    const auto width =
        static_cast<std::size_t>(sample.ms * kWidth / std::max<std::int64_t>(high, 1));
    text += fmt::format("{:>8}s ago  {} {} ms\n", now_seconds - sample.at_seconds,
                        std::string(std::max<std::size_t>(width, 1), '#'), sample.ms);
  }
  return text;
}

void reply_histogram(Reply& reply, const CommandStats& stats) {
  reply.map(2);
  reply.bulk("calls");
  reply.integer(static_cast<std::int64_t>(stats.calls));
  reply.bulk("histogram_usec");
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < stats.micros_log2.size(); ++i) {
    if (stats.micros_log2[i] == 0) continue;
    total += stats.micros_log2[i];
    reply.integer(static_cast<std::int64_t>(bucket_micros(i) + 1));
    reply.integer(total);
    ++count;
  }
  reply.map_at(place, count);
}

// Whether the command or its container was asked for.
bool is_asked(Words names, const std::string& name) {
  return names.empty() || std::ranges::any_of(names, [&](std::string_view word) {
           const std::string asked = lowered(word);
           return name == asked || name.starts_with(asked + '|');
         });
}

void latency_latest(Call& call) {
  const auto& events = parts_of(call).latency.events();
  call.reply().array(events.size());
  for (const auto& [name, event] : events) {
    call.reply().array(6);
    call.reply().bulk(name);
    call.reply().integer(event.samples.back().at_seconds);
    call.reply().integer(event.samples.back().ms);
    call.reply().integer(event.max_ms);
    call.reply().integer(event.sum_ms);
    call.reply().integer(event.count);
  }
}

void latency_history(Call& call) {
  const auto& events = parts_of(call).latency.events();
  const auto found = events.find(call.word(2));
  if (found == events.end()) return call.reply().array(0);
  call.reply().array(found->second.samples.size());
  for (const LatencySample& sample : found->second.samples) {
    call.reply().array(2);
    call.reply().integer(sample.at_seconds);
    call.reply().integer(sample.ms);
  }
}

void latency_reset(Call& call) {
  Latency& latency = parts_of(call).latency;
  std::size_t count = 0;
  if (call.count() == 2) {
    count = latency.events().size();
    latency.reset();
  }
  for (const std::string_view event : call.words().subspan(2)) count += latency.reset(event);
  call.reply().integer(static_cast<std::int64_t>(count));
}

void latency_doctor(Call& call) {
  const ServerParts& server = parts_of(call);
  call.reply().verbatim("txt",
                        latency_report(server.latency, server.config.latency_monitor_threshold));
}

void latency_graph(Call& call) {
  const auto& events = parts_of(call).latency.events();
  const auto found = events.find(call.word(2));
  if (found == events.end()) {
    return call.fail(fmt::format("ERR No samples available for event '{}'", call.word(2)));
  }
  call.reply().verbatim("txt", graph(found->first, found->second, to_seconds(call.now())));
}

void latency_histogram(Call& call) {
  const Words names = call.words().subspan(2);
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  for (const auto& [name, stats] : commands_by_name(parts_of(call).stats)) {
    if (stats->calls == 0 || !is_asked(names, name)) continue;
    call.reply().bulk(name);
    reply_histogram(call.reply(), *stats);
    ++count;
  }
  call.reply().map_at(place, count);
}

constexpr std::uint64_t kLatencyFlags = flag::admin | flag::noscript | flag::loading | flag::stale;

// clang-format off
constexpr Command kLatencies[] = {
    {"latest", latency_latest, 2, kLatencyFlags, {}, "server", "2.8.13", "",
     "Returns the latest sample of each event.", {}, "latency"},
    {"history", latency_history, 3, kLatencyFlags, {}, "server", "2.8.13", "event",
     "Returns the samples of an event.", {}, "latency"},
    {"reset", latency_reset, -2, kLatencyFlags, {}, "server", "2.8.13", "[event...]",
     "Removes samples.", {}, "latency"},
    {"doctor", latency_doctor, 2, kLatencyFlags, {}, "server", "2.8.13", "",
     "Diagnoses what took long.", {}, "latency"},
    {"graph", latency_graph, 3, kLatencyFlags, {}, "server", "2.8.13", "event",
     "Draws the samples of an event.", {}, "latency"},
    {"histogram", latency_histogram, -2, kLatencyFlags, {}, "server", "7.0.0", "[command...]",
     "Returns how often commands took how long.", {}, "latency"},
    {"help", reply_help, 2, flag::loading | flag::stale, {}, "server", "2.8.13", "",
     "Prints this help.", {}, "latency"},
};

constexpr Command kLatencyCommands[] = {
    {"latency", nullptr, -2, 0, {}, "server", "2.8.13", "", "Shows what took long, and when.",
     kLatencies},
};
// clang-format on

}  // namespace

std::span<const Command> latency_commands() { return kLatencyCommands; }

}  // namespace mayfly
