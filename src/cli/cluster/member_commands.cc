// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/member_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cluster/failover_commands.h"
#include "cli/cluster/init_command.h"
#include "cli/cluster/moves/move_commands.h"
#include "cli/cluster/moves/move_jobs.h"
#include "cluster/plan/cluster_problems.h"
#include "cluster/plan/placement.h"
#include "text/json.h"

namespace mayfly {
namespace {

using Changed = Result<std::optional<RegisterCommit>>;

constexpr Millis kLeaveWait{15'000};
constexpr Millis kFunctionsWait{10'000};

std::string node_json(const std::string& node, const std::string& shard) {
  Json json;
  json.open('{');
  json.member("node", std::string_view(node));
  json.member("shard", std::string_view(shard));
  json.close('}');
  return json.text();
}

// The clocks of a shard must agree, and a node that is added to one has to, too.
Status check_clock(ClusterSession& session, const ClusterView& view, const NodeFacts& newcomer) {
  std::vector<NodeFacts> facts = {newcomer};
  for (const ClusterShard& shard : view.shards()) {
    const auto address = address_of(view, shard.record.primary.node);
    if (address) facts.push_back(ask_facts(session, *address));
  }
  const Millis spread = clock_spread(facts);
  const Millis most = clock_difference_max(facts);
  if (spread <= most) return Done{};
  return Error{Code::invalid,
               fmt::format("the clocks of this node and of the cluster differ by {} ms; at most {} "
                           "are allowed (let NTP or chrony set them)",
                           spread.count(), most.count())};
}

// Each shard has the functions of its own: a new one gets those of a primary that answers, before
// it can get slots. Returns how many libraries there are.
Result<std::size_t> copy_functions(ClusterSession& session, const ClusterView& view,
                                   const NodeAddress& to) {
  for (const ClusterShard& shard : view.shards()) {
    const auto from = address_of(view, shard.record.primary.node);
    if (!from) continue;
    const auto asked =
        session.nodes.call(*from, {{"FUNCTION", "LIST"}, {"FUNCTION", "DUMP"}}, kFunctionsWait);
    if (!asked || (*asked)[1].kind != ReplyValue::Kind::bulk) continue;
    const std::size_t count = (*asked)[0].items.size();
    if (count == 0) return count;
    const auto restored = session.nodes.call(
        to, {{"FUNCTION", "RESTORE", (*asked)[1].text, "FLUSH"}}, kFunctionsWait);
    if (!restored) return restored.error();
    if ((*restored)[0].kind != ReplyValue::Kind::error) return count;
    return Error{Code::invalid,
                 fmt::format("{} does not take the functions of {}: {} (nothing was changed)",
                             to.text(), from->text(), (*restored)[0].text)};
  }
  return 0;
}

Changed joining(const ClusterView& view, const Newcomer& node, const std::string& shard,
                bool makes_shard, Time now) {
  const NodeRecord* const known = view.node(node.facts.id);
  if (known != nullptr && known->shard == shard && view.shard(shard) != nullptr) {
    return std::optional<RegisterCommit>();  // an attempt whose answer was lost was made
  }
  if (known == nullptr || !known->shard.empty()) {
    return Error{Code::busy, "the node has changed meanwhile: try again"};
  }
  if (!makes_shard && view.shard(shard) == nullptr) {
    return Error{Code::busy, "the shards have changed meanwhile: try again"};
  }
  NodeRecord record = *known;
  record.shard = shard;
  record.state = NodeState::in;
  RegisterCommit commit;
  if (makes_shard && view.config()) {
    const std::size_t number = free_shard_number(view);
    if (shard_name(number) != shard) {
      return Error{Code::busy, "the shards have changed meanwhile: try again"};
    }
    ClusterRecord config = view.config()->record;
    config.shards = number + 1;
    replace(commit, view, std::string(kConfigKey), to_text(config));
  } else {
    serialise(commit, view);
  }
  replace(commit, view, node_key(node.facts.id), to_text(record));
  compare(commit, view, live_key(node.facts.id));
  if (makes_shard) {
    ShardRecord made;
    made.epoch = 1;
    made.primary = {node.facts.id, node.facts.incarnation};
    made.since = now;
    replace(commit, view, shard_key(shard), to_text(made));
  }
  return std::optional(commit);
}

// What removing a node takes.
struct Removal {
  std::string node;
  std::string label;
  std::string shard;        // it belongs to; empty: none
  bool is_primary = false;  // of that shard
  bool is_last = false;     // the shard goes with it
  MovePlan drain;           // before that
};

Result<Removal> plan_removal(const ClusterView& view, const std::string& words) {
  const auto node = find_node(view, words);
  if (!node) return node.error();
  Removal removal;
  removal.node = *node;
  removal.label = node_label(view, *node);
  removal.shard = view.node(*node)->shard;
  const ClusterShard* const led = view.led_by(*node);
  if (led == nullptr) return removal;
  removal.shard = led->id;
  removal.is_primary = true;
  removal.is_last = std::ranges::none_of(
      led->record.insync, [&](const NodeMemory& member) { return view.is_alive(member); });
  if (!removal.is_last) return removal;
  if (view.members(*led).size() > 1) {
    return Error{
        Code::invalid,
        fmt::format("{} is the primary of shard {}, and no replica is in sync to take over "
                    "(wait for one, or remove the replicas first)",
                    removal.label, led->id)};
  }
  if (led->record.slots.empty()) return removal;
  auto plan = drain_shard(shards_of(view), led->id);
  if (!plan) return plan.error();
  removal.drain = *std::move(plan);
  return removal;
}

std::string removal_text(const Removal& removal) {
  std::string text = fmt::format("{} leaves", removal.label);
  if (removal.shard.empty()) return text + "; it belongs to no shard\n";
  if (!removal.is_primary)
    return text + fmt::format(" shard {}, of which it is a replica\n", removal.shard);
  if (!removal.is_last) {
    return text + fmt::format(" shard {}; a replica becomes its primary before\n", removal.shard);
  }
  text += fmt::format(", and shard {} with it", removal.shard);
  return removal.drain.empty() ? text + "\n"
                               : text + "; its slots move before:\n" + plan_text(removal.drain);
}

bool is_in_sync(const ClusterView& view, const std::string& node) {
  return std::ranges::any_of(view.shards(), [&](const ClusterShard& shard) {
    return std::ranges::any_of(shard.record.insync,
                               [&](const NodeMemory& member) { return member.node == node; });
  });
}

// Tells the node that it leaves, and waits until it may not take over any more.
Status leave_set(ClusterSession& session, const Removal& removal) {
  const Status told = change_records(session, [&](const ClusterView& view) -> Changed {
    const NodeRecord* const known = view.node(removal.node);
    if (known == nullptr || known->state == NodeState::leaving || !is_in_sync(view, removal.node)) {
      return std::optional<RegisterCommit>();
    }
    NodeRecord record = *known;
    record.state = NodeState::leaving;
    RegisterCommit commit;
    replace(commit, view, node_key(removal.node), to_text(record));
    return std::optional(commit);
  });
  if (!told) return told;
  const bool is_out = wait_until(session, kLeaveWait, [&] {
    const Result<ClusterView> view = read_view(session);
    return view && !is_in_sync(*view, removal.node);
  });
  if (is_out) return Done{};
  return Error{Code::busy, fmt::format("{} is still in sync with shard {} (stop its process, and "
                                       "remove it again)",
                                       removal.label, removal.shard)};
}

Changed leaving(const ClusterView& view, const Removal& removal) {
  if (view.node(removal.node) == nullptr) return std::optional<RegisterCommit>();
  const ClusterShard* const led = view.led_by(removal.node);
  if (is_in_sync(view, removal.node) || (led != nullptr && !removal.is_last)) {
    return Error{Code::busy, "the shard has changed meanwhile: try again"};
  }
  RegisterCommit commit;
  serialise(commit, view);
  if (led != nullptr) {
    if (!led->record.slots.empty()) {
      return Error{Code::busy, fmt::format("shard {} has got slots meanwhile: try again", led->id)};
    }
    replace(commit, view, shard_key(led->id), std::nullopt);
  }
  replace(commit, view, node_key(removal.node), std::nullopt);
  return std::optional(commit);
}

}  // namespace

Result<Exit> run_add(const AddArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const bool makes_shard = args.shard.empty();
  if (!makes_shard) {
    if (const auto found = find_shard(*view, args.shard); !found) return found.error();
  }
  const auto address = parse_node_address(args.node);
  if (!address) return address.error();
  const auto node = check_newcomer(session, *view, *address, ask_facts(session, *address));
  if (!node) return node.error();
  if (const Status fine = check_clock(session, *view, node->facts); !fine) return fine.error();

  const std::string shard = makes_shard ? shard_name(free_shard_number(*view)) : args.shard;
  if (!session.is_json) {
    session.talk.print(
        makes_shard ? fmt::format("{} becomes the primary of a new shard, {}, without slots\n",
                                  args.node, shard)
                    : fmt::format("{} becomes a replica of shard {}\n", args.node, shard));
  }
  if (const Status sure = ask(session, "Add it?"); !sure) return sure.error();
  if (makes_shard) {
    const auto libraries = copy_functions(session, *view, *address);
    if (!libraries) return libraries.error();
    if (*libraries > 0) {
      session.talk.note(fmt::format(
          "{} of functions copied to it",
          *libraries == 1 ? std::string("1 library") : fmt::format("{} libraries", *libraries)));
    }
  }
  const Status done = change_records(session, [&](const ClusterView& now) {
    return joining(now, *node, shard, makes_shard, session.clock.now());
  });
  if (!done) return done.error();
  if (makes_shard) wait_for_service(session, {shard});
  session.talk.print(session.is_json ? node_json(node->facts.id, shard)
                     : makes_shard
                         ? std::string("added (mayfly cluster rebalance gives it slots)\n")
                         : std::string("added; it copies the data of its primary now\n"));
  return Exit::ok;
}

Result<Exit> run_remove(const RemoveArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto removal = plan_removal(*view, args.node);
  if (!removal) return removal.error();
  if (!session.is_json) session.talk.print(removal_text(*removal));
  if (const Status sure = ask(session, "Remove it?"); !sure) return sure.error();

  if (!removal->drain.empty()) {
    const auto jobs = start_moves(session, removal->drain);
    if (!jobs) return jobs.error();
    if (const Status moved = watch_moves(session, *jobs); !moved) return moved.error();
  }
  if (removal->is_primary && !removal->is_last) {
    const auto primary = hand_over(session, removal->shard, "");
    if (!primary) return primary.error();
  }
  if (const Status left = leave_set(session, *removal); !left) return left.error();
  const Status done =
      change_records(session, [&](const ClusterView& now) { return leaving(now, *removal); });
  if (!done) return done.error();
  session.talk.print(session.is_json
                         ? node_json(removal->node, removal->shard)
                         : fmt::format("{} is removed; stop its process\n", removal->label));
  return Exit::ok;
}

}  // namespace mayfly
