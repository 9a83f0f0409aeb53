// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/moves/move_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <random>
#include <set>

#include "cli/cluster/session/node_facts.h"
#include "cluster/plan/cluster_problems.h"
#include "mayfly/internal/stopwatch.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr std::size_t kMovesMax = 50;  // in one transaction
constexpr Millis kKeptFor{3'600'000};  // records of moves that are over
constexpr Millis kMoveLook{500};

// Ordered by time.
std::string job_id(Time now, std::size_t number) {
  static std::random_device device;
  return fmt::format("{:012x}{:04x}{:04x}", now.time_since_epoch().count(), number % 0x10000,
                     device() % 0x10000);
}

std::optional<double> number_of(const ReplyValue& value) {
  if (value.kind == ReplyValue::Kind::integer) return static_cast<double>(value.integer);
  if (value.kind == ReplyValue::Kind::number) return value.number;
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [at, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

Status check_move(const ClusterView& view, const PlannedMove& move) {
  for (const std::string& id : {move.source, move.target}) {
    if (const auto shard = find_shard(view, id); !shard) return shard.error();
  }
  const ClusterShard& source = *view.shard(move.source);
  if (!source.record.slots.contains(move.slots)) {
    return Error{Code::invalid, fmt::format("shard {} does not have the slots {}", move.source,
                                            short_slots(move.slots - source.record.slots))};
  }
  for (const std::string& job : view.active_moves()) {
    const MoveRecord& other = view.moves().at(job).record;
    if (!other.slots.overlaps(move.slots)) continue;
    return Error{Code::busy, fmt::format("slots {} are moving already, to shard {} (mayfly cluster "
                                         "status shows how far; cancel {} stops it)",
                                         short_slots(other.slots & move.slots), other.target, job)};
  }
  return Done{};
}

// Records of moves that were over long ago go, so that they do not gather.
void forget_old_moves(RegisterCommit& commit, const ClusterView& view, Time now) {
  for (const auto& [id, move] : view.moves()) {
    const MoveState state = move.record.state;
    if (state != MoveState::done && state != MoveState::cancelled) continue;
    if (now - move.record.created < kKeptFor || commit.puts.size() >= 2 * kMovesMax) continue;
    replace(commit, view, move_key(id), std::nullopt);
  }
}

struct JobsState {
  double slots = 0;
  double moved = 0;  // slots, in part
  std::size_t ended = 0;
  std::string what;
  std::string failure;
};

JobsState look_at_jobs(const ClusterView& view, const std::vector<std::string>& jobs,
                       const std::map<std::string, MoveProgress>& progress) {
  JobsState state;
  for (const std::string& job : jobs) {
    const auto found = view.moves().find(job);
    if (found == view.moves().end()) {
      ++state.ended;
      continue;
    }
    const MoveRecord& move = found->second.record;
    const auto slots = static_cast<double>(move.slots.count());
    state.slots += slots;
    if (is_active(move.state)) {
      const auto known = progress.find(job);
      if (known != progress.end() && known->second.share)
        state.moved += *known->second.share * slots;
      if (state.what.empty() || move.state != MoveState::waiting) {
        state.what = fmt::format("{} -> {}  {}  {}", move.source, move.target,
                                 plural(move.slots.count(), "slot"), name_of(move.state));
      }
      continue;
    }
    ++state.ended;
    state.moved += slots;
    if (move.state == MoveState::done) continue;
    state.failure += fmt::format("{}the move {} from {} to {} {}{}{}",
                                 state.failure.empty() ? "" : "; ", job, move.source, move.target,
                                 move.state == MoveState::failed ? "failed" : "was cancelled",
                                 move.error.empty() ? "" : ": ", move.error);
  }
  return state;
}

// From the keys that the source has in these slots, and those that have come to the target.
MoveProgress compare_keys(ClusterSession& session, const ClusterView& view, const MoveRecord& move,
                          const NodeAddress& source) {
  const ClusterShard* const target = view.shard(move.target);
  if (target == nullptr) return {};
  const auto address = address_of(view, target->record.primary.node);
  if (!address) return {};
  const NodeFacts facts = ask_facts(session, *address);
  const auto counts = count_keys(session, source, move.slots);
  if (!facts.staged_keys || !counts) return {};
  const std::uint64_t total = std::accumulate(counts->begin(), counts->end(), std::uint64_t{0});
  const auto come = static_cast<double>(*facts.staged_keys);
  if (total == 0) return {1.0, come};
  return {std::min(come / static_cast<double>(total), 1.0), come};
}

}  // namespace

std::map<std::string, MoveProgress> read_migrations(const ReplyValue& reply) {
  std::map<std::string, MoveProgress> all;
  for (const ReplyValue& job : reply.items) {
    std::string name;
    std::optional<double> total;
    std::optional<double> percent;
    MoveProgress progress;
    for (std::size_t i = 0; i + 1 < job.items.size(); i += 2) {
      const std::string& field = job.items[i].text;
      const ReplyValue& value = job.items[i + 1];
      if (field == "name" || field == "job") name = value.text;
      if (field == "keys_total") total = number_of(value);
      if (field == "keys_sent") progress.keys = number_of(value);
      if (field == "percent") percent = number_of(value);
    }
    if (percent) progress.share = std::clamp(*percent / 100, 0.0, 1.0);
    if (!percent && progress.keys && total && *total > 0) {
      progress.share = std::clamp(*progress.keys / *total, 0.0, 1.0);
    }
    if (!name.empty()) all.insert_or_assign(name, progress);
  }
  return all;
}

std::map<std::string, MoveProgress> ask_progress(ClusterSession& session, const ClusterView& view) {
  std::map<std::string, MoveProgress> all;
  std::set<std::string> asked;
  for (const std::string& job : view.active_moves()) {
    const MoveRecord& move = view.moves().at(job).record;
    const ClusterShard* const source = view.shard(move.source);
    const auto address = source == nullptr ? Result<NodeAddress>(Error{Code::not_found, ""})
                                           : address_of(view, source->record.primary.node);
    if (!address) continue;
    if (asked.insert(address->text()).second) {
      const auto reply = call_node(session, *address, {"CLUSTER", "GETSLOTMIGRATIONS"});
      if (reply) all.merge(read_migrations(*reply));
    }
    const bool is_copying = move.state == MoveState::snapshot || move.state == MoveState::stream;
    if (is_copying && !all[job].share) all[job] = compare_keys(session, view, move, *address);
  }
  return all;
}

std::map<std::string, MoveRates::Rate> MoveRates::update(
    const std::map<std::string, MoveProgress>& progress, std::int64_t now_ns) {
  std::map<std::string, Rate> rates;
  for (const auto& [job, now] : progress) {
    const double share = now.share.value_or(0);
    const double keys = now.keys.value_or(0);
    const auto [found, is_new] = first_.try_emplace(job, Sample{now_ns, share, keys});
    Sample& first = found->second;
    if (share < first.share || keys < first.keys) first = {now_ns, share, keys};  // it began anew
    const double seconds = static_cast<double>(now_ns - first.ns) / 1e9;
    if (is_new || seconds < 0.2) continue;
    Rate rate;
    if (now.keys) rate.keys_per_s = (keys - first.keys) / seconds;
    if (now.share && share > first.share) {
      rate.seconds_left = (1 - share) * seconds / (share - first.share);
    }
    rates.emplace(job, rate);
  }
  return rates;
}

Result<std::vector<std::string>> start_moves(ClusterSession& session, const MovePlan& plan) {
  if (plan.size() > kMovesMax) {
    return Error{Code::full, fmt::format("{} moves are too many at once; the most is {}",
                                         plan.size(), kMovesMax)};
  }
  const Time now = session.clock.now();
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < plan.size(); ++i) jobs.push_back(job_id(now, i));
  const Status done = change_records(
      session, [&](const ClusterView& view) -> Result<std::optional<RegisterCommit>> {
        // An attempt whose answer was lost was made: the sources have begun.
        if (!jobs.empty() && view.moves().contains(jobs[0])) return std::optional<RegisterCommit>();
        RegisterCommit commit;
        serialise(commit, view);
        for (std::size_t i = 0; i < plan.size(); ++i) {
          if (const Status fine = check_move(view, plan[i]); !fine) return fine.error();
          MoveRecord record;
          record.source = plan[i].source;
          record.target = plan[i].target;
          record.slots = plan[i].slots;
          record.created = now;
          replace(commit, view, move_key(jobs[i]), to_text(record));
        }
        forget_old_moves(commit, view, now);
        return std::optional(commit);
      });
  if (!done) return done.error();
  return jobs;
}

Status watch_moves(ClusterSession& session, const std::vector<std::string>& jobs) {
  JobsState state;
  MoveRates rates;
  while (true) {
    const Result<ClusterView> view = read_view(session);
    if (view) {
      const auto progress = ask_progress(session, *view);
      state = look_at_jobs(*view, jobs, progress);
      std::string what = state.what;
      for (const auto& [job, rate] : rates.update(progress, monotonic_ns())) {
        if (rate.keys_per_s) what += fmt::format("  {:.0f} keys/s", *rate.keys_per_s);
      }
      session.talk.progress(state.slots > 0 ? state.moved / state.slots : 1, what);
      if (state.ended == jobs.size()) break;
    } else {
      session.talk.progress(0, view.error().message);
    }
    if (session.talk.is_stopped()) {
      return Error{Code::busy,
                   "the moves go on (mayfly cluster status shows how far they are, "
                   "mayfly cluster cancel stops them)"};
    }
    session.records.wait_change(kMoveLook);
  }
  if (state.failure.empty()) return Done{};
  return Error{Code::io, state.failure + " (the slots are where they were)"};
}

std::string short_slots(const SlotSet& slots) {
  constexpr std::size_t kShown = 4;
  const std::vector<SlotRange> ranges = slots.ranges();
  if (ranges.size() <= kShown) return slots.text();
  const SlotSet first(std::vector(ranges.begin(), ranges.begin() + kShown));
  return fmt::format("{} and {} more ranges", first.text(), ranges.size() - kShown);
}

std::string plan_text(const MovePlan& plan) {
  std::string text;
  for (const PlannedMove& move : plan) {
    text += fmt::format("  {} -> {}  {:>5} slots  {}\n", move.source, move.target,
                        move.slots.count(), short_slots(move.slots));
  }
  return text;
}

std::string plan_json(const MovePlan& plan, const std::vector<std::string>& jobs) {
  Json json;
  json.open('{');
  json.key("moves");
  json.open('[');
  for (std::size_t i = 0; i < plan.size(); ++i) {
    json.open('{');
    json.member("job", std::string_view(jobs[i]));
    json.member("source", std::string_view(plan[i].source));
    json.member("target", std::string_view(plan[i].target));
    json.member("slots", std::string_view(plan[i].slots.text()));
    json.member("count", static_cast<std::uint64_t>(plan[i].slots.count()));
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return json.text();
}

}  // namespace mayfly
