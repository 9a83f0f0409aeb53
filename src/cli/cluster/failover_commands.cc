// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/failover_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/cluster/session/node_facts.h"
#include "cluster/plan/cluster_problems.h"
#include "cluster/plan/recovery.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr Millis kHandoverWait{15'000};

// The member of the in-sync set to hand over to: alive, and the least behind as its primary says.
Result<std::string> choose_heir(ClusterSession& session, const ClusterView& view,
                                const ClusterShard& shard, const std::string& wanted) {
  const std::string primary = shard.record.primary.node;
  if (wanted == primary) {
    return Error{Code::invalid, fmt::format("{} is the primary of shard {} already",
                                            node_label(view, wanted), shard.id)};
  }
  NodeFacts facts;
  if (const auto address = address_of(view, primary)) facts = ask_facts(session, *address);
  std::vector<std::pair<std::uint64_t, std::string>> heirs;
  for (const NodeMemory& member : shard.record.insync) {
    if (!view.is_alive(member)) continue;
    const auto found = facts.members.find(member.node);
    heirs.emplace_back(found == facts.members.end() ? 0 : found->second.lag_bytes, member.node);
  }
  std::ranges::sort(heirs);
  if (wanted.empty()) {
    if (!heirs.empty()) return heirs.front().second;
    return Error{Code::not_found,
                 fmt::format("shard {} has no replica in sync to hand over to (look at: mayfly "
                             "cluster status)",
                             shard.id)};
  }
  for (const auto& [lag, node] : heirs) {
    if (node == wanted) return node;
  }
  return Error{Code::invalid, fmt::format("{} is not in sync with shard {}, so it may lack writes",
                                          node_label(view, wanted), shard.id)};
}

struct Candidate {
  std::string node;
  LiveRecord live;
  bool is_in_sync = false;   // it is what the record names: it has all that is safe
  std::uint64_t epoch = 0;   // of its data: what it has loaded, or got of a primary since
  std::uint64_t offset = 0;  // the same
  std::optional<std::uint64_t> keys = {};
  Millis clock_ahead{0};  // of the clock here
  Millis clock_difference_max = kClockDifferenceMax;

  auto rank() const { return std::tuple(is_in_sync, epoch, offset, live.is_durable); }
};

// All processes of the shard that live, the one that lacks the least first.
std::vector<Candidate> candidates_of(ClusterSession& session, const ClusterView& view,
                                     const ClusterShard& shard) {
  std::vector<Candidate> all;
  for (const std::string& node : view.members(shard)) {
    const LiveRecord* const live = view.live(node);
    if (live == nullptr) continue;
    const auto [epoch, offset] = data_of(*live);
    Candidate one{node, *live, shard.record.has({node, live->incarnation}), epoch, offset};
    if (const auto address = address_of(view, node)) {
      const NodeFacts facts = ask_facts(session, *address);
      one.keys = facts.keys;
      one.clock_ahead = facts.clock_ahead;
      one.clock_difference_max = facts.clock_difference_max;
      if (facts.is_up() && facts.incarnation == live->incarnation &&
          facts.followed_offset > one.offset) {
        one.epoch = shard.record.epoch;
        one.offset = facts.followed_offset;
      }
    }
    all.push_back(one);
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Candidate::rank);
  return all;
}

// Above the epoch of its data as well: the record may be of an etcd that was restored.
std::uint64_t next_epoch(const ShardRecord& record, const Candidate& best) {
  return std::max(record.epoch, best.epoch) + 1;
}

std::string loss_text(const ClusterView& view, const ClusterShard& shard,
                      const std::vector<Candidate>& candidates) {
  const Candidate& best = candidates.front();
  std::string text = fmt::format(
      "shard {}, epoch {}, {}, primary {} ({})\n", shard.id, shard.record.epoch,
      plural(shard.record.slots.count(), "slot"), node_label(view, shard.record.primary.node),
      view.live(shard.record.primary.node) == nullptr ? "is not alive" : "has lost its memory");
  for (const NodeMemory& member : shard.record.insync) {
    text += fmt::format("  was in sync: {} ({})\n", node_label(view, member.node),
                        view.is_alive(member)               ? "lives, and has all of it"
                        : view.live(member.node) == nullptr ? "is not alive"
                                                            : "has lost its memory");
  }
  for (const Candidate& one : candidates) {
    text +=
        fmt::format("  lives: {}  has {} keys, epoch {}, offset {}{}\n", node_label(view, one.node),
                    one.keys ? std::to_string(*one.keys) : "?", one.epoch, one.offset,
                    one.live.is_durable ? ", with an append-only file" : "");
  }
  text += fmt::format("{} becomes the primary, with epoch {}.\n", node_label(view, best.node),
                      next_epoch(shard.record, best));
  if (best.is_in_sync) {
    text += "Nothing that was safe is lost.\n";
  } else {
    text += fmt::format(
        "! Whatever {} does not have is lost for ever, safe writes included{}.\n"
        "! The old primary must not run any more: make sure of it, for if it does, it may still "
        "answer.\n",
        node_label(view, best.node), best.keys == 0 ? ": it has no data at all" : "");
  }
  return text;
}

Result<std::optional<RegisterCommit>> recovery(const ClusterView& view, const std::string& id,
                                               const Candidate& best, Time now) {
  const auto shard = find_shard(view, id);
  if (!shard) return shard.error();
  ShardRecord record = (*shard)->record;
  record.epoch = next_epoch(record, best);
  record.primary = {best.node, best.live.incarnation};
  record.insync.clear();
  // By its clock, and no earlier than the last primary began, unless that was a wrong time.
  const Time there = now + best.clock_ahead;
  const bool is_wrong = record.since > there + best.clock_difference_max;
  record.since = is_wrong ? there : std::max(record.since, there);
  RegisterCommit commit;
  replace(commit, view, shard_key(id), to_text(record));
  compare(commit, view, live_key(best.node));
  return std::optional(commit);
}

std::string primary_json(const ClusterView& view, const std::string& shard,
                         const std::string& node) {
  Json json;
  json.open('{');
  json.member("shard", std::string_view(shard));
  json.member("primary", std::string_view(node));
  json.member("address", std::string_view(node_label(view, node)));
  json.close('}');
  return json.text();
}

void print_primary(ClusterSession& session, const ClusterView& view, const std::string& shard,
                   const std::string& node) {
  session.talk.print(session.is_json ? primary_json(view, shard, node)
                                     : fmt::format("{} is the primary of shard {}\n",
                                                   node_label(view, node), shard));
}

}  // namespace

Result<std::string> hand_over(ClusterSession& session, const std::string& shard_id,
                              const std::string& node) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto shard = find_shard(*view, shard_id);
  if (!shard) return shard.error();
  const auto heir = choose_heir(session, *view, **shard, node);
  if (!heir) return heir.error();
  const auto address = address_of(*view, *heir);
  if (!address) return address.error();
  const auto reply = call_node(session, *address, {"CLUSTER", "FAILOVER"});
  if (!reply) return reply.error();
  const bool is_done = wait_until(session, kHandoverWait, [&] {
    const Result<ClusterView> now = read_view(session);
    if (!now) return false;
    const ClusterShard* const current = now->shard(shard_id);
    return current != nullptr && current->record.primary.node == *heir;
  });
  if (is_done) return *heir;
  return Error{Code::io, fmt::format("{} has not become the primary of shard {} in time: the old "
                                     "one goes on (look at the log of both)",
                                     node_label(*view, *heir), shard_id)};
}

Result<Exit> run_failover(const FailoverArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto shard = find_shard(*view, args.shard);
  if (!shard) return shard.error();
  std::string wanted;
  if (!args.node.empty()) {
    const auto node = find_node(*view, args.node);
    if (!node) return node.error();
    wanted = *node;
  }
  const auto heir = choose_heir(session, *view, **shard, wanted);
  if (!heir) return heir.error();
  if (!session.is_json) {
    session.talk.print(fmt::format("shard {}: {} hands over to {}; writes pause for milliseconds\n",
                                   args.shard, node_label(*view, (*shard)->record.primary.node),
                                   node_label(*view, *heir)));
  }
  if (const Status sure = ask(session, "Do it?"); !sure) return sure.error();
  const auto primary = hand_over(session, args.shard, *heir);
  if (!primary) return primary.error();
  print_primary(session, *view, args.shard, *primary);
  return Exit::ok;
}

Result<Exit> run_recover(const RecoverArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto found = find_shard(*view, args.shard);
  if (!found) return found.error();
  const ClusterShard& shard = **found;
  if (view->is_alive(shard.record.primary)) {
    return Error{
        Code::invalid,
        fmt::format("the primary of shard {}, {}, was alive within the last 15 s, so there "
                    "is nothing to recover (if it has died just now, try again then; to "
                    "change it: mayfly cluster failover {})",
                    shard.id, node_label(*view, shard.record.primary.node), shard.id)};
  }
  const std::vector<Candidate> candidates = candidates_of(session, *view, shard);
  if (candidates.empty()) {
    return Error{Code::not_found,
                 fmt::format("no node of shard {} is alive (start one of them)", shard.id)};
  }
  if (!session.is_json) session.talk.print(loss_text(*view, shard, candidates));
  const Candidate& best = candidates.front();
  if (!args.accepts_loss && !best.is_in_sync) {
    return Error{Code::denied, "nothing was changed (say --accept-loss if you accept that)"};
  }
  if (const Status sure = ask(session, "Recover the shard so?"); !sure) return sure.error();
  const Status done = change_records(session, [&](const ClusterView& now) {
    const LiveRecord* const live = now.live(best.node);
    const ClusterShard* const current = now.shard(shard.id);
    if (current != nullptr && current->record.epoch == next_epoch(shard.record, best) &&
        current->record.primary == NodeMemory{best.node, best.live.incarnation}) {
      return Result<std::optional<RegisterCommit>>(std::optional<RegisterCommit>());
    }
    if (live == nullptr || live->incarnation != best.live.incarnation ||
        now.version_of(shard_key(shard.id)) != shard.version) {
      return Result<std::optional<RegisterCommit>>(
          Error{Code::denied, "the shard has changed meanwhile: look at it again"});
    }
    return recovery(now, shard.id, best, session.clock.now());
  });
  if (!done) return done.error();
  print_primary(session, *view, shard.id, best.node);
  return Exit::ok;
}

}  // namespace mayfly
