// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/clock_command.h"

#include <fmt/format.h>

#include "cli/cluster/session/node_facts.h"
#include "text/json.h"

namespace mayfly {
namespace {

void print_reset(ClusterSession& session, const std::string& shard, Millis ahead, Millis most,
                 bool is_reset) {
  if (session.is_json) {
    Json json;
    json.open('{');
    json.member("shard", std::string_view(shard));
    json.member("was_ahead_ms", static_cast<std::int64_t>(ahead.count()));
    json.member("is_reset", is_reset);
    json.close('}');
    return session.talk.print(json.text());
  }
  session.talk.print(is_reset ? fmt::format("shard {}: its time is reset\n", shard)
                              : fmt::format("shard {}: its time is no more than {} ms ahead, so "
                                            "there is nothing to reset\n",
                                            shard, most.count()));
}

}  // namespace

Result<Exit> run_reset_clock(const ResetClockArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  const auto found = find_shard(*view, args.shard);
  if (!found) return found.error();
  const ShardRecord& record = (*found)->record;

  // By the clock of the primary, if it answers.
  Time there = session.clock.now();
  Millis most = kClockDifferenceMax;
  if (const auto address = address_of(*view, record.primary.node)) {
    const NodeFacts facts = ask_facts(session, *address);
    if (facts.is_up()) there += facts.clock_ahead - facts.clock_floor;
    most = facts.clock_difference_max;
  }
  const Millis ahead = record.since - there;
  if (ahead <= most) {
    print_reset(session, args.shard, ahead, most, false);
    return Exit::ok;
  }
  if (!session.is_json) {
    session.talk.print(
        fmt::format("shard {}: its record says that the primary began {} ms from now, as some "
                    "clock was wrong\n",
                    args.shard, ahead.count()));
  }
  if (const Status sure = ask(session,
                              "Are the clocks right, and shall the present time be put "
                              "there?");
      !sure) {
    return sure.error();
  }
  const Status done =
      change_records(session, [&](const ClusterView& now) -> Result<std::optional<RegisterCommit>> {
        const auto shard = find_shard(now, args.shard);
        if (!shard) return shard.error();
        ShardRecord changed = (*shard)->record;
        if (changed.since <= there) return std::optional<RegisterCommit>();  // it was done
        changed.since = there;
        RegisterCommit commit;
        replace(commit, now, shard_key(args.shard), to_text(changed));
        return std::optional(commit);
      });
  if (!done) return done.error();
  print_reset(session, args.shard, ahead, most, true);
  return Exit::ok;
}

}  // namespace mayfly
