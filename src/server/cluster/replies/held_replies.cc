// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/replies/held_replies.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/monitoring/memory.h"
#include "server/replication/replication.h"
#include "server/transactions/watches.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::size_t HeldReplies::Held::memory() const {
  constexpr std::size_t kLinks = 32;  // of a node of the tree
  return allocated_for(kLinks + sizeof(std::pair<const std::uint64_t, Held>)) +
         allocated_for(pieces.capacity() * sizeof(Piece));
}

std::uint64_t HeldReplies::safe() const {
  if (!parts_.cluster.is_leading()) return kAll;
  const ShardMachine& machine = *parts_.cluster.node().machine();
  return machine.has_active() ? machine.safe_offset() : kAll;
}

void HeldReplies::waits(const Client& client, const Command& command, Words words) {
  waits_[client.id()] = WrittenSlots::slots_of(command, words);
}

void HeldReplies::reads_of_wait(const Client& client) {
  const auto found = waits_.find(client.id());
  if (found == waits_.end()) return;
  for (const HashSlot slot : found->second) {
    seen_.offset = std::max(seen_.offset, written_.needed_by(slot));
  }
}

void HeldReplies::forget(const Client& client) {
  held_.erase(client.id());
  waits_.erase(client.id());
}

// EXEC does nothing if a watched key was changed: a null reply.
void HeldReplies::reads(Client& client, const Command& command, Words words) {
  seen_.offset = std::max(seen_.offset, written_.needed_by(command, words));
  if ((command.flags & flag::runs_queue) == 0 || client.transaction.watched_keys == 0) return;
  parts_.watches.each_key(client, [this](std::string_view key) {
    seen_.offset = std::max(seen_.offset, written_.needed_by(hash_slot(key)));
  });
}

void HeldReplies::add(Client& client, std::size_t start) {
  const bool has_written = written_.count() != seen_.writes;
  const std::uint64_t end_of_log = parts_.replication.stream().log().end();
  const std::uint64_t offset = has_written ? end_of_log : seen_.offset;
  const std::size_t size = client.output().size();
  if (size <= start) return;
  const auto found = held_.find(client.id());
  const bool is_behind = found != held_.end();
  if (!is_behind && offset <= safe()) return;
  const std::uint64_t end = client.link().sent() + client.link().pending();
  if (!is_behind) {
    const std::uint64_t from = end - (size - start);
    Held& held = held_[client.id()];
    held = {{{end, offset}}, from};
    client.held_bytes = held.memory();
    return client.link().hold_output(from);
  }
  Piece& last = found->second.pieces.back();
  if (offset <= last.offset) {
    last.end = end;
  } else {
    found->second.pieces.push_back({end, offset});
    client.held_bytes = found->second.memory();
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
  if (!parts_.cluster.is_leading()) return drop();  // the successor may lack writes that they show
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
      if (client != nullptr) {
        client->link().hold_output(Link::kNoHold);
        client->held_bytes = 0;
      }
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
  written_.begin();
  seen_ = {0, written_.count()};  // of the request that has switched it on
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
