// SPDX-License-Identifier: Apache-2.0
// ClusterView: all records of a cluster, parsed, with their versions, and the owner of every slot.
// Nodes keep one for CLUSTER NODES and MOVED; `mayfly cluster` makes one to show and to plan.
//
//   Result<ClusterView> view = ClusterView::parse(snapshot);
//   const ClusterShard* shard = view->owner(hash_slot("user:1"));
//
// It only goes forward: a record with a lower version than the known one is ignored, wherever it
// comes from, so that notices may come late, twice or out of order. A record that does not parse is
// remembered in broken(), and what was known before stays; but a record of a higher format fails
// the call with Code::unsupported: a newer program has written it, and a node must not go on.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/hash_slot.h"
#include "cluster/records.h"
#include "cluster/register.h"
#include "mayfly/result.h"

namespace mayfly {

// A record and its version in the register.
template <class Record>
struct Versioned {
  Record record;
  std::uint64_t version = 0;
};

struct ClusterShard {
  std::string id;
  ShardRecord record;
  std::uint64_t version = 0;
};

// A record that could not be read.
struct BrokenRecord {
  std::uint64_t version = 0;
  std::string error;
};

class ClusterView {
 public:
  // By id, or by key for what is broken.
  template <class Value>
  using ById = std::map<std::string, Value, std::less<>>;

  static constexpr std::uint16_t kNobody = 0xFFFF;

  ClusterView();

  // Fails with Code::unsupported only.
  static Result<ClusterView> parse(const RegisterSnapshot& snapshot);

  // ---- Changes: each says whether anything has changed; fails with Code::unsupported only ----

  Result<bool> apply(const RegisterEntry& entry);
  Result<bool> apply(const std::vector<RegisterEntry>& entries);

  // All records: what is missing in it was deleted, except for what is newer than the snapshot.
  Result<bool> replace(const RegisterSnapshot& snapshot);

  // The key of a record that this snapshot has in an older version than the known one, though it
  // claims to be as new: the register has lost changes. Empty: no record is older.
  std::string contradiction(const RegisterSnapshot& snapshot) const;

  // The greatest version seen.
  std::uint64_t version() const { return version_; }

  // ---- Records ----

  // There is a cluster once it has a config.
  const std::optional<Versioned<ClusterRecord>>& config() const { return config_; }
  const ById<Versioned<NodeRecord>>& nodes() const { return nodes_; }
  const ById<Versioned<LiveRecord>>& lives() const { return lives_; }
  const ById<Versioned<MoveRecord>>& moves() const { return moves_; }
  const std::vector<ClusterShard>& shards() const { return shards_; }  // by id
  const ById<BrokenRecord>& broken() const { return broken_; }

  const NodeRecord* node(std::string_view id) const;
  const LiveRecord* live(std::string_view id) const;
  const ClusterShard* shard(std::string_view id) const;

  // The version of any record, by its key; 0 if there is none. For compares of a commit.
  std::uint64_t version_of(std::string_view key) const;

  // ---- Slots ----

  // Index into shards(), valid until the next change; kNobody.
  std::uint16_t owner_index(HashSlot slot) const { return owners_[slot]; }
  std::uint16_t only_owner() const { return only_owner_; }  // of all slots; kNobody
  const ClusterShard* owner(HashSlot slot) const;
  SlotSet uncovered() const;

  // Slots that several records have: a defect, or half of a change has been seen. The newer record
  // owns them.
  const SlotSet& owned_twice() const { return owned_twice_; }

  // ---- Nodes of a shard ----

  // Those whose nodes/ record names the shard, and its primary whatever that record says.
  std::vector<std::string> members(const ClusterShard& shard) const;

  // The shard whose record names this node as primary.
  const ClusterShard* led_by(std::string_view node) const;

  // Whether a process of that node lives, and is the one that the memory names.
  bool is_alive(const NodeMemory& memory) const;

  // Moves that are not over: neither done, failed nor cancelled.
  std::vector<std::string> active_moves() const;

 private:
  bool is_old(std::string_view key, std::uint64_t version) const;
  Result<bool> take(const RegisterEntry& entry);
  Result<bool> take_all(const std::vector<RegisterEntry>& entries);
  Status keep(const RegisterEntry& entry);
  void erase(std::string_view key);
  void map_slots();

  std::optional<Versioned<ClusterRecord>> config_;
  ById<Versioned<NodeRecord>> nodes_;
  ById<Versioned<LiveRecord>> lives_;
  ById<Versioned<MoveRecord>> moves_;
  std::vector<ClusterShard> shards_;
  ById<BrokenRecord> broken_;
  ById<std::uint64_t> deleted_;  // until a snapshot is that new
  std::uint64_t version_ = 0;

  std::array<std::uint16_t, kHashSlots> owners_;
  std::uint16_t only_owner_ = kNobody;
  SlotSet owned_twice_;
};

// "nodes/ID" is {"nodes", "ID"}, "config" is {"config", ""}.
struct RecordKey {
  std::string_view kind;
  std::string_view id;
};
RecordKey split_key(std::string_view key);

}  // namespace mayfly
