// SPDX-License-Identifier: Apache-2.0
// What became of a commit, by the reply of etcd to its transaction.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cluster/register.h"
#include "etcd/etcd_calls.h"
#include "etcd/gateway/replies.h"

namespace mayfly {

// If `reply.was_repeated`, a refusal may be due to an earlier attempt that was carried out. Then
// the records decide: see applied().
CommitAnswer commit_answer(const EtcdReply& reply, std::string_view prefix,
                           const RegisterCommit& commit);

struct AppliedCommit {
  bool is_certain = false;  // else one cannot tell, as nothing that it changes was compared
  bool is_applied = false;
  std::uint64_t version = 0;  // of what was put; 0: it has only deleted
};

// Whether a commit has happened, by the records compared: all that it puts among them are there,
// with one and the same version. Values have an epoch, an incarnation or a time in them, so that
// the same text is the same commit.
AppliedCommit applied(const RegisterCommit& commit, const std::vector<RegisterEntry>& current);

}  // namespace mayfly
