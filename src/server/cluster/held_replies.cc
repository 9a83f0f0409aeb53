// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/held_replies.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::uint64_t HeldReplies::safe() const {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (machine == nullptr || !machine->is_leading() || !machine->has_active()) return kAll;
  return machine->safe_offset();
}

// Up to where the log must be safe before the client may see the reply.
std::uint64_t HeldReplies::needed(const Client& client, const RequestSlot& slot,
                                  std::uint64_t begin) {
  const std::uint64_t end = parts_.replication.stream().log().end();
  if (written_.empty()) written_.assign(kHashSlots, written_before_);
  const bool has_written = end != begin;
  const bool is_script = (client.info.last->flags & flag::may_replicate) != 0;
  const std::uint64_t evicted = parts_.keyspace.stats().evicted_keys;
  const bool has_evicted = std::exchange(evicted_, evicted) != evicted;
  if (begin > seen_end_) elsewhere_ = begin;
  if (has_evicted || (has_written && is_script)) elsewhere_ = end;
  seen_end_ = end;
  if (slot.kind == RequestSlot::one) {
    if (has_written) written_[slot.slot] = end;
    return std::max(written_[slot.slot], elsewhere_);
  }
  const bool sees_data =
      is_script || (client.info.last->flags & (flag::write | flag::readonly)) != 0;
  return has_written || sees_data ? end : 0;
}

void HeldReplies::add(Client& client, const RequestSlot& slot, std::size_t start,
                      std::uint64_t begin) {
  const std::uint64_t offset = needed(client, slot, begin);
  const std::size_t size = client.output().size();
  if (size <= start) return;
  const auto found = held_.find(client.id());
  const bool is_behind = found != held_.end();
  if (!is_behind && offset <= safe()) return;
  const std::uint64_t end = client.link().sent() + client.link().pending();
  if (!is_behind) {
    const std::uint64_t from = end - (size - start);
    held_[client.id()] = {{{end, offset}}, from};
    return client.link().hold_output(from);
  }
  Piece& last = found->second.pieces.back();
  if (offset <= last.offset) {
    last.end = end;
  } else {
    found->second.pieces.push_back({end, offset});
  }
}

void HeldReplies::add_answer(Link& link, std::uint64_t from) {
  const std::uint64_t end = parts_.replication.stream().log().end();
  if (end <= safe()) return;
  answers_[&link] = end;
  link.hold_output(from);
}

void HeldReplies::release() {
  if (held_.empty() && answers_.empty()) return;
  const std::uint64_t safe = this->safe();
  std::erase_if(answers_, [safe](const auto& answer) {
    if (answer.second > safe) return false;
    answer.first->hold_output(Link::kNoHold);
    return true;
  });
  for (auto held = held_.begin(); held != held_.end();) {
    std::vector<Piece>& pieces = held->second.pieces;
    const auto kept =
        std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.offset > safe; });
    Client* const client = parts_.clients.find(held->first);
    if (client == nullptr || kept == pieces.end()) {
      if (client != nullptr) client->link().hold_output(Link::kNoHold);
      held = held_.erase(held);
      continue;
    }
    if (kept != pieces.begin()) {
      held->second.begin = std::prev(kept)->end;
      pieces.erase(pieces.begin(), kept);
      client->link().hold_output(held->second.begin);
    }
    ++held;
  }
}

void HeldReplies::begin() {
  written_before_ = parts_.replication.stream().log().end();
  written_.clear();
  seen_end_ = written_before_;
  elsewhere_ = 0;
}

void HeldReplies::drop() {
  for (const auto& [id, held] : held_) {
    if (Client* const client = parts_.clients.find(id)) {
      client->link().close_now("this server may not serve any more");
    }
  }
  held_.clear();
  for (const auto& [link, offset] : answers_) {
    link->close_now("this server may not serve any more");
  }
  answers_.clear();
}

}  // namespace mayfly
