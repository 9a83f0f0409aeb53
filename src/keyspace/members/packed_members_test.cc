// SPDX-License-Identifier: Apache-2.0
// Packed members: their layout in bytes, the forms and when they change, and that damaged bytes are
// refused; then random operations with each kind of payload, checked against a plain map.

#include "keyspace/members/packed_members.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>

#include "keyspace/members/payload_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace packed_members_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }
constexpr std::int64_t kFar = 0xFFFFFFFE;  // the farthest from the base with four bytes

// An owner of a packed hash that gives it exactly the room it asks for, so that a sanitizer sees
// the first byte beyond.
class Owner {
 public:
  explicit Owner(Payload payload = Payload::value)
      : bytes_(new char[kPackedEmptySize]), size_(packed_create(bytes_.get(), payload)) {}

  PackedView view() const { return PackedView(blob()); }
  std::string_view blob() const { return {bytes_.get(), size_}; }

  void put(std::string_view name, std::string_view value, Time deadline = kNever) {
    const PackedPut plan = packed_plan_put(blob(), name, value, deadline);
    make_room(plan.size);
    size_ = packed_apply(bytes_.get(), size_, plan, name, value);
    EXPECT_EQ(size_, plan.size);
    make_room(size_);
  }

  void set_deadline(std::string_view name, Time deadline) {
    const PackedPut plan = packed_plan_deadline(blob(), name, deadline);
    make_room(plan.size);
    size_ = packed_apply_deadline(bytes_.get(), size_, plan);
    EXPECT_EQ(size_, plan.size);
    make_room(size_);
  }

  void erase(std::string_view field) {
    const std::size_t before = size_;
    size_ = packed_erase(bytes_.get(), size_, field);
    EXPECT_LT(size_, before);
    make_room(size_);
  }

  std::vector<std::string> take_due(Time now, std::size_t limit, std::vector<Time>* deadlines) {
    std::vector<std::string> fields;
    size_ = packed_take_due(bytes_.get(), size_, now, limit, fields, deadlines);
    make_room(size_);
    return fields;
  }

 private:
  void make_room(std::size_t size) {
    std::unique_ptr<char[]> bytes(new char[std::max(size_, size)]);
    std::copy_n(bytes_.get(), size_, bytes.get());
    bytes_ = std::move(bytes);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

class PackedMembersTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(PackedView(owner_.blob()).check_invariants(), ""); }

  // What is stored, as `field=value` or `field=value@deadline` after at(0), in order.
  std::string all() const {
    std::string text;
    owner_.view().each([&](const Member& field) {
      if (!text.empty()) text += ' ';
      text.append(field.name).append("=").append(field.value);
      if (field.deadline != kNever) {
        text.append("@").append(std::to_string((field.deadline - at(0)).count()));
      }
      return true;
    });
    return text;
  }

  std::size_t size() const { return owner_.blob().size(); }
  std::size_t width() const { return owner_.view().form().width; }

  Owner owner_;
};

TEST_F(PackedMembersTest, IsFourBytesWhenItIsEmpty) {
  EXPECT_EQ(size(), kPackedEmptySize);
  EXPECT_EQ(owner_.view().count(), 0u);
  EXPECT_EQ(owner_.view().earliest(), kNever);
  EXPECT_FALSE(owner_.view().find(""));
}

TEST_F(PackedMembersTest, TakesOneByteAFieldAndFourMoreForADeadline) {
  const std::string text(13, 'x');
  owner_.put(text, text);
  EXPECT_EQ(size(), 4u + 27);
  owner_.put("another field", text);
  EXPECT_EQ(size(), 4u + 27 + 27);
  owner_.set_deadline(text, at(5));
  EXPECT_EQ(size(), 12u + 31 + 31);
}

// Names of another size make each entry one byte larger, for good.
TEST_F(PackedMembersTest, HasTheSizeOfNamesOnceIfItIsTheSame) {
  owner_.put("ab", "1", at(9));
  owner_.put("cd", "2");
  EXPECT_EQ(owner_.view().form().name_size, 2u);
  const std::size_t before = size();
  owner_.put("efg", "3");
  EXPECT_EQ(owner_.view().form().name_size, 0u);
  EXPECT_EQ(size(), before + 2 + (1 + 1 + 4 + 3 + 1));
  EXPECT_EQ(all(), "ab=1@9 cd=2 efg=3");
  owner_.erase("efg");
  EXPECT_EQ(owner_.view().form().name_size, 0u);
  owner_.erase("ab");
  owner_.erase("cd");
  owner_.put(std::string(128, 'x'), "4");
  EXPECT_EQ(owner_.view().form().name_size, 0u);
  owner_.erase(std::string(128, 'x'));
  owner_.put(std::string(127, 'x'), "4");
  EXPECT_EQ(owner_.view().form().name_size, 127u);
}

TEST_F(PackedMembersTest, IsLaidOutAsItsHeaderSays) {
  owner_.put("ab", "xyz");
  EXPECT_EQ(owner_.blob(), std::string_view("\1\0\0\2\3abxyz", 10));
  owner_.put("", "", Time(Millis(0x0102)));
  EXPECT_EQ(owner_.blob(), std::string_view("\2\0\x10\0\2\1\0\0\0\0\0\0"
                                            "\2\3\xFF\xFF\xFF\xFF"
                                            "abxyz\0\0\0\0\0\0",
                                            29));
  owner_.set_deadline("ab", Time(Millis(0x0105)));
  EXPECT_EQ(owner_.blob().substr(12, 11), std::string_view("\2\3\3\0\0\0abxyz", 11));
}

// A member of a set takes no byte besides its name, one of a sorted set eight.
TEST(PackedPayloads, TakeNoMoreThanTheyNeed) {
  Owner set(Payload::none);
  set.put("ab", "");
  EXPECT_EQ(set.blob(), std::string_view("\1\0\1\2ab", 6));
  Owner scores(Payload::score);
  scores.put("ab", ScoreBytes(1.5).view());
  EXPECT_EQ(scores.blob().size(), kPackedEmptySize + 2 + 8);
  EXPECT_EQ(scores.view().find("ab")->score(), 1.5);
}

TEST_F(PackedMembersTest, KeepsAnyBytesOfAnySize) {
  const std::string zeros(3, '\0');
  const std::string large(100'000, 'l');
  owner_.put("", "empty");
  owner_.put(zeros, "");
  owner_.put(large, std::string(128, 'v'));
  owner_.put("large", large, at(1));
  EXPECT_EQ(owner_.view().find("")->value, "empty");
  EXPECT_EQ(owner_.view().find(zeros)->value, "");
  EXPECT_EQ(owner_.view().find(large)->value, std::string(128, 'v'));
  EXPECT_EQ(owner_.view().find("large")->value, large);
  EXPECT_EQ(owner_.view().at(2).name, large);
}

TEST_F(PackedMembersTest, ReplacesValueAndDeadlineInTheirPlace) {
  owner_.put("a", "1", at(10));
  owner_.put("b", "2", at(20));
  owner_.put("c", "3");
  owner_.put("b", "a longer one", at(5));
  EXPECT_EQ(all(), "a=1@10 b=a longer one@5 c=3");
  owner_.put("b", "", at(7));
  EXPECT_EQ(all(), "a=1@10 b=@7 c=3");
  owner_.put("b", "no deadline");
  EXPECT_EQ(all(), "a=1@10 b=no deadline c=3");
}

// The size of the value then takes a byte more or less.
TEST_F(PackedMembersTest, ReplacesAValueAcrossTheBordersOfItsSize) {
  const std::size_t sizes[] = {0, 127, 128, 16'383, 16'384, 127, 16'384, 128, 0};
  owner_.put("before", "1", at(1));
  owner_.put("it", "", at(2));
  owner_.put("after", "3", at(3));
  for (const std::size_t value_size : sizes) {
    const std::string value(value_size, 'v');
    owner_.put("it", value, at(2));
    ASSERT_EQ(PackedView(owner_.blob()).check_invariants(), "");
    ASSERT_EQ(all(), "before=1@1 it=" + value + "@2 after=3@3");
  }
}

// The plan tells what a caller wants to know before it makes the change.
TEST_F(PackedMembersTest, PlansWithoutChanging) {
  owner_.put("a", "1", at(10));
  const PackedPut change = packed_plan_put(owner_.blob(), "a", "22", at(4));
  EXPECT_FALSE(change.is_new);
  EXPECT_EQ(change.old_deadline, at(10));
  EXPECT_EQ(change.size, size() + 1);
  EXPECT_TRUE(packed_plan_put(owner_.blob(), "b", "22", kNever).is_new);
  EXPECT_EQ(all(), "a=1@10");
}

TEST_F(PackedMembersTest, KnowsItsEarliestDeadlineExactly) {
  owner_.put("a", "1", at(10));
  EXPECT_EQ(owner_.view().earliest(), at(10));
  owner_.put("b", "2", at(5));
  EXPECT_EQ(owner_.view().earliest(), at(5));
  owner_.put("c", "3", at(7));
  EXPECT_EQ(owner_.view().earliest(), at(5));
  owner_.set_deadline("b", at(30));
  EXPECT_EQ(owner_.view().earliest(), at(7));
  owner_.erase("c");
  EXPECT_EQ(owner_.view().earliest(), at(10));
  EXPECT_EQ(all(), "a=1@10 b=2@30");
}

TEST_F(PackedMembersTest, RevertsToNoDeadlinesWithTheLastOne) {
  owner_.put("a", "1");
  const std::size_t before = size();
  owner_.set_deadline("a", at(10));
  EXPECT_TRUE(owner_.view().has_deadlines());
  owner_.set_deadline("a", kNever);
  EXPECT_FALSE(owner_.view().has_deadlines());
  EXPECT_EQ(size(), before);

  owner_.put("b", "2", at(10));
  owner_.erase("b");
  EXPECT_EQ(size(), before);
  owner_.put("b", "2", at(10));
  owner_.take_due(at(10), 1, nullptr);
  EXPECT_EQ(size(), before);
  owner_.put("a", "3", at(1));
  owner_.put("a", "4");
  EXPECT_EQ(size(), before);
}

TEST_F(PackedMembersTest, TakesEightBytesADeadlineOnlyWhileTheyAreFarApart) {
  owner_.put("a", "1", at(0));
  owner_.put("b", "2", at(kFar));
  EXPECT_EQ(width(), 4u);
  owner_.put("c", "3");
  owner_.set_deadline("b", at(kFar + 1));
  EXPECT_EQ(width(), 8u);
  EXPECT_EQ(all(), "a=1@0 b=2@4294967295 c=3");

  owner_.set_deadline("a", at(1));
  EXPECT_EQ(width(), 4u);
  owner_.put("d", "4", Time::min());
  EXPECT_EQ(width(), 8u);
  owner_.put("e", "5", Time::max() - Millis(1));
  EXPECT_EQ(owner_.view().earliest(), Time::min());
  EXPECT_EQ(owner_.view().find("e")->deadline, Time::max() - Millis(1));
  owner_.erase("e");
  EXPECT_EQ(width(), 8u);
  owner_.take_due(at(0), 1, nullptr);
  EXPECT_EQ(width(), 4u);
  EXPECT_EQ(all(), "a=1@1 b=2@4294967295 c=3");
}

// Their distance is one less than what 64 bits can count: it must not pass for a small one.
TEST_F(PackedMembersTest, TellsTheFirstMomentFromTheLast) {
  owner_.put("last", "", Time::max() - Millis(1));
  owner_.put("first", "", Time::min());
  EXPECT_EQ(width(), 8u);
  EXPECT_EQ(owner_.view().earliest(), Time::min());
  EXPECT_EQ(owner_.view().find("last")->deadline, Time::max() - Millis(1));
}

TEST_F(PackedMembersTest, TakesWhatIsDueAndNothingElse) {
  owner_.put("a", "1", at(10));
  owner_.put("b", "2");
  owner_.put("c", "3", at(11));
  owner_.put("d", "4", at(9));
  EXPECT_EQ(owner_.view().count_due(at(8)), 0u);
  EXPECT_EQ(owner_.view().count_due(at(10)), 2u);

  std::vector<Time> deadlines;
  EXPECT_TRUE(owner_.take_due(at(8), 10, &deadlines).empty());
  EXPECT_EQ(owner_.take_due(at(10), 10, &deadlines), (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(deadlines, (std::vector<Time>{at(10), at(9)}));
  EXPECT_EQ(all(), "b=2 c=3@11");
}

TEST_F(PackedMembersTest, TakesNoMoreThanTheLimit) {
  for (const char* field : {"a", "b", "c"}) owner_.put(field, "1", at(10));
  EXPECT_EQ(owner_.take_due(at(10), 2, nullptr).size(), 2u);
  EXPECT_EQ(owner_.view().earliest(), at(10));
  EXPECT_EQ(owner_.take_due(at(10), 0, nullptr).size(), 0u);
  EXPECT_EQ(owner_.take_due(at(10), 2, nullptr).size(), 1u);
  EXPECT_EQ(owner_.view().count(), 0u);
}

TEST_F(PackedMembersTest, StopsWhenToldTo) {
  for (const char* field : {"a", "b", "c"}) owner_.put(field, "1");
  int seen = 0;
  owner_.view().each([&](const Member&) { return ++seen < 2; });
  EXPECT_EQ(seen, 2);
}

TEST(PackedCheck, RefusesWhatIsNotValid) {
  const std::vector<std::string> unsound = {
      "",
      std::string("\0\0\0", 3),
      std::string("\0\0\4\0", 4),                                     // a width of 1
      std::string("\0\0\3\0", 4),                                     // an unknown payload
      std::string("\0\0\0\x80", 4),                                   // too long names
      std::string("\1\0\1\3ab", 6),                                   // a name that is cut off
      std::string("\2\0\2\1b\0\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0", 22),  // scores out of order
      std::string("\0\0\x10\0\0\0\0\0", 8),                           // half a base
      std::string("\0\0\0\0\0", 5),                                   // a byte too many
      std::string("\1\0\0\0", 4),                                     // an entry too few
      std::string("\1\0\0\0\1\1a", 7),                                // a value that is cut off
      std::string("\1\0\0\0\x81", 5),                                 // half a size
      std::string("\1\0\0\0\x81\0\0a", 8),                            // a size in two bytes for one
      std::string("\1\0\0\0\xFF\xFF\xFF\xFF\x1F\0", 10),              // more than 4 GiB
      std::string("\1\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\0", 11),          // far more
      std::string("\2\0\0\0\1\0a\1\0a", 10),                          // a field twice
      std::string("\0\0\x10\0\0\0\0\0\0\0\0\0", 12),                  // a base, but no deadline
      std::string("\1\0\x10\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 18),      // not the least
      std::string("\1\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22),  // four bytes would do
      std::string("\1\0\x10\0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\x7F\0\0\1\0\0\0", 18),  // kNever
  };
  for (std::size_t i = 0; i < unsound.size(); ++i)
    EXPECT_NE(PackedView(unsound[i]).check_invariants(), "") << i;
  EXPECT_EQ(
      PackedView(std::string("\1\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18)).check_invariants(), "");
}

// Any one byte of a sound hash may be changed, or its end cut off; then the check says so, or the
// hash can still be read.
TEST(PackedCheck, MakesAnyBytesSafeToRead) {
  Owner owner;
  for (int i = 0; i < 20; ++i) owner.put(std::to_string(i), std::string(9, 'v'), at(i));
  Random random(7);
  int sound = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(owner.blob());
    bytes[random.below(random.below(2) == 0 ? 20 : bytes.size())] =
        static_cast<char>(random.next());
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    const auto copy = std::make_unique<char[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    if (!PackedView({copy.get(), bytes.size()}).check_invariants().empty()) continue;
    ++sound;
    std::size_t seen = 0;
    const PackedView view({copy.get(), bytes.size()});
    view.each([&](const Member& field) { return seen += field.name.size(), true; });
    ASSERT_FALSE(view.find("not there"));
  }
  EXPECT_GT(sound, 100);
}

struct Content {
  std::string value;
  Time deadline;
};
using Model = std::map<std::string, Content>;

void check(const Owner& owner, const Model& model, Time now) {
  const PackedView view = owner.view();
  RC_ASSERT(PackedView(owner.blob()).check_invariants() == "");
  RC_ASSERT(view.count() == model.size());
  Time earliest = kNever;
  std::size_t due = 0;
  for (const auto& [field, content] : model) {
    const std::optional<Member> found = view.find(field);
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->value == content.value);
    RC_ASSERT(found->deadline == content.deadline);
    earliest = std::min(earliest, content.deadline);
    if (is_due(content.deadline, now)) ++due;
  }
  RC_ASSERT(view.earliest() == earliest);
  RC_ASSERT(view.has_deadlines() == (earliest != kNever));
  RC_ASSERT(view.count_due(now) == due);
}

// Mostly near one another, now and then too far apart for four bytes, and often none at all.
Time any_deadline(Random& random) {
  const auto near = static_cast<std::int64_t>(random.below(50));
  switch (random.below(12)) {
    case 0:
      return at(kFar + near - 25);
    case 1:
      return at(-kFar + near);
    case 2:
      return Time(Millis(near));
    case 3:
    case 4:
    case 5:
      return kNever;
    default:
      return at(near);
  }
}

class PackedMembersModel : public testing::TestWithParam<Payload> {};

TEST_P(PackedMembersModel, AgreesWithAPlainMap) {
  EXPECT_TRUE(rc::check([] {
    Owner owner(GetParam());
    Model model;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto fields = *rc::gen::element<std::uint64_t>(2, 8, 30);
    const int steps = *rc::gen::inRange(1, 150);
    for (int step = 0; step < steps; ++step) {
      const std::string field(random.below(3) * 63, 'f');
      const std::string name = field + std::to_string(random.below(fields));
      const std::string value = any_value(random, GetParam());
      const Time deadline = any_deadline(random);
      const Time now = at(static_cast<std::int64_t>(random.below(30)));
      const std::uint64_t choice = random.below(10);
      if (choice < 5) {
        owner.put(name, value, deadline);
        model[name] = {value, deadline};
      } else if (choice < 6) {
        const std::size_t limit = random.below(4);
        std::vector<Time> deadlines;
        const std::vector<std::string> taken = owner.take_due(now, limit, &deadlines);
        RC_ASSERT(taken.size() <= limit && taken.size() == deadlines.size());
        for (std::size_t i = 0; i < taken.size(); ++i) {
          RC_ASSERT(model.at(taken[i]).deadline == deadlines[i]);
          RC_ASSERT(is_due(deadlines[i], now));
          model.erase(taken[i]);
        }
        RC_ASSERT(taken.size() == limit || owner.view().count_due(now) == 0);
      } else if (!model.contains(name)) {
        RC_ASSERT(!owner.view().find(name));
      } else if (choice < 8) {
        owner.set_deadline(name, deadline);
        model[name].deadline = deadline;
      } else {
        owner.erase(name);
        model.erase(name);
      }
      check(owner, model, now);
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Payloads, PackedMembersModel, kAllPayloads, payload_name);

}  // namespace packed_members_test
}  // namespace mayfly
