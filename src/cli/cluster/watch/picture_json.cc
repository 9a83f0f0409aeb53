// SPDX-License-Identifier: Apache-2.0
// The picture of a cluster as JSON.

#include <fmt/format.h>

#include "cli/cluster/watch/picture.h"
#include "cli/cluster/watch/picture_problems.h"
#include "text/json.h"

namespace mayfly {
namespace {

void member_text(Json& json, std::string_view name, const std::string& text) {
  json.member(name, std::string_view(text));
}

void nodes_json(Json& json, const ClusterPicture& picture, const ClusterShard* shard) {
  json.key("nodes");
  json.open('[');
  for (const auto& [id, node] : picture.view.nodes()) {
    if (shard != nullptr && node.record.shard != shard->id) continue;
    if (shard == nullptr && picture.view.shard(node.record.shard) != nullptr) continue;
    const auto facts = picture.facts.find(id);
    const bool is_up = facts != picture.facts.end() && facts->second.is_up();
    const LiveRecord* const live = picture.view.live(id);
    json.open('{');
    member_text(json, "id", id);
    member_text(json, "host", node.record.host);
    json.member("port", node.record.port);
    member_text(json, "zone", node.record.zone);
    json.member("state", name_of(node.record.state));
    json.member("is_alive", picture.knows_lives ? std::optional(live != nullptr) : std::nullopt);
    json.member("is_reachable", is_up);
    if (shard != nullptr) {
      const bool is_primary = shard->record.primary.node == id;
      const bool is_in_sync =
          live != nullptr && shard->record.has(NodeMemory{id, live->incarnation});
      json.member("role", is_primary ? "primary" : "replica");
      json.member("is_in_sync", is_in_sync);
    }
    if (is_up) {
      json.member("is_serving", facts->second.is_serving);
      member_text(json, "refused_writes", facts->second.health.refused_writes);
      if (facts->second.health.keeps_data) {
        json.member("keeps_data", *facts->second.health.keeps_data);
      }
      json.member("keys", facts->second.keys);
      json.member("memory_bytes", facts->second.memory_bytes);
      json.member("clock_ahead_ms", static_cast<std::int64_t>(facts->second.clock_ahead.count()));
      json.member("clock_floor_ms", static_cast<std::int64_t>(facts->second.clock_floor.count()));
    } else if (facts != picture.facts.end()) {
      member_text(json, "error", facts->second.error);
    }
    json.close('}');
  }
  json.close(']');
}

// How much is served; null if the records are not known.
void service_json(Json& json, const ClusterPicture& picture) {
  const ClusterService service = service_of(picture);
  const auto add = [&](std::string_view name, std::size_t count) {
    std::optional<std::uint64_t> number;
    if (is_known(picture)) number = count;
    json.member(name, number);
  };
  add("uncovered_slots", picture.view.uncovered().count());
  add("nodes_of_shards", service.nodes);
  add("nodes_answering", service.answering);
  add("served_slots", service.served_slots);
  add("writable_slots", service.writable_slots);
}

void shards_json(Json& json, const ClusterPicture& picture) {
  json.key("shards");
  json.open('[');
  for (const ClusterShard& shard : picture.view.shards()) {
    json.open('{');
    member_text(json, "shard", shard.id);
    member_text(json, "state", shard_state(picture, shard));
    json.member("epoch", shard.record.epoch);
    json.member("version", shard.version);
    member_text(json, "slots", shard.record.slots.text());
    json.member("slot_count", static_cast<std::uint64_t>(shard.record.slots.count()));
    member_text(json, "primary", shard.record.primary.node);
    json.member("since_ms",
                static_cast<std::int64_t>(shard.record.since.time_since_epoch().count()));
    json.key("in_sync");
    json.open('[');
    for (const NodeMemory& member : shard.record.insync) json.value(std::string_view(member.node));
    json.close(']');
    nodes_json(json, picture, &shard);
    json.close('}');
  }
  json.close(']');
}

void moves_json(Json& json, const ClusterPicture& picture) {
  json.key("moves");
  json.open('[');
  for (const auto& [job, move] : picture.view.moves()) {
    json.open('{');
    member_text(json, "job", job);
    member_text(json, "source", move.record.source);
    member_text(json, "target", move.record.target);
    member_text(json, "slots", move.record.slots.text());
    json.member("state", name_of(move.record.state));
    member_text(json, "error", move.record.error);
    const auto progress = picture.progress.find(job);
    if (progress != picture.progress.end()) json.member("share", progress->second.share);
    json.close('}');
  }
  json.close(']');
}

void etcd_json(Json& json, const ClusterPicture& picture) {
  json.key("etcd");
  json.open('[');
  for (const EtcdEndpointStatus& member : picture.etcd) {
    json.open('{');
    member_text(json, "endpoint", member.endpoint);
    member_text(json, "name", member.name);
    member_text(json, "error", member.error);
    member_text(json, "version", member.version);
    json.member("is_leader", member.is_leader);
    json.member("database_bytes", member.database_bytes);
    json.member("latency_ms", member.latency_ms);
    json.close('}');
  }
  json.close(']');
}

void problems_json(Json& json, const ClusterPicture& picture) {
  json.key("problems");
  json.open('[');
  for (const ClusterProblem& problem : all_problems(picture)) {
    json.open('{');
    json.member("severity", name_of(problem.severity));
    member_text(json, "what", problem.what);
    member_text(json, "advice", problem.advice);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string picture_json(const ClusterPicture& picture) {
  Json json;
  json.open('{');
  json.member("time_ms", static_cast<std::int64_t>(picture.now.time_since_epoch().count()));
  member_text(json, "cluster", picture.name);
  member_text(json, "error", picture.error);
  if (!picture.source.empty()) member_text(json, "source", picture.source);
  if (picture.view.config()) {
    const ClusterRecord& config = picture.view.config()->record;
    member_text(json, "id", config.id);
    json.member("lease_ms", static_cast<std::int64_t>(config.lease.count()));
    json.member("replicas", config.replicas);
  }
  service_json(json, picture);
  if (is_known(picture)) {
    shards_json(json, picture);
    nodes_json(json, picture, nullptr);
    moves_json(json, picture);
  } else {
    for (const std::string_view name : {"shards", "nodes", "moves"}) {
      json.member(name, std::optional<bool>());
    }
  }
  etcd_json(json, picture);
  problems_json(json, picture);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
