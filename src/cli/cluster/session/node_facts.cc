// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/session/node_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "mayfly/internal/stopwatch.h"
#include "tools/resp_client.h"

namespace mayfly {
namespace {

constexpr Millis kNodePatience{2000};
constexpr Millis kCountPatience{5000};

// The meaning of an error code of ClusterNodes::call.
NodeAnswer answer_of(const Error& error) {
  switch (error.code) {
    case Code::not_found:
      return NodeAnswer::refuses;
    case Code::busy:
      return NodeAnswer::silent;
    case Code::denied:
      return NodeAnswer::locked;
    case Code::unsupported:
      return NodeAnswer::closed;
    case Code::full:
      return NodeAnswer::full;
    default:
      return NodeAnswer::broken;
  }
}

std::uint64_t whole(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_yes(std::string_view text) { return text == "1" || text == "yes"; }

std::optional<double> share_of(std::string_view info, std::string_view done,
                               std::string_view total) {
  const auto all = info_number(info, total);
  const auto part = info_number(info, done);
  if (!all || !part || *all <= 0) return std::nullopt;
  return std::clamp(*part / *all, 0.0, 1.0);
}

// "in_record=1,lag=120,clock_difference_ms=-3", and perhaps ",refused=clock"
MemberFacts read_member(std::string_view text) {
  MemberFacts member;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view field = text.substr(0, end);
    const std::size_t sign = std::min(field.find('='), field.size());
    const std::string_view name = field.substr(0, sign);
    const std::string_view value = field.substr(std::min(sign + 1, field.size()));
    if (name == "in_record") member.is_in_record = value == "1";
    if (name == "lag") member.lag_bytes = whole(value);
    if (name == "refused") member.has_wrong_clock = value == "clock";
    if (name == "clock_difference_ms") {
      std::int64_t ms = 0;
      std::from_chars(value.data(), value.data() + value.size(), ms);
      member.clock_ahead = Millis(ms);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return member;
}

bool is_error(const ReplyValue& reply) { return reply.kind == ReplyValue::Kind::error; }

// TIME: seconds and microseconds.
std::optional<Time> time_of(const ReplyValue& reply) {
  if (reply.items.size() != 2) return std::nullopt;
  const auto ms = whole(reply.items[0].text) * 1000 + whole(reply.items[1].text) / 1000;
  return Time(Millis(static_cast<std::int64_t>(ms)));
}

// The reason for an error instead of CLUSTER INFO.
void complain(NodeFacts& facts, const ReplyValue& reply) {
  facts.error = reply.text;
  facts.answer = NodeAnswer::broken;
  if (reply.text.starts_with("BUSY ")) facts.answer = NodeAnswer::busy;
  if (reply.text.starts_with("NOPERM ")) facts.answer = NodeAnswer::locked;
  if (reply.text.find("cluster support disabled") != std::string::npos) {
    facts.error =
        "is not in cluster mode (start it with --cluster-enabled yes --cluster-etcd URLS)";
  }
}

}  // namespace

void read_cluster_info(NodeFacts& facts, std::string_view info) {
  const auto text = [&](std::string_view name) { return std::string(info_value(info, name)); };
  facts.id = text("cluster_my_id");
  facts.incarnation = text("cluster_my_incarnation");
  facts.cluster_name = text("cluster_name");
  facts.cluster_id = text("cluster_id");
  facts.shard = text("cluster_my_shard");
  facts.role = text("cluster_role");
  facts.is_serving = is_yes(info_value(info, "cluster_serving"));
  facts.epoch = whole(info_value(info, "cluster_epoch"));
  facts.record_version = whole(info_value(info, "cluster_record_version"));
  const auto floor = info_number(info, "cluster_clock_floor_ms");
  if (floor) facts.clock_floor = Millis(static_cast<std::int64_t>(*floor));
  if (const auto most = info_number(info, "cluster_max_clock_difference_ms")) {
    facts.clock_difference_max = Millis(static_cast<std::int64_t>(*most));
  }
  const std::string_view state = info_value(info, "cluster_register_state");
  facts.is_register_unusable = state == "unusable";
  facts.is_register_connected = state != "disconnected" && !facts.is_register_unusable;
  facts.register_error = text("cluster_register_error");
  facts.health.refused_writes = text("cluster_refused_writes");
  facts.health.came_back_empty = is_yes(info_value(info, "cluster_came_back_empty"));
  if (const std::string_view keeps = info_value(info, "cluster_keeps_data"); !keeps.empty()) {
    facts.health.keeps_data = is_yes(keeps);
  }
  if (const std::string_view room = info_value(info, "cluster_disk_free_bytes"); !room.empty()) {
    facts.health.disk_free = whole(room);
    facts.health.disk_bytes = whole(info_value(info, "cluster_disk_bytes"));
  }
  if (const auto staged = info_number(info, "cluster_staged_keys")) {
    facts.staged_keys = static_cast<std::uint64_t>(*staged);
  }

  constexpr std::string_view kMember = "cluster_member_";
  for (std::size_t at = info.find(kMember); at != info.npos; at = info.find(kMember, at + 1)) {
    const std::size_t end = std::min(info.find_first_of("\r\n", at), info.size());
    const std::string_view line = info.substr(at + kMember.size(), end - at - kMember.size());
    const std::size_t colon = std::min(line.find(':'), line.size());
    facts.members[std::string(line.substr(0, colon))] =
        read_member(line.substr(std::min(colon + 1, line.size())));
  }
}

void read_server_info(NodeFacts& facts, std::string_view info) {
  if (const auto bytes = info_number(info, "used_memory")) {
    facts.memory_bytes = static_cast<std::uint64_t>(*bytes);
  }
  if (info_value(info, "role") == "slave") {
    facts.followed_offset = whole(info_value(info, "slave_repl_offset"));
    facts.hears_primary = info_value(info, "master_link_status") == "up" &&
                          facts.role == "following";  // else "canvassing"
  }
  facts.version = std::string(info_value(info, "mayfly_version"));
  NodeHealth& health = facts.health;
  if (info_value(info, "paused_reason") == "client_pause") {
    health.paused = std::string(info_value(info, "paused_actions"));
  }
  health.memory_most = whole(info_value(info, "maxmemory"));
  health.evicts = info_value(info, "maxmemory_policy") != "noeviction";
  health.is_log_good = info_value(info, "aof_last_write_status") != "err";
  health.is_snapshot_good = info_value(info, "rdb_last_bgsave_status") != "err";
  health.is_link_down = info_value(info, "master_link_status") == "down";
  health.link_down_s = whole(info_value(info, "master_link_down_since_seconds"));
  health.unexpected_errors = whole(info_value(info, "unexpected_error_replies"));
  if (info_value(info, "aof_last_bgrewrite_status") == "err") {
    const std::uint64_t failures = whole(info_value(info, "aof_rewrites_consecutive_failures"));
    health.failed_rewrites = std::max<std::uint64_t>(failures, 1);
  }
  // CLUSTER INFO of an older version lacks the field.
  if (!health.keeps_data && is_yes(info_value(info, "aof_enabled"))) health.keeps_data = true;
  facts.is_loading = is_yes(info_value(info, "loading"));
  facts.loaded_share = share_of(info, "loading_loaded_bytes", "loading_total_bytes");
  facts.is_syncing = is_yes(info_value(info, "master_sync_in_progress"));
  facts.synced_share = share_of(info, "master_sync_read_bytes", "master_sync_total_bytes");
}

NodeFacts ask_facts(ClusterSession& session, const NodeAddress& node) {
  NodeFacts facts;
  const auto pong = session.nodes.call(node, {{"PING"}}, kNodePatience);  // connects
  const auto fail = [&](const Error& error) {
    facts.error = error.message;
    facts.answer = answer_of(error);
    return facts;
  };
  if (!pong) return fail(pong.error());
  const std::int64_t begin_ns = monotonic_ns();
  const Time before = session.clock.now();
  const auto time = session.nodes.call(node, {{"TIME"}}, kNodePatience);
  const Time after = session.clock.now();
  facts.round_trip_ms = static_cast<double>(monotonic_ns() - begin_ns) / 1e6;
  if (time && !time->empty()) {
    if (const auto there = time_of(time->front())) {
      facts.clock_ahead = *there - (before + (after - before) / 2);
    }
  }

  const auto replies =
      session.nodes.call(node, {{"CLUSTER", "INFO"}, {"DBSIZE"}, {"INFO"}}, kNodePatience);
  if (!replies) return fail(replies.error());
  const std::vector<ReplyValue>& all = *replies;
  if (is_error(all[0])) {
    complain(facts, all[0]);
    return facts;
  }
  read_cluster_info(facts, all[0].text);
  if (all[1].kind == ReplyValue::Kind::integer) {
    facts.keys = static_cast<std::uint64_t>(all[1].integer);
  } else if (all[1].text.starts_with("MASTERDOWN ")) {
    facts.health.refused_reads = all[1].text;
  }
  if (!is_error(all[2])) read_server_info(facts, all[2].text);
  // The only sign that a server of an older version gives.
  if (facts.health.refused_writes.empty() && pong->front().text.starts_with("MISCONF")) {
    facts.health.refused_writes = pong->front().text;
  }
  return facts;
}

std::vector<NodeFacts> ask_facts(ClusterSession& session, const std::vector<NodeAddress>& nodes) {
  constexpr std::size_t kAtOnce = 128;
  std::vector<NodeFacts> facts(nodes.size());
  for (std::size_t from = 0; from < nodes.size(); from += kAtOnce) {
    std::vector<std::thread> threads;
    for (std::size_t i = from; i < std::min(nodes.size(), from + kAtOnce); ++i) {
      threads.emplace_back([&, i] { facts[i] = ask_facts(session, nodes[i]); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return facts;
}

std::map<std::string, NodeFacts> ask_facts(ClusterSession& session, const ClusterView& view) {
  std::vector<std::string> ids;
  std::vector<NodeAddress> addresses;
  for (const auto& [id, node] : view.nodes()) {
    ids.push_back(id);
    addresses.push_back({node.record.host, node.record.port});
  }
  std::vector<NodeFacts> facts = ask_facts(session, addresses);
  std::map<std::string, NodeFacts> by_id;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (facts[i].is_up() && facts[i].id != ids[i]) {
      facts[i].error = fmt::format("another node is at {}", addresses[i].text());
      facts[i].answer = NodeAnswer::broken;
    }
    by_id.emplace(ids[i], std::move(facts[i]));
  }
  return by_id;
}

Result<ReplyValue> call_node(ClusterSession& session, const NodeAddress& node,
                             ClusterNodes::Request request) {
  const std::string name = fmt::format("{}", fmt::join(request, " "));
  auto replies = session.nodes.call(node, {std::move(request)}, kNodePatience);
  if (!replies) return replies.error();
  ReplyValue& reply = replies->front();
  if (!is_error(reply)) return std::move(reply);
  return Error{Code::denied, fmt::format("{}: {} failed: {}", node.text(), name, reply.text)};
}

Result<std::vector<std::uint64_t>> count_keys(ClusterSession& session, const NodeAddress& node,
                                              const SlotSet& slots) {
  std::vector<ClusterNodes::Request> requests;
  slots.each([&](HashSlot slot) {
    requests.push_back({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)});
  });
  const auto replies = session.nodes.call(node, requests, kCountPatience);
  if (!replies) return replies.error();
  std::vector<std::uint64_t> counts;
  for (const ReplyValue& reply : *replies) {
    if (reply.kind != ReplyValue::Kind::integer) {
      return Error{Code::io,
                   fmt::format("{}: CLUSTER COUNTKEYSINSLOT failed: {}", node.text(), reply.text)};
    }
    counts.push_back(static_cast<std::uint64_t>(reply.integer));
  }
  return counts;
}

Millis clock_spread(const std::vector<NodeFacts>& facts) {
  std::optional<Millis> least;
  std::optional<Millis> most;
  for (const NodeFacts& one : facts) {
    if (!one.is_up()) continue;
    least = least ? std::min(*least, one.clock_ahead) : one.clock_ahead;
    most = most ? std::max(*most, one.clock_ahead) : one.clock_ahead;
  }
  return least ? *most - *least : Millis(0);
}

Millis clock_difference_max(const std::vector<NodeFacts>& facts) {
  std::optional<Millis> least;
  for (const NodeFacts& one : facts) {
    if (!one.is_up()) continue;
    least = least ? std::min(*least, one.clock_difference_max) : one.clock_difference_max;
  }
  return least.value_or(kClockDifferenceMax);
}

}  // namespace mayfly
