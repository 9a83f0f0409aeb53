// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/accept_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cluster/session/node_facts.h"
#include "cluster/plan/cluster_problems.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr std::size_t kRecordsAtOnce = 40;  // etcd takes 128 in one transaction

// Checks that no process of a node runs. Such a node would serve by the lost records, beside
// a started node that serves by these.
Status check_stopped(const AcceptArgs& args, ClusterSession& session, const ClusterView& view) {
  std::string running;
  std::string silent;
  for (const auto& [id, facts] : ask_facts(session, view)) {
    if (facts.answer == NodeAnswer::refuses) continue;
    std::string& list = facts.answer == NodeAnswer::silent ? silent : running;
    list += (list.empty() ? "" : ", ") + node_label(view, id);
  }
  if (!running.empty()) {
    return Error{Code::denied,
                 "these nodes run: " + running +
                     " (stop all nodes first: a node that goes on with the old records and one "
                     "that starts with these would both serve)"};
  }
  if (!silent.empty() && !args.ignores_silent) {
    return Error{Code::denied,
                 "these nodes do not respond, so they may run: " + silent +
                     " (make sure that their processes have ended, and say --ignore-silent)"};
  }
  return Done{};
}

Result<RegisterRecord> accepted_now(const RegisterSnapshot& snapshot, Time now) {
  RegisterRecord record{snapshot.id, snapshot.version, now};
  const auto found = std::ranges::find(snapshot.entries, kRegisterKey, &RegisterEntry::key);
  if (found == snapshot.entries.end() || !found->value) return record;
  const auto before = parse_register_record(*found->value);
  if (!before) return before.error();
  // Nodes take it once: it must be later than the one before.
  record.accepted = std::max(now, before->accepted + Millis(1));
  return record;
}

std::uint64_t version_of(const RegisterSnapshot& snapshot, std::string_view key) {
  const auto found = std::ranges::find(snapshot.entries, key, &RegisterEntry::key);
  return found == snapshot.entries.end() ? 0 : found->version;
}

// Deletes the restored records of processes: no node runs.
Status forget_lives(ClusterSession& session, const ClusterView& view) {
  RegisterCommit commit;
  const auto send = [&] {
    const Status status = commit.puts.empty() ? Status(Done{}) : commit_once(session, commit);
    commit = {};
    return status;
  };
  for (const auto& [id, live] : view.lives()) {
    commit.puts.push_back({live_key(id), std::nullopt});
    commit.compares.push_back({live_key(id), live.version});
    if (commit.puts.size() < kRecordsAtOnce) continue;
    if (Status status = send(); !status) return status;
  }
  return send();
}

// No process has this one.
const std::string kNoIncarnation(16, '0');

// In the restored record of a shard the set may be smaller than it was later, and a node that it
// does not name may have later data. So each is named: recovery waits for all and compares them.
Status name_all_members(ClusterSession& session, const ClusterView& view) {
  for (const ClusterShard& shard : view.shards()) {
    ShardRecord record = shard.record;
    for (const std::string& node : view.members(shard)) {
      const auto is_it = [&](const NodeMemory& memory) { return memory.node == node; };
      if (is_it(record.primary) || std::ranges::any_of(record.insync, is_it)) continue;
      record.insync.push_back({node, kNoIncarnation});
    }
    if (record == shard.record) continue;
    std::ranges::sort(record.insync);
    RegisterCommit commit;
    replace(commit, view, shard_key(shard.id), to_text(record));
    if (Status status = commit_once(session, commit); !status) return status;
  }
  return Done{};
}

std::string plan_text(const ClusterView& view, const RegisterRecord& record) {
  std::string text = fmt::format("etcd with id {} and revision {} has cluster {}:\n", record.id,
                                 record.version, view.config()->record.id);
  for (const ClusterShard& shard : view.shards()) {
    text += fmt::format("  shard {}  epoch {}  {}  primary {}\n", shard.id, shard.record.epoch,
                        plural(shard.record.slots.count(), "slot"),
                        node_label(view, shard.record.primary.node));
  }
  return text +
         "! Nodes that start from now on take these records, and forget what they knew.\n"
         "! Each shard waits until all of its nodes run, and takes the latest data.\n"
         "! Keys of slots that have moved since the snapshot was taken are removed.\n";
}

}  // namespace

Result<Exit> run_accept(const AcceptArgs& args, ClusterSession& session) {
  const Result<ClusterView> view = read_cluster(session);
  if (!view) return view.error();
  if (Status stopped = check_stopped(args, session, *view); !stopped) return stopped.error();
  Result<RegisterSnapshot> snapshot = session.records.read();
  if (!snapshot) return snapshot.error();
  if (snapshot->id == 0) {
    return Error{Code::unsupported,
                 "this etcd does not say its cluster id (is it etcd 3.4 or "
                 "later that answers?)"};
  }
  const Result<RegisterRecord> record = accepted_now(*snapshot, session.clock.now());
  if (!record) return record.error();
  if (!session.is_json) session.talk.print(plan_text(*view, *record));
  if (const Status sure = ask(session, "Accept this etcd?"); !sure) return sure.error();
  if (Status status = forget_lives(session, *view); !status) return status.error();
  if (Status status = name_all_members(session, *view); !status) return status.error();
  const std::string key(kRegisterKey);
  const Status done = commit_once(session, {.compares = {{key, version_of(*snapshot, key)}},
                                            .puts = {{key, to_text(*record)}}});
  if (!done) return done.error();
  if (!session.is_json) {
    session.talk.print("accepted: start all nodes now\n");
    return Exit::ok;
  }
  Json json;
  json.open('{');
  json.member("id", std::string_view(std::to_string(record->id)));
  json.member("revision", record->version);
  json.close('}');
  session.talk.print(json.text());
  return Exit::ok;
}

}  // namespace mayfly
