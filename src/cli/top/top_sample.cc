// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "tools/resp_client.h"

namespace mayfly {
namespace {

Maybe number(std::string_view info, std::string_view name) {
  const Result<double> found = info_number(info, name);
  return found ? Maybe(*found) : Maybe();
}

// The number of `name` in a list like "keys=3,expires=1".
Maybe number_in_list(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view pair = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), pair.size() + 1));
    if (!pair.starts_with(name) || pair.substr(name.size(), 1) != "=") continue;
    const std::string_view text = pair.substr(name.size() + 1);
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc()) return value;
  }
  return std::nullopt;
}

// Calls visit(name, value) for each line that starts with `prefix`; `name` is without the prefix.
template <class Visit>
void each_line(std::string_view info, std::string_view prefix, Visit visit) {
  while (!info.empty()) {
    const std::string_view line = info.substr(0, info.find("\r\n"));
    info.remove_prefix(std::min(info.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (!line.starts_with(prefix) || colon == std::string_view::npos) continue;
    visit(line.substr(prefix.size(), colon - prefix.size()), line.substr(colon + 1));
  }
}

// Rates between two samples of the same server.
class Rates {
 public:
  Rates(const TopSample* before, const TopSample& now) : now_(now) {
    const bool is_same = before != nullptr &&
                         info_value(before->info, "run_id") == info_value(now.info, "run_id") &&
                         now.ns > before->ns;
    if (!is_same) return;
    before_ = before;
    seconds_ = static_cast<double>(now.ns - before->ns) / 1e9;
  }

  Maybe of(Maybe before, Maybe now) const {
    if (before_ == nullptr || !before || !now || *now < *before) return std::nullopt;
    return (*now - *before) / seconds_;
  }
  Maybe of(std::string_view name) const {
    if (before_ == nullptr) return std::nullopt;
    return of(number(before_->info, name), number(now_.info, name));
  }
  std::string_view info_before() const {
    return before_ == nullptr ? std::string_view() : std::string_view(before_->info);
  }

 private:
  const TopSample* before_ = nullptr;
  const TopSample& now_;
  double seconds_ = 0;
};

std::string server_name(std::string_view info) {
  for (const std::string_view name : {"mayfly", "valkey", "redis"}) {
    const std::string_view version = info_value(info, fmt::format("{}_version", name));
    if (!version.empty()) return fmt::format("{} {}", name, version);
  }
  return "server";
}

void read_commands(TopView& view, std::string_view info, const Rates& rates) {
  std::map<std::string_view, Maybe> before;
  each_line(rates.info_before(), "cmdstat_", [&](std::string_view name, std::string_view list) {
    before[name] = number_in_list(list, "calls");
  });
  if (before.empty()) return;
  each_line(info, "cmdstat_", [&](std::string_view name, std::string_view list) {
    const auto found = before.find(name);
    const Maybe calls = found == before.end() ? Maybe(0) : found->second;
    const Maybe rate = rates.of(calls, number_in_list(list, "calls"));
    if (rate && *rate > 0) view.commands.emplace_back(name, *rate);
  });
  std::ranges::stable_sort(view.commands, std::greater<>(),
                           [](const auto& one) { return one.second; });
}

void read_memory(TopView& view, std::string_view info) {
  view.used_bytes = number(info, "used_memory");
  view.rss_bytes = number(info, "used_memory_rss");
  view.most_bytes = number(info, "maxmemory");
  if (view.most_bytes == 0) view.most_bytes.reset();
  view.fragmentation = number(info, "mem_fragmentation_ratio");
}

void read_keys(TopView& view, std::string_view info) {
  each_line(info, "db", [&](std::string_view, std::string_view list) {
    view.keys += number_in_list(list, "keys").value_or(0);
    view.keys_with_deadline += number_in_list(list, "expires").value_or(0);
    for (const std::string_view name : {"keys_with_volatile_items", "subexpiry"}) {
      const Maybe hashes = number_in_list(list, name);
      if (hashes) view.keys_with_members = view.keys_with_members.value_or(0) + *hashes;
    }
  });
}

std::optional<TopLateness> lateness(std::string_view info, std::string_view kind) {
  const auto part = [&](std::string_view what) {
    return number(info, fmt::format("expiry_lateness_{}_{}", kind, what));
  };
  const Maybe count = part("count");
  if (!count) return std::nullopt;
  return TopLateness{*count, part("p50_ms").value_or(0), part("p99_ms").value_or(0),
                     part("max_ms").value_or(0)};
}

void read_expiry(TopView& view, std::string_view info, const Rates& rates) {
  for (std::size_t i = 0; i < kTopSpans.size(); ++i) {
    view.keys_within[i] = number(info, fmt::format("expiry_keys_due_within_{}", kTopSpans[i]));
    view.members_within[i] =
        number(info, fmt::format("expiry_keys_with_members_due_within_{}", kTopSpans[i]));
  }
  view.expired_keys = number(info, "expired_keys");
  view.expired_fields = number(info, "expired_fields");
  view.expired_keys_rate = rates.of("expired_keys");
  view.expired_fields_rate = rates.of("expired_fields");
  view.backlog = number(info, "expiry_backlog_keys");
  view.late_by_sweep = lateness(info, "active");
  view.late_on_access = lateness(info, "lazy");
  view.evicted_keys = number(info, "evicted_keys");
  view.evicted_rate = rates.of("evicted_keys");
}

Maybe hit_share(std::string_view info, const Rates& rates) {
  const double hits = rates.of("keyspace_hits").value_or(0);
  const double misses = rates.of("keyspace_misses").value_or(0);
  if (hits + misses > 0) return hits / (hits + misses);
  const double all_hits = number(info, "keyspace_hits").value_or(0);
  const double all_misses = number(info, "keyspace_misses").value_or(0);
  if (all_hits + all_misses > 0) return all_hits / (all_hits + all_misses);
  return std::nullopt;
}

void read_persistence(TopView& view, std::string_view info, double wall_s) {
  view.unsaved_changes = number(info, "rdb_changes_since_last_save");
  if (const Maybe saved = number(info, "rdb_last_save_time")) {
    view.last_save_age_s = std::max(0.0, wall_s - *saved);
  }
  view.is_saving = number(info, "rdb_bgsave_in_progress") == 1;
  view.is_save_good = info_value(info, "rdb_last_bgsave_status") != "err";
  view.has_aof = number(info, "aof_enabled") == 1;
  view.is_aof_good = info_value(info, "aof_last_write_status") != "err";
  view.aof_bytes = number(info, "aof_current_size");
}

void read_replication(TopView& view, std::string_view info) {
  view.role = info_value(info, "role");
  view.replicas = number(info, "connected_slaves");
  for (int i = 0; i < view.replicas.value_or(0); ++i) {
    const Maybe lag = number_in_list(info_value(info, fmt::format("slave{}", i)), "lag");
    if (lag) view.lag_s = std::max(view.lag_s.value_or(0), *lag);
  }
  const std::string_view host = info_value(info, "master_host");
  if (host.empty()) return;
  view.primary = fmt::format("{}:{}", host, info_value(info, "master_port"));
  view.is_link_up = info_value(info, "master_link_status") == "up";
  view.lag_s = number(info, "master_last_io_seconds_ago");
}

}  // namespace

TopView view_of(const TopSample* before, const TopSample& now, double wall_s) {
  const Rates rates(before, now);
  const std::string_view info = now.info;
  TopView view;
  view.server = server_name(info);
  view.uptime_s = number(info, "uptime_in_seconds");
  view.operations = rates.of("total_commands_processed");
  view.clients = number(info, "connected_clients");
  view.blocked_clients = number(info, "blocked_clients");
  view.in_rate = rates.of("total_net_input_bytes");
  // A server that replies and reports 0 does not count it.
  if (number(info, "total_net_output_bytes") != 0) {
    view.out_rate = rates.of("total_net_output_bytes");
  }
  view.hit_share = hit_share(info, rates);
  read_commands(view, info, rates);
  read_memory(view, info);
  read_keys(view, info);
  read_expiry(view, info, rates);
  read_persistence(view, info, wall_s);
  read_replication(view, info);
  return view;
}

}  // namespace mayfly
