// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/moves/move_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "cli/cluster/moves/move_jobs.h"
#include "cli/cluster/session/node_facts.h"
#include "cluster/plan/cluster_problems.h"
#include "text/json.h"

namespace mayfly {
namespace {

Result<MovePlan> reshard_plan(const ReshardArgs& args, const ClusterView& view) {
  if ((args.slots > 0) == !args.ranges.empty()) {
    return Error{Code::invalid, "give either --slots N or --range a-b"};
  }
  const auto source = find_shard(view, args.source);
  if (!source) return source.error();
  const auto target = find_shard(view, args.target);
  if (!target) return target.error();
  if (*source == *target) return Error{Code::invalid, "--from and --to are the same shard"};
  PlannedMove move{args.source, args.target, {}};
  for (const std::string& range : args.ranges) {
    const auto slots = parse_slots(range);
    if (!slots) return slots.error();
    move.slots |= *slots;
  }
  if (args.slots > 0) {
    const SlotSet& has = (*source)->record.slots;
    const auto wanted = static_cast<std::size_t>(args.slots);
    if (has.count() < wanted) {
      return Error{Code::invalid,
                   fmt::format("shard {} has only {}", args.source, plural(has.count(), "slot"))};
    }
    move.slots = choose_slots(has, (*target)->record.slots, wanted);
  }
  if (move.slots.empty()) return Error{Code::invalid, "there are no slots to move"};
  return MovePlan{move};
}

// "b=2"
Status read_weights(const std::vector<std::string>& words, const ClusterView& view,
                    std::vector<RebalanceShard>& shards) {
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    const std::string id = word.substr(0, sign);
    double weight = 0;
    const char* const end = word.data() + word.size();
    const char* const begin = sign == word.npos ? end : word.data() + sign + 1;
    const auto [at, error] = std::from_chars(begin, end, weight);
    if (error != std::errc() || at != end || !(weight >= 0 && weight <= 1000)) {
      return Error{
          Code::invalid,
          fmt::format("--weight: '{}' is no weight of a shard (say SHARD=2; 0 empties it)", word)};
    }
    if (const auto shard = find_shard(view, id); !shard) return shard.error();
    std::ranges::find(shards, id, &RebalanceShard::id)->weight = weight;
  }
  return Done{};
}

Result<SlotKeys> count_all_keys(ClusterSession& session, const ClusterView& view) {
  SlotKeys keys{};
  for (const ClusterShard& shard : view.shards()) {
    const auto address = address_of(view, shard.record.primary.node);
    if (!address) return address.error();
    const auto counts = count_keys(session, *address, shard.record.slots);
    if (!counts) return counts.error();
    std::size_t next = 0;
    shard.record.slots.each([&](HashSlot slot) { keys[slot] = (*counts)[next++]; });
  }
  return keys;
}

Result<MovePlan> rebalance_plan(const RebalanceArgs& args, ClusterSession& session,
                                const ClusterView& view) {
  std::vector<RebalanceShard> shards = shards_of(view);
  if (const Status read = read_weights(args.weights, view, shards); !read) return read.error();
  if (args.by == "slots") return rebalance_by_slots(shards);
  const Result<SlotKeys> keys = count_all_keys(session, view);
  if (!keys) return keys.error();
  return rebalance_by_keys(shards, *keys);
}

Result<std::optional<RegisterCommit>> cancellation(const ClusterView& view,
                                                   const std::vector<std::string>& jobs) {
  RegisterCommit commit;
  for (const std::string& job : jobs) {
    const auto found = view.moves().find(job);
    if (found == view.moves().end()) {
      return Error{Code::not_found, fmt::format("there is no move {}", job)};
    }
    MoveRecord record = found->second.record;
    if (record.state == MoveState::commit || record.state == MoveState::clean) {
      return Error{Code::busy, fmt::format("the move {} is being finished: it is too late", job)};
    }
    if (record.state == MoveState::done || record.state == MoveState::cancelled) continue;
    record.state = MoveState::cancelled;
    replace(commit, view, move_key(job), to_text(record));
  }
  if (commit.puts.empty()) return std::optional<RegisterCommit>();
  return std::optional(commit);
}

}  // namespace

std::vector<RebalanceShard> shards_of(const ClusterView& view) {
  std::vector<RebalanceShard> shards;
  for (const ClusterShard& shard : view.shards())
    shards.push_back({shard.id, shard.record.slots, 1});
  return shards;
}

Result<Exit> run_moves(ClusterSession& session, const MovePlan& plan) {
  std::size_t slots = 0;
  for (const PlannedMove& move : plan) slots += move.slots.count();
  if (!session.is_json) session.talk.print(plan_text(plan));
  const std::string question = fmt::format("Move {}?", plural(slots, "slot"));
  if (const Status sure = ask(session, question); !sure) return sure.error();
  const auto jobs = start_moves(session, plan);
  if (!jobs) return jobs.error();
  if (const Status watched = watch_moves(session, *jobs); !watched) return watched.error();
  session.talk.print(session.is_json ? plan_json(plan, *jobs)
                                     : fmt::format("{} moved\n", plural(slots, "slot")));
  return Exit::ok;
}

Result<Exit> run_reshard(const ReshardArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto plan = reshard_plan(args, *view);
  if (!plan) return plan.error();
  return run_moves(session, *plan);
}

Result<Exit> run_rebalance(const RebalanceArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  if (const auto active = view->active_moves(); !active.empty()) {
    return Error{Code::busy, fmt::format("{} under way: rebalance when they are over (mayfly "
                                         "cluster status, or cancel)",
                                         active.size() == 1 ? "a move is" : "moves are")};
  }
  const auto plan = rebalance_plan(args, session, *view);
  if (!plan) return plan.error();
  if (!plan->empty()) return run_moves(session, *plan);
  session.talk.print(session.is_json ? plan_json({}, {})
                                     : std::string("the shards are balanced: nothing to move\n"));
  return Exit::ok;
}

Result<Exit> run_cancel(const CancelArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const std::vector<std::string> jobs = args.jobs.empty() ? view->active_moves() : args.jobs;
  if (jobs.empty()) {
    session.talk.print(session.is_json ? "{\n  \"cancelled\": 0\n}\n" : "no slots are moving\n");
    return Exit::ok;
  }
  const Status done =
      change_records(session, [&](const ClusterView& now) { return cancellation(now, jobs); });
  if (!done) return done.error();
  session.talk.print(session.is_json ? fmt::format("{{\n  \"cancelled\": {}\n}}\n", jobs.size())
                                     : fmt::format("{} cancelled: the slots are where they were\n",
                                                   plural(jobs.size(), "move")));
  return Exit::ok;
}

}  // namespace mayfly
