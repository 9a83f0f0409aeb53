// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stream/stream_group.h"

#include <cassert>

namespace mayfly {
namespace {

constexpr std::size_t kConsumerLinks =
    4 * sizeof(void*);  // of a node of std::map, beside its value

std::size_t consumer_name_bytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 1;
}

}  // namespace

StreamConsumer* StreamGroup::consumer(std::string_view name) {
  const auto found = consumers_.find(name);
  return found == consumers_.end() ? nullptr : found->second.get();
}

StreamConsumer* StreamGroup::make_consumer(std::string_view name, Time now) {
  if (consumers_.find(name) != consumers_.end()) return nullptr;
  auto made = std::make_unique<StreamConsumer>();
  made->name = name;
  made->seen = now;
  const std::string_view kept = made->name;
  return consumers_.emplace(kept, std::move(made)).first->second.get();
}

std::size_t StreamGroup::erase_consumer(std::string_view name) {
  const auto found = consumers_.find(name);
  if (found == consumers_.end()) return 0;
  const std::size_t count = found->second->pending.size();
  for (const StreamId id : found->second->pending) pending_.erase(id);
  consumers_.erase(found);
  return count;
}

StreamPending* StreamGroup::find_pending(StreamId id) {
  PendingEntry* const found = pending_.find(id);
  return found == nullptr ? nullptr : &found->second;
}

void StreamGroup::deliver(StreamId id, StreamConsumer& consumer, Time delivered,
                          std::uint64_t deliveries) {
  StreamPending& pending = pending_.insert({id, {}}).second;
  if (pending.consumer != &consumer) {
    if (pending.consumer != nullptr) pending.consumer->pending.erase(id);
    consumer.pending.insert(id);
  }
  pending = {&consumer, delivered, deliveries};
}

bool StreamGroup::acknowledge(StreamId id) {
  const StreamPending* const found = find_pending(id);
  if (found == nullptr) return false;
  found->consumer->pending.erase(id);
  return pending_.erase(id);
}

std::unique_ptr<StreamGroup> StreamGroup::clone() const {
  auto copy = std::make_unique<StreamGroup>();
  copy->last_id = last_id;
  copy->entries_read = entries_read;
  for (const auto& [name, consumer] : consumers_) {
    copy->make_consumer(name, consumer->seen)->active = consumer->active;
  }
  for (const auto& [id, pending] : pending_) {
    copy->deliver(id, *copy->consumer(pending.consumer->name), pending.delivered,
                  pending.deliveries);
  }
  return copy;
}

std::size_t StreamGroup::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !consumers_.empty()) {
    const auto consumer = consumers_.begin();
    freed += consumer->second->pending.drop_some(limit - freed);
    if (!consumer->second->pending.empty()) return freed;
    consumers_.erase(consumer);
    ++freed;
  }
  return freed < limit ? freed + pending_.drop_some(limit - freed) : freed;
}

std::size_t StreamGroup::weight() const {
  std::size_t weight = pending_.size() + consumers_.size();
  for (const auto& [name, consumer] : consumers_) weight += consumer->pending.size();
  return weight;
}

std::size_t StreamGroup::bytes() const {
  std::size_t bytes = sizeof *this + pending_.bytes();
  for (const auto& [name, consumer] : consumers_) {
    bytes += kConsumerLinks + sizeof(Consumers::value_type) + sizeof(StreamConsumer);
    bytes += consumer_name_bytes(consumer->name) + consumer->pending.bytes();
  }
  return bytes;
}

std::string StreamGroup::check_invariants() const {
  std::string wrong = pending_.check_invariants();
  std::size_t held = 0;
  for (const auto& [name, consumer] : consumers_) {
    if (wrong.empty()) wrong = consumer->pending.check_invariants();
    if (name.data() != consumer->name.data()) wrong = "a consumer under another name";
    held += consumer->pending.size();
    for (const StreamId id : consumer->pending) {
      const PendingEntry* const found = pending_.find(id);
      if (found == nullptr) return "a consumer has an entry that is not pending";
      if (found->second.consumer != consumer.get()) return "two consumers have a pending entry";
    }
  }
  if (held != pending_.size()) return "a pending entry that no consumer has";
  return wrong;
}

}  // namespace mayfly
