// SPDX-License-Identifier: Apache-2.0
// Cluster: this server as a node of a cluster. docs/cluster.md has the guarantees.
//
//   Cluster           reads the records, registers this node, checks requests      cluster.cc
//     ClusterView       all records of the register                                cluster/plan/
//     ShardNode         who may serve the shard of this node                       shard_node.h
//     ClusterChanges    changes that people ask for: CLUSTER MEET ...  cluster_changes.h
//     SlotMoves         slots that go to other shards, and come from them           moves/
//     PeerLinks         connections to the other nodes                             peer_links.h
//
// A server without cluster-enabled has one that does nothing.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/plan/cluster_view.h"
#include "cluster/register.h"
#include "server/cluster/cluster_changes.h"
#include "server/cluster/moves/slot_moves.h"
#include "server/cluster/node/node_file.h"
#include "server/cluster/peer_links.h"
#include "server/cluster/replies/held_replies.h"
#include "server/cluster/request_slot.h"
#include "server/cluster/shard_node.h"
#include "server/core/server_call.h"

namespace mayfly {

// The database with keys of slots that are imported, and that nobody sees yet.
inline constexpr int kStagingDatabase = 1;

struct ClusterStats {
  std::uint64_t fenced = 0;  // how often a primary had to stop serving
  Millis fenced_time{0};
  std::uint64_t moved_replies = 0;
  std::uint64_t crossslot_errors = 0;
  std::uint64_t tryagain_errors = 0;
};

class Cluster {
 public:
  explicit Cluster(const ServerParts& parts);
  ~Cluster();

  bool is_enabled() const { return is_enabled_; }

  // Reads who this node is and opens the register. Does nothing without cluster-enabled.
  Status start();

  void apply_config();

  // Something has come from the register.
  void deliver();

  // ---- In every turn of the loop ----
  void begin_turn();
  void before_sleep();

  // Right before replies are sent: those to writes of a server that may not serve any more are not.
  void check_replies();

  // How long the loop may sleep.
  Millis longest_sleep() const;

  // ---- Requests ----

  // Whether this server answers a request with these keys now. The message of the error is the
  // reply: MOVED, CROSSSLOT, CLUSTERDOWN. `flags` are those of the command, and of all that it
  // runs.
  Status check_request(const Client& client, std::uint64_t flags, const RequestSlot& slot,
                       Time now);

  // A request of this client has changed data.
  void record_write(const Client& client) {
    if (node_.machine() == nullptr && is_outside()) return wrote_outside();
    if (writers_.empty() || writers_.back() != client.id()) writers_.push_back(client.id());
  }

  // The reply to a request is complete; see HeldReplies::add(). Also at a primary that may not
  // serve now: the request may have begun before. REQUIRES: holds_replies()
  void reply_added(Client& client, std::size_t start) {
    if (!client.is_import && !shows_old_data(client)) held_.add(client, start);
  }
  bool holds_replies() const { return holds_replies_; }

  // Whether this server may not serve now, and the client reads here nevertheless.
  bool shows_old_data(const Client& client) const {
    return !is_serving_ && client.options.is_readonly &&
           parts_.config.cluster_allow_reads_when_down;
  }
  void forget(const Client& client) { held_.forget(client); }

  // The same for an answer of the console, which begins at this position of the stream.
  void answer_added(Link& link, std::uint64_t from, std::uint64_t log_before);
  void forget(Link& link);

  // Nearly every request: of this key, whose slot is this primary's, which serves, and nothing
  // moves. False: ask check_request().
  bool answers_at_once(std::string_view key, Time now) const {
    const auto age_ms = static_cast<std::uint64_t>((now - looked_at_).count());  // below 0: huge
    if (!is_serving_ || moves_.is_active() || age_ms > kLookAgain.count() || needs_all_slots_) {
      return false;
    }
    if (view_.only_owner() == own_shard_) return true;
    return view_.owner_index(hash_slot(key)) == own_shard_;
  }

  // Whether due entries may be removed: only by a primary that serves. If slots are paused, only
  // the sweep does so, which leaves them out.
  bool may_reclaim() const { return is_serving_ && !moves_.is_paused(); }

  // ---- For its parts ----

  // The view has changed.
  void records_changed();
  void became_primary(const ShardRecord& record);
  void became_replica();
  void announce();       // that this process is there
  void forget_loaded();  // the data that was loaded at the start is being replaced

  // ---- For commands, INFO and metrics ----

  const ClusterView& view() const { return view_; }
  ClusterView& view() { return view_; }
  ShardNode& node() { return node_; }
  const ShardNode& node() const { return node_; }
  PeerLinks& links() { return links_; }
  SlotMoves& moves() { return moves_; }
  const SlotMoves& moves() const { return moves_; }
  void read_soon() { next_read_ = Time::min(); }  // all records
  // It belongs to no shard, as far as etcd knows: its data is nobody's.
  bool is_outside() const;
  bool is_leading() const { return node_.machine() != nullptr && node_.machine()->is_leading(); }
  bool is_fenced() const { return is_leading() && !is_serving_; }
  HeldReplies& held() { return held_; }
  const HeldReplies& held() const { return held_; }
  ClusterChanges& changes() { return changes_; }
  Register* reg() const { return register_.get(); }
  const ClusterStats& stats() const { return stats_; }
  const std::string& id() const { return file_.node; }
  NodeRecord own_record() const;  // as it registers itself
  bool is_serving() const { return is_serving_; }
  bool is_ok() const;  // cluster_state

  // The register has lost changes: nothing of it is used until this process ends.
  void distrust_register(const std::string& why);
  // Why the register is there, but not used. Empty: it is used, or not there.
  std::string register_problem() const;
  SlotSet own_slots() const;

  // Sends a message to the subscribers of all other nodes.
  void publish(std::string_view channel, std::string_view message);

 private:
  static constexpr Millis kLookAgain{20};

  enum class Stage { reading, registering, registered };
  enum class Former { gone, there, silent };

  Time steady_now() const;
  void read_records();
  void records_read(const Result<RegisterSnapshot>& snapshot);
  Status check_identity(const ClusterView& view) const;
  bool begin_with(const RegisterSnapshot& snapshot);
  void warn_about_register(const std::string& why);
  void note_register(const RegisterSnapshot& snapshot);
  void note_refusal();
  void keep_file(const NodeFile& file);
  std::vector<std::string> announced_words() const;
  void register_node();
  std::string_view role() const;  // for people
  void announce_role();
  Former find_former();
  bool may_register();
  void fail(const std::string& why);
  void look_at_clock(Time wall);
  Status moved(HashSlot slot, const ClusterShard& owner);
  Status check_moving(const RequestSlot& slot);
  bool has_foreign_keys();
  Status check_foreign_keys();
  void watch_foreign_keys();
  void wrote_outside();

  const ServerParts& parts_;
  const bool is_enabled_;
  bool holds_replies_ = false;    // cluster-replies in-sync
  bool needs_all_slots_ = false;  // cluster-require-full-coverage
  NodeFile file_;
  ClusterView view_;
  PeerLinks links_;
  std::unique_ptr<Register> register_;
  ShardNode node_;
  ClusterChanges changes_;
  SlotMoves moves_;
  HeldReplies held_;
  ClusterStats stats_;

  Stage stage_ = Stage::reading;
  std::string unfit_register_;  // at the start: why it is not used
  bool is_reading_ = false;
  bool is_announced_ = false;
  std::string announced_role_;
  std::vector<std::string> registered_as_;  // announced_words() of its record
  bool has_seen_itself_ = false;            // its own live record
  bool has_loaded_data_ = true;             // that was on disk at the start
  bool is_committing_ = false;              // its own record
  Time next_read_ = Time::min();
  Time next_warning_ = Time::min();
  Time next_probe_ = Time::min();  // of the former process

  // Of the last look at the clock.
  bool is_serving_ = false;
  Time looked_at_ = Time::min();                    // by the wall clock
  Time fenced_since_ = Time::min();                 // by the steady clock; min: it is not
  std::uint16_t own_shard_ = ClusterView::kNobody;  // index in the view
  std::vector<std::uint64_t> writers_;              // clients whose writes this turn has run
  std::vector<Link*> console_writers_;              // the same for connections of the console

  // Requests about all keys wait at a replica that has keys of slots that have moved away.
  std::optional<Time> foreign_since_;  // by the steady clock
  bool is_foreign_late_ = false;       // they do not wait any more: they are refused
  bool was_data_complete_ = false;
};

}  // namespace mayfly
