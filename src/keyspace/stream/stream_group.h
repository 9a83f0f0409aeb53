// SPDX-License-Identifier: Apache-2.0
// StreamGroup: a consumer group of a stream: what was delivered last, its consumers, and the
// pending entries: those that were delivered to a consumer and are not acknowledged yet.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/stream/id_order.h"
#include "keyspace/stream/stream_id.h"
#include "mayfly/time.h"

namespace mayfly {

struct StreamConsumer {
  std::string name;
  Time seen{};                   // when it last asked
  std::optional<Time> active{};  // when it last got something; never: nothing
  IdOrder<StreamId> pending;     // what it has to acknowledge
};

struct StreamPending {
  StreamConsumer* consumer = nullptr;
  Time delivered{};  // last time
  std::uint64_t deliveries = 1;
};

class StreamGroup {
 public:
  // The names are those in the consumers.
  using Consumers = std::map<std::string_view, std::unique_ptr<StreamConsumer>, std::less<>>;
  struct PendingEntry {
    StreamId first;
    StreamPending second;
  };
  using Pending = IdOrder<PendingEntry>;

  StreamId last_id;                           // delivered last
  std::optional<std::uint64_t> entries_read;  // nothing: not known

  const Consumers& consumers() const { return consumers_; }
  StreamConsumer* consumer(std::string_view name);                 // null if there is none
  StreamConsumer* make_consumer(std::string_view name, Time now);  // null if there is one
  // Its pending entries go, too; returns how many.
  std::size_t erase_consumer(std::string_view name);

  const Pending& pending() const { return pending_; }
  // Null if it is not pending. Valid until an entry becomes pending or is no longer so.
  StreamPending* find_pending(StreamId id);
  // Gives the entry to a consumer: it becomes pending, or changes hands. Sets delivered and
  // deliveries.
  void deliver(StreamId id, StreamConsumer& consumer, Time delivered, std::uint64_t deliveries);
  bool acknowledge(StreamId id);  // whether it was pending

  std::unique_ptr<StreamGroup> clone() const;

  // Frees about so many pending entries and consumers, the group is of no other use then; returns
  // how many.
  std::size_t free_some(std::size_t limit);
  std::size_t weight() const;  // what there is to free: pending entries twice, and consumers

  std::size_t bytes() const;  // that it has allocated, itself included
  std::string check_invariants() const;

 private:
  Consumers consumers_;
  Pending pending_;
};

}  // namespace mayfly
