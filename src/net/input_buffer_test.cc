// SPDX-License-Identifier: Apache-2.0
// The buffer keeps the bytes, in whatever pieces they come and go, and little memory.

#include "net/input_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mayfly {
namespace input_buffer_test {

class InputBufferTest : public testing::Test {
 protected:
  // As a transport does: reads what fits, lets the peer consume, and lends the scratch to others.
  void receive(std::string_view bytes, std::size_t consumed) {
    while (!bytes.empty()) {
      const auto room = buffer_.room(scratch_);
      ASSERT_FALSE(room.empty());
      const std::size_t some = std::min(room.size(), bytes.size());
      std::copy_n(bytes.data(), some, room.data());
      buffer_.added(some);
      bytes.remove_prefix(some);
      if (bytes.empty()) buffer_.consume(consumed);
      buffer_.keep_rest();
      std::fill(scratch_.begin(), scratch_.end(), '#');
    }
  }

  std::vector<char> scratch_ = std::vector<char>(64 * 1024);
  InputBuffer buffer_;
};

TEST_F(InputBufferTest, OwnsNothingWhenAllIsConsumed) {
  receive("hello", 5);
  EXPECT_TRUE(buffer_.empty());
  EXPECT_EQ(buffer_.capacity(), 0u);
}

TEST_F(InputBufferTest, KeepsWhatIsLeft) {
  receive("hello", 2);
  EXPECT_EQ(buffer_.view(), "llo");
  receive(" world", 0);
  EXPECT_EQ(buffer_.view(), "llo world");
  EXPECT_LT(buffer_.capacity(), 100u);
}

TEST_F(InputBufferTest, GrowsTowardsWhatIsWantedAndNoFurther) {
  buffer_.want(std::size_t{512} << 20);
  receive("little", 0);
  EXPECT_LE(buffer_.capacity(), 64u * 1024);
  buffer_.want(1'000'000);
  receive(std::string(1'000'000 - 6, 'x'), 0);
  EXPECT_EQ(buffer_.size(), 1'000'000u);
  EXPECT_EQ(buffer_.capacity(), 1'000'000u);
}

TEST_F(InputBufferTest, GrowsRarely) {
  int growths = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::size_t before = buffer_.capacity();
    receive(std::string(1000, 'x'), 0);
    if (buffer_.size() > InputBuffer::kShortMax && buffer_.capacity() != before) ++growths;
  }
  EXPECT_LE(growths, 20);
  EXPECT_EQ(buffer_.view(), std::string(4'000'000, 'x'));
}

TEST_F(InputBufferTest, GivesMemoryBackWhenLittleIsLeft) {
  receive(std::string(1'000'000, 'x'), 0);
  EXPECT_GE(buffer_.capacity(), 1'000'000u);
  receive("yz", 1'000'000);
  EXPECT_EQ(buffer_.view(), "yz");
  EXPECT_LE(buffer_.capacity(), 64u * 1024);
}

TEST_F(InputBufferTest, AgreesWithAString) {
  EXPECT_TRUE(rc::check([] {
    std::vector<char> scratch(32 * 1024);
    InputBuffer buffer;
    std::string model;
    char next = 'a';
    for (int step = 0; step < 30; ++step) {
      if (*rc::gen::inRange(0, 4) == 0) buffer.want(*rc::gen::inRange<std::size_t>(0, 300'000));
      const auto room = buffer.room(scratch);
      RC_ASSERT(!room.empty());
      const auto some =
          *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(room.size(), 40'000) + 1);
      std::fill_n(room.begin(), some, next);
      model.append(some, next++);
      buffer.added(some);
      const auto gone = *rc::gen::inRange<std::size_t>(0, model.size() + 1);
      if (*rc::gen::arbitrary<bool>()) {
        buffer.consume(gone);
        model.erase(0, gone);
      }
      RC_ASSERT(buffer.view() == model);
      buffer.keep_rest();
      std::fill(scratch.begin(), scratch.end(), '#');
      RC_ASSERT(buffer.view() == model);
      RC_ASSERT(!model.empty() || buffer.capacity() == 0);
    }
  }));
}

}  // namespace input_buffer_test
}  // namespace mayfly
