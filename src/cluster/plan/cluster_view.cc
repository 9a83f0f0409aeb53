// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/cluster_view.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mayfly {
namespace {

constexpr auto kById = [](const ClusterShard& shard, std::string_view id) { return shard.id < id; };

template <class Map>
auto* value_at(Map& map, std::string_view id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

// Puts a record that was parsed into a map.
template <class Map, class Record>
Status put(Map& map, std::string_view id, Result<Record> record, std::uint64_t version) {
  if (!record) return record.error();
  map.insert_or_assign(std::string(id), Versioned<Record>{*std::move(record), version});
  return Done{};
}

Status put_shard(std::vector<ClusterShard>& shards, std::string_view id, Result<ShardRecord> record,
                 std::uint64_t version) {
  if (!record) return record.error();
  auto found = std::lower_bound(shards.begin(), shards.end(), id, kById);
  if (found == shards.end() || found->id != id) {
    found = shards.insert(found, ClusterShard{std::string(id), {}, 0});
  }
  found->record = *std::move(record);
  found->version = version;
  return Done{};
}

}  // namespace

RecordKey split_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {key, {}};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

ClusterView::ClusterView() { owners_.fill(kNobody); }

Result<ClusterView> ClusterView::parse(const RegisterSnapshot& snapshot) {
  ClusterView view;
  if (const auto replaced = view.replace(snapshot); !replaced) return replaced.error();
  return view;
}

Result<bool> ClusterView::apply(const RegisterEntry& entry) {
  const auto taken = take(entry);
  if (taken && *taken && split_key(entry.key).kind == "shards") map_slots();
  return taken;
}

Result<bool> ClusterView::apply(const std::vector<RegisterEntry>& entries) {
  const auto taken = take_all(entries);
  map_slots();
  return taken;
}

Result<bool> ClusterView::replace(const RegisterSnapshot& snapshot) {
  const auto taken = take_all(snapshot.entries);
  if (!taken) {
    map_slots();
    return taken;
  }

  std::set<std::string_view> seen;
  for (const RegisterEntry& entry : snapshot.entries) seen.insert(entry.key);
  std::vector<std::string> gone;
  const auto collect = [&](std::string key, std::uint64_t version) {
    if (version <= snapshot.version && !seen.contains(key)) gone.push_back(std::move(key));
  };
  if (config_) collect(std::string(kConfigKey), config_->version);
  for (const auto& [id, node] : nodes_) collect(node_key(id), node.version);
  for (const auto& [id, live] : lives_) collect(live_key(id), live.version);
  for (const auto& [id, move] : moves_) collect(move_key(id), move.version);
  for (const ClusterShard& shard : shards_) collect(shard_key(shard.id), shard.version);
  for (const auto& [key, broken] : broken_) collect(key, broken.version);
  for (const std::string& key : gone) erase(key);

  // From here on the register itself does not have them.
  std::erase_if(deleted_, [&](const auto& item) { return item.second <= snapshot.version; });
  version_ = std::max(version_, snapshot.version);
  map_slots();
  return *taken || !gone.empty();
}

std::string ClusterView::contradiction(const RegisterSnapshot& snapshot) const {
  for (const RegisterEntry& entry : snapshot.entries) {
    const std::uint64_t known = version_of(entry.key);
    if (entry.version < known && known <= snapshot.version) return entry.key;
  }
  return {};
}

bool ClusterView::is_old(std::string_view key, std::uint64_t version) const {
  if (const auto* deleted = value_at(deleted_, key); deleted && version <= *deleted) return true;
  if (const auto* broken = value_at(broken_, key); broken && version <= broken->version)
    return true;
  return version <= version_of(key);
}

Result<bool> ClusterView::take(const RegisterEntry& entry) {
  if (is_old(entry.key, entry.version)) return false;
  version_ = std::max(version_, entry.version);
  if (!entry.value) {
    erase(entry.key);
    deleted_.insert_or_assign(entry.key, entry.version);
    return true;
  }
  deleted_.erase(entry.key);
  const Status kept = keep(entry);
  if (kept) {
    broken_.erase(entry.key);
    return true;
  }
  const std::string message = entry.key + ": " + kept.error().message;
  if (kept.error().code == Code::unsupported) return Error{Code::unsupported, message};
  broken_.insert_or_assign(entry.key, BrokenRecord{entry.version, message});
  return true;
}

Result<bool> ClusterView::take_all(const std::vector<RegisterEntry>& entries) {
  bool any = false;
  for (const RegisterEntry& entry : entries) {
    const auto taken = take(entry);
    if (!taken) return taken;
    any = any || *taken;
  }
  return any;
}

Status ClusterView::keep(const RegisterEntry& entry) {
  const auto [kind, id] = split_key(entry.key);
  const std::string_view text = *entry.value;
  if (kind == "nodes") return put(nodes_, id, parse_node_record(text), entry.version);
  if (kind == "live") return put(lives_, id, parse_live_record(text), entry.version);
  if (kind == "moves") return put(moves_, id, parse_move_record(text), entry.version);
  if (kind == "shards") return put_shard(shards_, id, parse_shard_record(text), entry.version);
  if (kind == kConfigKey) {
    auto record = parse_cluster_record(text);
    if (!record) return record.error();
    config_ = Versioned<ClusterRecord>{*std::move(record), entry.version};
  }
  return Done{};  // something of a later version of the program
}

void ClusterView::erase(std::string_view key) {
  const auto [kind, id] = split_key(key);
  if (const auto found = broken_.find(key); found != broken_.end()) broken_.erase(found);
  const auto erase_from = [id = id](auto& map) {
    if (const auto found = map.find(id); found != map.end()) map.erase(found);
  };
  if (kind == kConfigKey) config_.reset();
  if (kind == "nodes") erase_from(nodes_);
  if (kind == "live") erase_from(lives_);
  if (kind == "moves") erase_from(moves_);
  if (kind == "shards") {
    std::erase_if(shards_, [id = id](const ClusterShard& shard) { return shard.id == id; });
  }
}

void ClusterView::map_slots() {
  owners_.fill(kNobody);
  owned_twice_ = SlotSet();
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    shards_[i].record.slots.each([&](HashSlot slot) {
      std::uint16_t& owner = owners_[slot];
      if (owner != kNobody) owned_twice_.add(slot);
      if (owner == kNobody || shards_[owner].version < shards_[i].version) {
        owner = static_cast<std::uint16_t>(i);
      }
    });
  }
  const auto is_first = [&](std::uint16_t owner) { return owner == owners_[0]; };
  only_owner_ = std::ranges::all_of(owners_, is_first) ? owners_[0] : kNobody;
}

const NodeRecord* ClusterView::node(std::string_view id) const {
  const auto* found = value_at(nodes_, id);
  return found == nullptr ? nullptr : &found->record;
}

const LiveRecord* ClusterView::live(std::string_view id) const {
  const auto* found = value_at(lives_, id);
  return found == nullptr ? nullptr : &found->record;
}

const ClusterShard* ClusterView::shard(std::string_view id) const {
  const auto found = std::lower_bound(shards_.begin(), shards_.end(), id, kById);
  return found == shards_.end() || found->id != id ? nullptr : &*found;
}

std::uint64_t ClusterView::version_of(std::string_view key) const {
  const auto [kind, id] = split_key(key);
  const auto version_in = [id = id](const auto& map) {
    const auto* found = value_at(map, id);
    return found == nullptr ? std::uint64_t{0} : found->version;
  };
  if (kind == "nodes") return version_in(nodes_);
  if (kind == "live") return version_in(lives_);
  if (kind == "moves") return version_in(moves_);
  if (kind == kConfigKey) return config_ ? config_->version : 0;
  const ClusterShard* const found = kind == "shards" ? shard(id) : nullptr;
  return found == nullptr ? 0 : found->version;
}

const ClusterShard* ClusterView::owner(HashSlot slot) const {
  const std::uint16_t index = owners_[slot];
  return index == kNobody ? nullptr : &shards_[index];
}

SlotSet ClusterView::uncovered() const {
  SlotSet slots = SlotSet::all();
  for (const ClusterShard& shard : shards_) slots -= shard.record.slots;
  return slots;
}

std::vector<std::string> ClusterView::members(const ClusterShard& shard) const {
  std::vector<std::string> members;
  for (const auto& [id, node] : nodes_) {
    if (node.record.shard == shard.id || id == shard.record.primary.node) members.push_back(id);
  }
  return members;
}

const ClusterShard* ClusterView::led_by(std::string_view node) const {
  const auto found = std::find_if(shards_.begin(), shards_.end(), [&](const ClusterShard& shard) {
    return shard.record.primary.node == node;
  });
  return found == shards_.end() ? nullptr : &*found;
}

bool ClusterView::is_alive(const NodeMemory& memory) const {
  const LiveRecord* const found = live(memory.node);
  return found != nullptr && found->incarnation == memory.incarnation;
}

std::vector<std::string> ClusterView::active_moves() const {
  std::vector<std::string> active;
  for (const auto& [id, move] : moves_) {
    if (is_active(move.record.state)) active.push_back(id);
  }
  return active;
}

}  // namespace mayfly
