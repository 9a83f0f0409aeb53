// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/node/register_check.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cluster/plan/register_trust.h"
#include "cluster/records.h"

namespace mayfly {
namespace {

Result<std::optional<RegisterRecord>> accepted_in(const RegisterSnapshot& snapshot) {
  const auto found = std::ranges::find(snapshot.entries, kRegisterKey, &RegisterEntry::key);
  if (found == snapshot.entries.end() || !found->value) return std::optional<RegisterRecord>();
  Result<RegisterRecord> record = parse_register_record(*found->value);
  if (!record) return record.error();
  return std::optional(*record);
}

// The epoch of a shard; none if it is not there.
Result<std::optional<std::uint64_t>> epoch_in(const RegisterSnapshot& snapshot,
                                              const std::string& shard) {
  const auto found = std::ranges::find(snapshot.entries, shard_key(shard), &RegisterEntry::key);
  const bool is_there = found != snapshot.entries.end() && found->value && !shard.empty();
  if (!is_there) return std::optional<std::uint64_t>();
  Result<ShardRecord> record = parse_shard_record(*found->value);
  if (!record) return record.error();
  return std::optional(record->epoch);
}

}  // namespace

Result<NodeFile> check_register(const NodeFile& file, const RegisterSnapshot& snapshot) {
  if (snapshot.id == 0) return file;
  const RegisterPoint point{snapshot.id, snapshot.version};
  const auto accepted = accepted_in(snapshot);
  if (!accepted) return accepted.error();
  if (*accepted && (*accepted)->id != point.id) {
    return Error{Code::io, other_register_text(point, {(*accepted)->id, 0})};
  }
  if (*accepted && (*accepted)->version > point.version) {
    return Error{Code::io, older_register_text(point, (*accepted)->version)};
  }
  const auto shard = epoch_in(snapshot, file.shard);
  if (!shard) return shard.error();
  NodeFile next = file;
  next.reg = point;
  next.is_register_refused = false;
  if (*accepted) next.accepted = std::max(file.accepted, (*accepted)->accepted);
  const bool is_bound = !file.cluster.empty() && file.reg.id != 0;
  if (!is_bound || (*accepted && (*accepted)->accepted > file.accepted)) {
    next.epoch = shard->value_or(0);
    return next;
  }
  if (point.id != file.reg.id) return Error{Code::io, other_register_text(point, file.reg)};
  if (point.version < file.reg.version || file.is_register_refused) {
    return Error{Code::io, older_register_text(point, file.reg.version)};
  }
  if (*shard && **shard < file.epoch) {
    return Error{Code::io, older_shard_text(file.shard, **shard, file.epoch)};
  }
  return next;
}

}  // namespace mayfly
