// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/member_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <new>

#include "keyspace/hasher.h"
#include "keyspace/key_node.h"

namespace mayfly {

namespace {

std::size_t node_size(std::size_t name_size, std::size_t value_size, Payload payload) {
  return varint_size(name_size) + name_size + size_bytes(payload, value_size) + value_size;
}

// Asks for the whole of a size class, so that the size of what a node holds tells how much it can
// hold, with any allocator and without asking it.
char* allocate(std::size_t size) {
  auto* const bytes = static_cast<char*>(std::malloc(allocated_size(size)));
  if (bytes == nullptr) throw std::bad_alloc();
  return bytes;
}

// If so large a part of the order is due, it is made anew.
constexpr std::size_t kManyPart = 16;

constexpr std::size_t kIndexBytes = 15;  // a deadline, see VolatileSet

}  // namespace

MemberNode::MemberNode(std::string_view name, std::string_view value, Payload payload)
    : bytes_(allocate(node_size(name.size(), value.size(), payload))) {
  char* const end = write_bytes(write_varint(bytes_.get(), name.size()), name);
  write_bytes(write_size(end, payload, value.size()), value);
}

std::string_view MemberNode::name() const {
  const char* at = bytes_.get();
  const std::size_t size = read_varint(at);
  return {at, size};
}

Member MemberNode::read(Payload payload) const {
  const std::string_view name = this->name();
  const char* at = name.data() + name.size();
  const std::size_t size = read_size(at, payload);
  return {.name = name, .value = {at, size}};
}

void MemberNode::set_value(std::string_view value, Payload payload) {
  const std::string_view name = this->name();
  if (allocated_size(node_size(name.size(), value.size(), payload)) != bytes(payload)) {
    *this = MemberNode(name, value, payload);
    return;
  }
  char* const end = bytes_.get() + (name.data() - bytes_.get()) + name.size();
  write_bytes(write_size(end, payload, value.size()), value);
}

std::size_t MemberNode::bytes(Payload payload) const {
  const Member content = read(payload);
  return allocated_size(node_size(content.name.size(), content.value.size(), payload));
}

MemberTable::MemberTable(std::uint64_t seed, Payload payload) : seed_(seed), payload_(payload) {
  if (payload == Payload::score) order_ = std::make_unique<ScoreOrder>();
}

std::optional<Member> MemberTable::find(std::string_view name) const {
  const Slot slot = slot_of(name, hash_of(name));
  return slot == kNoSlot ? std::nullopt : std::optional(at(slot));
}

bool MemberTable::put(std::string_view name, std::string_view value, Time deadline,
                      Replaced* replaced) {
  const std::uint64_t hash = hash_of(name);
  const Slot slot = slot_of(name, hash);
  if (slot == kNoSlot) {
    insert({name, value, deadline}, hash);
    return true;
  }
  MemberNode& node = (*nodes_)[slot];
  const Member present = at(slot);
  if (replaced != nullptr) *replaced = {present.deadline, present.value.size()};
  const bool moves = order_ && present.value != value;
  if (moves && is_ordered(present.deadline)) erase_ordered(slot);
  node_bytes_ -= member_bytes(name.size(), present.value.size(), payload_);
  node.set_value(value, payload_);
  node_bytes_ += member_bytes(name.size(), value.size(), payload_);
  if (moves && is_ordered(at(slot).deadline)) insert_ordered(slot);
  change_deadline(slot, deadline);
  return false;
}

bool MemberTable::add(std::string_view name, std::string_view value, Time deadline) {
  const std::uint64_t hash = hash_of(name);
  if (slot_of(name, hash) != kNoSlot) return false;
  insert({name, value, deadline}, hash);
  return true;
}

// REQUIRES: no member has this name.
void MemberTable::insert(const Member& member, std::uint64_t hash) {
  const Slot slot = nodes_->emplace(member.name, member.value, payload_);
  table_.insert(hash, slot, [this](Slot other) { return hash_at(other); });
  if (index_) index_->reserve(nodes_->extent());
  node_bytes_ += (*nodes_)[slot].bytes(payload_);
  schedule(slot, member.deadline);
  if (is_ordered(member.deadline)) insert_ordered(slot);
}

std::size_t MemberTable::put_new(std::span<const Member> members) {
  // Buckets lie anywhere in memory: each is prefetched well before it is used.
  std::array<std::uint64_t, 16> hashes{};
  const std::size_t ahead = std::min(members.size(), hashes.size());
  const auto look_ahead = [&](std::size_t i) {
    hashes[i % hashes.size()] = hash_of(members[i].name);
    table_.prefetch(hashes[i % hashes.size()]);
  };
  for (std::size_t i = 0; i < ahead; ++i) look_ahead(i);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint64_t hash = hashes[i % hashes.size()];
    if (slot_of(members[i].name, hash) != kNoSlot) return i;
    insert(members[i], hash);
    if (i + hashes.size() < members.size()) look_ahead(i + hashes.size());
  }
  return members.size();
}

void MemberTable::fit() {
  table_.fit([this](Slot other) { return hash_at(other); });
}

bool MemberTable::set_deadline(std::string_view name, Time deadline) {
  const Slot slot = slot_of(name, hash_of(name));
  if (slot == kNoSlot) return false;
  change_deadline(slot, deadline);
  return true;
}

bool MemberTable::erase(std::string_view name) {
  const std::uint64_t hash = hash_of(name);
  const Slot slot = slot_of(name, hash);
  if (slot == kNoSlot) return false;
  if (is_ordered(deadline_at(slot))) erase_ordered(slot);
  schedule(slot, kNever);
  remove(slot, hash);
  return true;
}

std::size_t MemberTable::take_due(Time now, std::size_t limit, std::vector<std::string>& names,
                                  std::vector<Time>* deadlines, const SeeMember& see) {
  if (!index_ || !is_due(index_->next_deadline(), now)) return 0;
  std::vector<Due> due;
  index_->take_due(now, limit, due);

  // Nodes and buckets lie anywhere in memory: each is prefetched before it is used.
  constexpr std::size_t kAhead = 8;
  std::vector<std::uint64_t> hashes(due.size());
  for (const Due& taken : due) (*nodes_)[taken.slot].prefetch();
  for (std::size_t i = 0; i < due.size(); ++i) {
    hashes[i] = hash_at(due[i].slot);
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (i + kAhead < due.size()) table_.prefetch(hashes[i + kAhead]);
    if (see) {
      const Member member = (*nodes_)[due[i].slot].read(payload_);
      see({.name = member.name, .value = member.value, .deadline = due[i].deadline});
    }
    names.emplace_back((*nodes_)[due[i].slot].name());
    if (deadlines != nullptr) deadlines->push_back(due[i].deadline);
    if (is_ordered(due[i].deadline)) erase_ordered(due[i].slot);
    remove(due[i].slot, hashes[i]);
  }
  drop_empty_index();
  return due.size();
}

std::size_t MemberTable::free_some(std::size_t limit, const SeeMember& see) {
  table_.clear();
  if (order_ && order_->size() > 0) order_->free_some(limit);
  if (see && index_) {
    std::vector<Due> due;
    index_->take_due(kNever - Millis(1), limit, due);
    for (const Due& taken : due) {
      Member member = (*nodes_)[taken.slot].read(payload_);
      member.deadline = taken.deadline;
      see(member);
      node_bytes_ -= (*nodes_)[taken.slot].bytes(payload_);
      nodes_->erase(taken.slot);
    }
    limit -= due.size();
    if (index_->size() > 0) return nodes_->size();
  }
  index_.reset();
  for (Slot slot = nodes_->next(0); slot != kNoSlot && limit > 0; --limit) {
    nodes_->erase(slot);
    slot = nodes_->next(slot);
  }
  return nodes_->size();
}

std::size_t MemberTable::member_bytes(std::size_t name_size, std::size_t value_size,
                                      Payload payload) {
  return allocated_size(node_size(name_size, value_size, payload));
}

std::size_t MemberTable::average_member_bytes() const {
  return count() == 0 ? 0 : node_bytes_ / count();
}

std::size_t MemberTable::bytes() const {
  const std::size_t slots = nodes_->size() * sizeof(MemberNode);
  return sizeof(*this) + sizeof(*nodes_) + node_bytes_ + slots + table_.bytes() +
         deadline_count() * kIndexBytes + (order_ ? sizeof(*order_) + order_->bytes() : 0);
}

Member MemberTable::at(Slot slot) const {
  Member found = (*nodes_)[slot].read(payload_);
  found.deadline = deadline_at(slot);
  return found;
}

std::uint64_t MemberTable::hash_of(std::string_view name) const { return hash_bytes(name, seed_); }

Slot MemberTable::slot_of(std::string_view name, std::uint64_t hash) const {
  return table_.find(hash, [&](Slot slot) { return (*nodes_)[slot].name() == name; });
}

void MemberTable::schedule(Slot slot, Time deadline) {
  if (!index_) {
    if (deadline == kNever) return;
    index_ = std::make_unique<VolatileSet>();
    index_->reserve(nodes_->extent());
  }
  index_->schedule(slot, deadline);
  drop_empty_index();
}

void MemberTable::drop_empty_index() {
  if (index_ && index_->size() > 0) return;
  index_.reset();
  hidden_until_ = Time::min();  // nothing is hidden any more
}

// The order follows: a member that is hidden no longer comes back.
void MemberTable::change_deadline(Slot slot, Time deadline) {
  if (!order_) return schedule(slot, deadline);
  const bool was_ordered = is_ordered(deadline_at(slot));
  schedule(slot, deadline);
  const bool is_to_be = is_ordered(deadline);
  if (was_ordered && !is_to_be) erase_ordered(slot);
  if (!was_ordered && is_to_be) insert_ordered(slot);
}

const ScoreOrder& MemberTable::order(Time hidden_until) {
  if (!index_ || hidden_until == hidden_until_) return *order_;
  const bool hides = hidden_until > hidden_until_;
  // Those that are hidden already do not count: there may be many for a long time.
  if (hides && index_->count_due(hidden_until) - index_->count_due(hidden_until_) >
                   order_->size() / kManyPart) {
    hidden_until_ = hidden_until;
    order_->keep_if(
        [&](ScoreOrder::Entry entry) { return !is_due(deadline_at(entry.slot), hidden_until); });
    return *order_;
  }
  const Time from = std::min(hidden_until, hidden_until_);
  const Time to = std::max(hidden_until, hidden_until_);
  hidden_until_ = hidden_until;
  index_->visit(from + Millis(1), to + Millis(1), [&](Slot slot, Time) {
    if (hides) {
      erase_ordered(slot);
    } else {
      insert_ordered(slot);
    }
    return true;
  });
  return *order_;
}

void MemberTable::insert_ordered(Slot slot) {
  order_->insert({at(slot).score(), slot}, [this](Slot other) { return (*nodes_)[other].name(); });
}

void MemberTable::erase_ordered(Slot slot) {
  order_->erase({at(slot).score(), slot}, [this](Slot other) { return (*nodes_)[other].name(); });
}

// REQUIRES: the slot has no deadline.
void MemberTable::remove(Slot slot, std::uint64_t hash) {
  node_bytes_ -= (*nodes_)[slot].bytes(payload_);
  nodes_->erase(slot);
  table_.erase(hash, slot, [this](Slot other) { return hash_at(other); });
}

std::string MemberTable::check_invariants() const {
  const auto hash_of_slot = [this](Slot slot) { return hash_at(slot); };
  if (std::string wrong = table_.check_invariants(hash_of_slot); !wrong.empty()) return wrong;
  if (table_.size() != nodes_->size()) return "a table of another size than its nodes";
  std::size_t bytes = 0;
  std::size_t deadlines = 0;
  for (Slot slot = nodes_->next(0); slot != kNoSlot; slot = nodes_->next(slot + 1)) {
    const MemberNode& node = (*nodes_)[slot];
    if (slot_of(node.name(), hash_of(node.name())) != slot) return "a member that is not found";
    bytes += node.bytes(payload_);
    if (at(slot).deadline != kNever) ++deadlines;
  }
  if (bytes != node_bytes_) return "a wrong sum of bytes";
  if (deadlines != deadline_count()) return "a deadline without a member";
  if (index_ && index_->size() == 0) return "an index without a deadline";
  if (std::string wrong = check_order(); !wrong.empty()) return wrong;
  return index_ ? index_->check_invariants() : "";
}

std::string MemberTable::check_order() const {
  if (!order_) return "";
  const auto name_of = [this](Slot slot) { return (*nodes_)[slot].name(); };
  if (std::string wrong = order_->check_invariants(name_of); !wrong.empty()) return wrong;
  std::size_t ordered = 0;
  each([&](const Member& member) {
    ordered += is_ordered(member.deadline) ? 1 : 0;
    return true;
  });
  if (ordered != order_->size()) return "an order of another size than what is not hidden";
  std::string wrong;
  order_->visit(0, order_->size(), false, [&](ScoreOrder::Entry entry) {
    if (!nodes_->is_used(entry.slot) || at(entry.slot).score() != entry.score) {
      wrong = "an order with a wrong score";
    } else if (!is_ordered(deadline_at(entry.slot))) {
      wrong = "an order with a hidden member";
    }
    return wrong.empty();
  });
  return wrong;
}

}  // namespace mayfly
