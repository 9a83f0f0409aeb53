// SPDX-License-Identifier: Apache-2.0
// Groups of streams: random deliveries and acknowledgements, checked against std::map; consumers.

#include "keyspace/stream/stream_group.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "keyspace/stream/stream.h"
#include "mayfly/random.h"

namespace mayfly {
namespace stream_group_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }

struct Delivery {
  std::string consumer;
  Time delivered;
  std::uint64_t deliveries;

  bool operator==(const Delivery&) const = default;
};

struct Model {
  std::map<StreamId, Delivery> pending;
  std::set<std::string> consumers;

  std::vector<StreamId> of(const std::string& consumer) const {
    std::vector<StreamId> ids;
    for (const auto& [id, delivery] : pending) {
      if (delivery.consumer == consumer) ids.push_back(id);
    }
    return ids;
  }
};

void expect_same(const StreamGroup& group, const Model& model) {
  ASSERT_EQ(group.check_invariants(), "");
  ASSERT_EQ(group.pending().size(), model.pending.size());
  auto expected = model.pending.begin();
  for (const auto& [id, pending] : group.pending()) {
    ASSERT_EQ(id, expected->first);
    const Delivery found = {pending.consumer->name, pending.delivered, pending.deliveries};
    ASSERT_EQ(found, expected->second);
    ++expected;
  }
  ASSERT_EQ(group.consumers().size(), model.consumers.size());
  for (const auto& [name, consumer] : group.consumers()) {
    ASSERT_TRUE(model.consumers.contains(std::string(name)));
    const std::vector<StreamId> ids(consumer->pending.begin(), consumer->pending.end());
    ASSERT_EQ(ids, model.of(consumer->name));
  }
}

void change(Random& random, StreamGroup& group, Model& model) {
  const StreamId id = {random.below(300), random.below(4)};
  const std::string name(1 + random.below(3) * 20, static_cast<char>('a' + random.below(3)));
  const std::uint64_t kind = random.below(100);
  if (kind < 1) {
    const std::size_t count = model.of(name).size();
    ASSERT_EQ(group.erase_consumer(name), count);
    std::erase_if(model.pending, [&](const auto& one) { return one.second.consumer == name; });
    model.consumers.erase(name);
  } else if (kind < 10) {
    const bool is_new = model.consumers.insert(name).second;
    ASSERT_EQ(group.make_consumer(name, at(5)) != nullptr, is_new);
  } else if (kind < 65) {
    StreamConsumer* const consumer = group.consumer(name);
    ASSERT_EQ(consumer != nullptr, model.consumers.contains(name));
    if (consumer == nullptr) return;
    const Time now = at(static_cast<std::int64_t>(random.below(1'000)));
    const std::uint64_t deliveries = random.below(9);
    group.deliver(id, *consumer, now, deliveries);
    model.pending[id] = {name, now, deliveries};
  } else if (kind < 95) {
    ASSERT_EQ(group.acknowledge(id), model.pending.erase(id) > 0);
  } else if (StreamPending* const pending = group.find_pending(id)) {
    ++pending->deliveries;
    ++model.pending.at(id).deliveries;
  } else {
    ASSERT_FALSE(model.pending.contains(id));
  }
}

TEST(StreamGroupTest, BehavesAsAMapOfDeliveries) {
  Random random(1);
  Stream stream;
  stream.make_group("g", {7, 7}, 5);
  Model model;
  std::unique_ptr<Stream> owner;
  StreamGroup* group = stream.group("g");
  for (int step = 0; step < 20'000; ++step) {
    ASSERT_NO_FATAL_FAILURE(change(random, *group, model)) << step;
    if (step % 1'000 == 0) {
      owner = (owner == nullptr ? stream : *owner).clone();
      group = owner->group("g");
      ASSERT_EQ(group->last_id, (StreamId{7, 7}));
      ASSERT_EQ(group->entries_read, 5u);
    }
    if (step % 100 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_same(*group, model)) << step;
    }
  }
}

TEST(StreamGroupTest, ACopyKeepsTheTimesOfConsumers) {
  StreamGroup group;
  group.make_consumer("a", at(1))->active = at(2);
  group.make_consumer("b", at(3));
  const std::unique_ptr<StreamGroup> copy = group.clone();
  EXPECT_EQ(copy->consumer("a")->seen, at(1));
  EXPECT_EQ(copy->consumer("a")->active, at(2));
  EXPECT_EQ(copy->consumer("b")->seen, at(3));
  EXPECT_EQ(copy->consumer("b")->active, std::nullopt);
  EXPECT_EQ(copy->consumer("c"), nullptr);
}

TEST(StreamGroupTest, GroupsHaveNames) {
  Stream stream;
  StreamGroup* const group = stream.make_group("g", {1, 0}, std::nullopt);
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(stream.group("g"), group);
  EXPECT_EQ(stream.make_group("g", {2, 0}, std::nullopt), nullptr);
  EXPECT_EQ(group->last_id, (StreamId{1, 0}));
  EXPECT_EQ(stream.group("h"), nullptr);
  EXPECT_FALSE(stream.erase_group("h"));
  EXPECT_TRUE(stream.erase_group("g"));
  EXPECT_EQ(stream.group("g"), nullptr);
}

TEST(StreamGroupTest, APendingEntryTakesLessThan64Bytes) {
  StreamGroup group;
  StreamConsumer& consumer = *group.make_consumer("a", at(0));
  for (std::uint64_t i = 0; i < 50'000; ++i) group.deliver({i, 0}, consumer, at(0), 1);
  EXPECT_LT(group.bytes(), 50'000 * 64u);
  EXPECT_GT(group.bytes(), 50'000 * 56u);
}

}  // namespace stream_group_test
}  // namespace mayfly
