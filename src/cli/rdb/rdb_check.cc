// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_check.h"

#include <limits>
#include <string>

#include "keyspace/keyspace.h"
#include "keyspace/members/members_load.h"

namespace mayfly {
namespace {

class NoListener final : public KeyspaceListener {
  void key_expired(Database&, std::string_view, FoundBy) override {}
  void members_expired(Database&, const ExpiredMembers&) override {}
  void key_evicted(Database&, std::string_view) override {}
};

}  // namespace

struct RdbCheck::Scratch {
  NoListener listener;
  Keyspace keyspace{{.databases = 1}, listener};
  MembersLoad load;
  ValueType type = ValueType::hash;  // of the key under way
};

RdbCheck::RdbCheck() : scratch_(std::make_unique<Scratch>()) {}
RdbCheck::~RdbCheck() = default;

Status RdbCheck::string(const RdbKey&, std::string_view) {
  ++keys_;
  return Done{};
}

Status RdbCheck::members_begin(const RdbKey& key, std::uint64_t) {
  ++keys_;
  scratch_->type = key.value_type();
  scratch_->load.begin({}, scratch_->keyspace[0], scratch_->type, "key");
  return Done{};
}

Status RdbCheck::members(std::span<const Member> members) {
  if (scratch_->load.add(members)) return Done{};
  return Error{Code::corrupt, "damaged: " + duplicate_member(scratch_->type).message};
}

Status RdbCheck::members_end() {
  const Slot slot = scratch_->load.end();
  if (slot != kNoSlot) scratch_->keyspace[0].erase(slot);
  scratch_->keyspace.lazy_free().free_some(std::numeric_limits<std::size_t>::max());
  return Done{};
}

Status RdbCheck::skipped(const RdbKey&, std::string_view, std::uint64_t, std::uint64_t) {
  ++keys_;
  return Done{};
}

}  // namespace mayfly
