// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_check.h"

#include <limits>
#include <string>

#include "cli/scratch_keyspace.h"
#include "keyspace/members/members_load.h"

namespace mayfly {

struct RdbCheck::Scratch : ScratchKeyspace {
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
  scratch_->load.begin({}, scratch_->database, scratch_->type, "key");
  return Done{};
}

Status RdbCheck::members(std::span<const Member> members) {
  if (scratch_->load.add(members)) return Done{};
  return Error{Code::corrupt, "damaged: " + duplicate_member(scratch_->type).message};
}

Status RdbCheck::members_end() {
  const Slot slot = scratch_->load.end();
  if (slot != kNoSlot) scratch_->database.erase(slot);
  scratch_->keyspace.lazy_free().free_some(std::numeric_limits<std::size_t>::max());
  return Done{};
}

// The parser has checked all of a list or a stream.
Status RdbCheck::list_begin(const RdbKey&) {
  ++keys_;
  return Done{};
}

Status RdbCheck::list_elements(std::span<const std::string_view>) { return Done{}; }

Status RdbCheck::list_end() { return Done{}; }

Status RdbCheck::stream(const RdbKey&, std::unique_ptr<Stream>) {
  ++keys_;
  return Done{};
}

}  // namespace mayfly
