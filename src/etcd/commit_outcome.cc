// SPDX-License-Identifier: Apache-2.0
#include "etcd/commit_outcome.h"

#include <algorithm>
#include <utility>

namespace mayfly {

AppliedCommit applied(const RegisterCommit& commit, const std::vector<RegisterEntry>& current) {
  AppliedCommit found;
  for (const auto& put : commit.puts) {
    const auto is_it = [&](const auto& other) { return other.key == put.key; };
    const auto compare = std::find_if(commit.compares.begin(), commit.compares.end(), is_it);
    const auto entry = std::find_if(current.begin(), current.end(), is_it);
    if (compare == commit.compares.end() || entry == current.end()) continue;
    if (!put.value && compare->version == 0) continue;  // absent before and after
    found.is_certain = true;
    if (entry->value != put.value) return {.is_certain = true};
    if (!put.value) continue;
    const bool is_older = entry->version <= compare->version;  // it was so before
    if (is_older || (found.version != 0 && found.version != entry->version)) {
      return {.is_certain = true};
    }
    found.version = entry->version;
  }
  found.is_applied = found.is_certain;
  return found;
}

CommitAnswer commit_answer(const EtcdReply& reply, std::string_view prefix,
                           const RegisterCommit& commit) {
  CommitAnswer answer;
  if (!reply.body) {
    answer.error = reply.body.error().message;
    return answer;
  }
  Result<TxnReply> txn = parse_txn_reply(*reply.body, prefix, commit);
  if (!txn) {
    answer.error = txn.error().message;
    return answer;
  }
  if (txn->is_done) {
    answer.outcome = CommitOutcome::done;
    answer.version = txn->version;
    return answer;
  }
  const AppliedCommit earlier =
      reply.was_repeated ? applied(commit, txn->current) : AppliedCommit{.is_certain = true};
  if (!earlier.is_certain) {
    answer.error = "a version differs, but an earlier attempt may have been carried out";
    return answer;
  }
  if (earlier.is_applied) {
    answer.outcome = CommitOutcome::done;
    answer.version = earlier.version == 0 ? txn->version : earlier.version;
    return answer;
  }
  answer.outcome = CommitOutcome::refused;
  answer.current = std::move(txn->current);
  return answer;
}

}  // namespace mayfly
