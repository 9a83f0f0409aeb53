// SPDX-License-Identifier: Apache-2.0
// Starting a node, and registering it.

#include "server/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.h"
#include "net/blocking_stream.h"
#include "net/socket.h"
#include "resp/encode.h"
#include "server/core/clients.h"
#include "server/core/requests.h"
#include "server/persistence/persistence.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr Millis kWarningInterval{10'000};
constexpr Millis kNoteAfter{1000};
constexpr Millis kProbeTime{500};
constexpr Millis kProbeAgain{1000};
constexpr Millis kPeerStuck{1000};
constexpr std::size_t kIncarnationDigits = 16;

bool is_wildcard(const std::string& host) {
  return host == "*" || host == "0.0.0.0" || host == "::" || host == "::*" || host == "-::*";
}

// The host of "http://10.0.0.1:2379".
std::string host_of(std::string_view url) {
  url.remove_prefix(std::min(url.find("://") + 3, url.size()));
  if (url.starts_with('[')) return std::string(url.substr(1, url.find(']') - 1));
  return std::string(url.substr(0, url.find_first_of(":/")));
}

}  // namespace

Cluster::Cluster(const ServerParts& parts)
    : parts_(parts),
      is_enabled_(parts.config.cluster_enabled),
      links_(parts),
      node_(parts, view_, links_),
      changes_(parts),
      moves_(parts),
      held_(parts) {}

// Requests to other nodes end before those who made them.
Cluster::~Cluster() { links_.close_all(); }

Time Cluster::steady_now() const { return parts_.host.lease_clock().now(); }

void Cluster::apply_config() {
  const bool holds = is_enabled_ && parts_.config.cluster_replies == "in-sync";
  if (std::exchange(holds_replies_, holds) != holds) holds ? held_.begin() : held_.end();
  needs_all_slots_ = parts_.config.cluster_require_full_coverage;
  if (stage_ == Stage::registered && registered_as_ != announced_words()) {
    stage_ = Stage::registering;
  }
}

Status Cluster::start() {
  if (!is_enabled_) return Done{};
  if (!parts_.config.replicaof_host.empty()) {
    return Error{Code::invalid,
                 "replicaof cannot be used with cluster-enabled: the cluster decides who follows "
                 "whom (see CLUSTER REPLICATE)"};
  }
  Result<NodeFile> file = read_node_file(parts_.host.disk(), parts_.config.dir);
  if (!file) return file.error();
  file_ = std::move(*file);
  Result<std::unique_ptr<Register>> opened = parts_.host.open_register(parts_.config);
  if (!opened) return opened.error();
  register_ = std::move(*opened);
  node_.set_self({file_.node, random_id().substr(0, kIncarnationDigits)}, *register_);
  parts_.replication.set_cluster(&node_);
  parts_.replication.detach();
  parts_.log.notice("Cluster '{}': this is node {}, incarnation {}", parts_.config.cluster_name,
                    file_.node, node_.self().incarnation);
  return Done{};
}

void Cluster::deliver() {
  if (register_) register_->deliver();
}

void Cluster::fail(const std::string& why) {
  parts_.log.warning("Cluster: this node cannot go on: {}", why);
  parts_.persistence.fail({Code::denied, why});
}

void Cluster::records_changed() {
  if (stage_ == Stage::reading) return;
  if (Status status = check_identity(view_); !status) return fail(status.error().message);
  const LiveRecord* const live = view_.live(file_.node);
  const bool is_own = live != nullptr && live->incarnation == node_.self().incarnation;
  has_seen_itself_ = has_seen_itself_ || is_own;
  if (has_seen_itself_ && live != nullptr && !is_own) {
    // The register lets a process replace only what it has read: this one is newer than ours.
    return fail(
        "another process uses the same node id (was the folder copied? Remove the file "
        "cluster-node and all data from the copy)");
  }
  const NodeRecord* const own = view_.node(file_.node);
  if (own == nullptr && stage_ == Stage::registered) {  // it was removed, but its process lives
    stage_ = Stage::registering;
  }
  const auto& config = view_.config();
  own_shard_ = ClusterView::kNobody;
  if (is_announced_ && config) {
    if (own != nullptr && !own->shard.empty() && file_.cluster.empty()) {
      file_.cluster = config->record.id;
      if (Status status = write_node_file(parts_.host.disk(), parts_.config.dir, file_); !status) {
        return fail(status.error().message);
      }
    }
    node_.view_changed(own == nullptr ? "" : own->shard, config->record.lease);
    // `mayfly cluster remove` waits until this node may not take over any more.
    ShardMachine* const machine = node_.machine();
    const bool is_leaving = own != nullptr && own->state == NodeState::leaving;
    if (is_leaving && machine != nullptr && !machine->is_leading()) machine->leave();
  }
  const auto& shards = view_.shards();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].id == node_.shard()) own_shard_ = static_cast<std::uint16_t>(i);
  }
  links_.forget([this](const std::string& node) { return view_.node(node) != nullptr; });
  look_at_clock(parts_.clock.now());
  moves_.records_changed();
  // The file shall soon know of a change of its shard: see note_register().
  const bool is_noted =
      own_shard_ == ClusterView::kNobody || shards[own_shard_].version <= file_.reg.version;
  if (!is_noted) next_read_ = std::min(next_read_, steady_now() + kNoteAfter);
}

// ---- Registering ----

NodeRecord Cluster::own_record() const {
  const Config& config = parts_.config;
  NodeRecord record;
  if (const NodeRecord* const known = view_.node(file_.node)) record = *known;
  record.host = config.cluster_announce_ip;
  if (record.host.empty()) {
    for (const std::string& host : config.bind) {
      if (is_wildcard(host)) continue;
      const Result<std::string> address =
          numeric_address(host.starts_with('-') ? host.substr(1) : host);
      if (address) record.host = *address;
      break;
    }
  }
  if (record.host.empty()) {  // all addresses: the one by which etcd is reached
    const Result<std::string> address = local_address_towards(host_of(config.cluster_etcd[0]));
    record.host = address ? *address : "127.0.0.1";
  }
  const std::int64_t port = config.cluster_announce_port;
  record.port = static_cast<int>(port > 0 ? port : parts_.host.port());
  record.hostname = config.cluster_announce_hostname;
  record.zone = config.availability_zone;
  return record;
}

// All of the configuration that is in its record.
std::vector<std::string> Cluster::announced_words() const {
  const Config& config = parts_.config;
  return {config.cluster_announce_ip, std::to_string(config.cluster_announce_port),
          config.cluster_announce_hostname, config.availability_zone};
}

void Cluster::register_node() {
  registered_as_ = announced_words();
  const NodeRecord wanted = own_record();
  const NodeRecord* const known = view_.node(file_.node);
  if (known != nullptr && *known == wanted) {
    stage_ = Stage::registered;
    announce();
    is_announced_ = true;
    return records_changed();
  }
  const std::string key = node_key(file_.node);
  is_committing_ = true;
  register_->commit({.compares = {{key, view_.version_of(key)}}, .puts = {{key, to_text(wanted)}}},
                    [this, key, text = to_text(wanted)](const CommitAnswer& answer) {
                      is_committing_ = false;
                      if (answer.outcome == CommitOutcome::done) {
                        (void)view_.apply(RegisterEntry{key, text, answer.version});
                      } else if (answer.outcome == CommitOutcome::refused) {
                        (void)view_.apply(answer.current);
                      }
                    });
}

// The process that was this node before: one at the same address has ended, since this one listens
// there. One at another address that answers shows that the folder was copied.
Cluster::Former Cluster::find_former() {
  const NodeRecord* const known = view_.node(file_.node);
  const NodeRecord own = own_record();
  if (known == nullptr || view_.live(file_.node) == nullptr) return Former::gone;
  if (known->host == own.host && known->port == own.port) return Former::gone;
  const auto of_error = [](const Error& error) {
    return error.code == Code::busy ? Former::silent : Former::gone;
  };
  auto stream = parts_.host.connect_blocking(known->host, known->port, kProbeTime);
  if (!stream) return of_error(stream.error());
  std::string request;
  const std::string& password = parts_.config.primaryauth;
  if (!password.empty()) append_request(request, std::vector<std::string>{"AUTH", password});
  append_request(request, std::vector<std::string>{"CLUSTER", "MYID"});
  if (Status status = (*stream)->write(request, kProbeTime); !status) {
    return of_error(status.error());
  }
  Result<std::string> line = (*stream)->read_line(kProbeTime);
  if (line && !password.empty()) line = (*stream)->read_line(kProbeTime);
  if (line && line->starts_with('-')) return Former::silent;  // it wants another password
  if (line && line->starts_with('$')) line = (*stream)->read_line(kProbeTime);
  if (!line) return of_error(line.error());
  return *line == file_.node ? Former::there : Former::gone;
}

// A new announcement says that all earlier processes of the node have ended. While that is not
// certain it must not be made: a copy of the folder would have a living primary replaced at once.
bool Cluster::may_register() {
  const Time now = steady_now();
  if (!is_due(next_probe_, now)) return false;
  const Former former = find_former();
  if (former == Former::gone) return true;
  if (former == Former::there) {
    fail(
        "another process is this node: the folder was copied (remove the file cluster-node and all "
        "data from the copy)");
    return false;
  }
  next_probe_ = now + kProbeAgain;
  if (is_due(next_warning_, now)) {
    const NodeRecord& known = *view_.node(file_.node);
    parts_.log.warning(
        "Cluster: waits for the former process of this node, at {}:{}: it does not answer, but has "
        "not ended as far as etcd knows (if this goes on for longer than 15 seconds, the folder "
        "was copied: end one of both)",
        known.host, known.port);
    next_warning_ = now + kWarningInterval;
  }
  return false;
}

std::string_view Cluster::role() const {
  if (is_leading()) return "primary";
  const NodeRecord* const own = view_.node(file_.node);
  return own == nullptr || own->shard.empty() ? "none" : "replica";
}

// Not if it is another process that etcd has for this node.
void Cluster::announce_role() {
  if (!is_announced_ || announced_role_ == role()) return;
  const LiveRecord* const live = view_.live(file_.node);
  if (live != nullptr && live->incarnation == node_.self().incarnation) announce();
}

void Cluster::announce() {
  const ShardNode& node = node_;
  LiveRecord live;
  live.incarnation = node.self().incarnation;
  live.version = kMayflyVersion;
  live.role = role();
  const LoadedHistory loaded =
      has_loaded_data_ ? parts_.persistence.loaded_history() : LoadedHistory{};
  live.history = loaded.id;
  live.epoch = loaded.epoch;
  live.offset = loaded.offset;
  live.is_durable = parts_.config.appendonly;
  live.held = node.held();
  live.settled = node.settled();
  if (live.settled > 0) live.end = node.log_end();
  announced_role_ = live.role;
  register_->announce(live_key(file_.node), to_text(live));
}

void Cluster::forget_loaded() {
  if (!std::exchange(has_loaded_data_, false) || parts_.persistence.loaded_history().epoch == 0) {
    return;
  }
  announce();
}

// ---- Turns ----

void Cluster::before_sleep() {
  if (!is_enabled_ || parts_.persistence.fatal()) return;
  const Time now = steady_now();
  if (!is_reading_ && is_due(next_read_, now)) read_records();
  if (stage_ == Stage::registering && parts_.persistence.is_ready() && !is_committing_) {
    // One that has announced itself knows that it is the only process of its node.
    if (is_announced_ || may_register()) register_node();
  }
  announce_role();
  links_.close_stuck(now, kPeerStuck);
  node_.tick(now);
  look_at_clock(parts_.clock.now());
  moves_.before_sleep();
  watch_foreign_keys();
  changes_.before_sleep();
  held_.release();
}

Millis Cluster::longest_sleep() const {
  if (!is_enabled_) return Millis::max();
  const Time now = steady_now();
  const Time next = std::min(is_reading_ ? kNever : next_read_, node_.next_tick());
  const Millis left = next == kNever ? Millis::max() : remaining(next, now);
  return std::min(left, moves_.longest_sleep());
}

void Cluster::publish(std::string_view channel, std::string_view message) {
  const std::vector<std::string> words = {"CLUSTER", "PUBLISH", std::string(channel),
                                          std::string(message)};
  for (const auto& [id, node] : view_.nodes()) {
    if (id == file_.node || node.record.state == NodeState::fresh) continue;
    links_.send(id, {node.record.host, node.record.port}, words, {});
  }
}

}  // namespace mayfly
