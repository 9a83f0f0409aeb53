// SPDX-License-Identifier: Apache-2.0
// The sections of INFO, and the short ones among them.

#include "server/monitoring/info.h"

#include <sys/resource.h>

#include <algorithm>

#include "commands/words.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace {

struct Section {
  std::string_view name;
  std::string_view title;
  bool is_default;
  void (*write)(const ServerParts&, std::string&);
};

void info_modules(const ServerParts&, std::string&) {}

// clang-format off
constexpr Section kSections[] = {
    {"server",       "Server",       true,  info_server},
    {"clients",      "Clients",      true,  info_clients},
    {"memory",       "Memory",       true,  info_memory},
    {"persistence",  "Persistence",  true,  info_persistence},
    {"stats",        "Stats",        true,  info_stats},
    {"expiry",       "Expiry",       true,  info_expiry},
    {"replication",  "Replication",  true,  info_replication},
    {"cpu",          "CPU",          true,  info_cpu},
    {"modules",      "Modules",      true,  info_modules},
    {"commandstats", "Commandstats", false, info_command_stats},
    {"errorstats",   "Errorstats",   true,  info_error_stats},
    {"latencystats", "Latencystats", false, info_latency_stats},
    {"cluster",      "Cluster",      true,  info_cluster},
    {"keyspace",     "Keyspace",     true,  info_keyspace},
};
// clang-format on

bool is_wanted(const Section& section, std::span<const std::string_view> names) {
  if (names.empty()) return section.is_default;
  return std::ranges::any_of(names, [&](std::string_view name) {
    if (equals(name, "all") || equals(name, "everything")) return true;
    return equals(name, "default") ? section.is_default : equals(name, section.name);
  });
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void info_usage(std::string& text, std::string_view suffix, int who) {
  rusage usage{};
  if (::getrusage(who, &usage) != 0) return;
  text += fmt::format("used_cpu_sys{}:{:.6f}\r\n", suffix, seconds_of(usage.ru_stime));
  text += fmt::format("used_cpu_user{}:{:.6f}\r\n", suffix, seconds_of(usage.ru_utime));
}

}  // namespace

std::string info_text(const ServerParts& server, std::span<const std::string_view> names) {
  std::string text;
  for (const Section& section : kSections) {
    if (!is_wanted(section, names)) continue;
    if (!text.empty()) text += "\r\n";
    text += fmt::format("# {}\r\n", section.title);
    section.write(server, text);
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::string_view kUnits = "KMGTPE";
  if (bytes < 1024) return fmt::format("{}B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.2f}{}", size, kUnits[unit]);
}

void info_cpu(const ServerParts&, std::string& text) {
  info_usage(text, "", RUSAGE_SELF);
  info_usage(text, "_children", RUSAGE_CHILDREN);
  info_usage(text, "_main_thread", RUSAGE_THREAD);
  // The thread never spins: when it is not working it sleeps.
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return;
  const double active = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  info_line(text, "used_active_time_main_thread", static_cast<std::int64_t>(active * 1e6));
}

void info_keyspace(const ServerParts& server, std::string& text) {
  Keyspace& keyspace = server.keyspace;
  const ExecContext context = server.reclaimer.context();
  const int shown = server.config.cluster_enabled ? 1 : keyspace.count();  // not what is imported
  for (int number = 0; number < shown; ++number) {
    const Database& database = keyspace[number];
    if (database.size(context) == 0) continue;
    text += fmt::format("db{}:keys={},expires={},avg_ttl={},keys_with_volatile_items={}\r\n",
                        number, database.size(context), database.deadline_count(),
                        database.average_ttl_ms(context.now), database.member_deadline_count());
  }
}

}  // namespace mayfly
