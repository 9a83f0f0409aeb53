// SPDX-License-Identifier: Apache-2.0
// CLUSTER PULSE and CLUSTER CANVASS as words: what is written can be read, and nothing else can.

#include "server/cluster/node/node_messages.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace node_messages_test {

using namespace std::chrono_literals;

const NodeMemory kFrom{std::string(40, 'a'), std::string(16, 'b')};
constexpr Time kMoment(1'700'000'000'123ms);

Pulse some_pulse() {
  return {.epoch = 7,
          .from = kFrom,
          .history = std::string(40, 'c'),
          .offset = 123,
          .token = Time(5s),
          .own = Time(6s),
          .wall = kMoment,
          .leaves = true};
}

Canvass some_canvass() {
  return {.version = 9, .epoch = 7, .from = kFrom, .offset = 123, .token = Time(5s)};
}

using Request = std::vector<std::string>;

auto pulse_of(const Request& request) {
  return read_pulse(std::vector<std::string_view>(request.begin(), request.end()));
}

auto canvass_of(const Request& request) {
  return read_canvass(std::vector<std::string_view>(request.begin(), request.end()));
}

// The reply as the other side parses it.
template <class Answer>
ReplyValue sent(const Answer& answer) {
  std::string bytes;
  Reply reply(bytes, 2);
  write_reply(reply, answer);
  ReplyParser parser;
  EXPECT_EQ(parser.parse(bytes), Parsed::request);
  return parser.value();
}

TEST(NodeMessagesTest, APulseArrivesAsItWasSent) {
  const Pulse pulse = some_pulse();
  const auto read = pulse_of(to_request("s", pulse));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->shard, "s");
  EXPECT_EQ(read->message.epoch, pulse.epoch);
  EXPECT_EQ(read->message.from, pulse.from);
  EXPECT_EQ(read->message.history, pulse.history);
  EXPECT_EQ(read->message.offset, pulse.offset);
  EXPECT_EQ(read->message.token, pulse.token);
  EXPECT_EQ(read->message.own, pulse.own);
  EXPECT_EQ(read->message.wall, pulse.wall);
  EXPECT_TRUE(read->message.leaves);
}

TEST(NodeMessagesTest, APulseMayHaveNoHistoryAndNoToken) {
  Pulse pulse = some_pulse();
  pulse.history.clear();
  pulse.token = Time{};
  pulse.leaves = false;
  const auto read = pulse_of(to_request("s", pulse));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->message.history.empty());
  EXPECT_EQ(read->message.token, Time{});
  EXPECT_FALSE(read->message.leaves);
}

TEST(NodeMessagesTest, ACanvassArrivesAsItWasSent) {
  const Canvass canvass = some_canvass();
  const auto read = canvass_of(to_request("s", canvass));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->shard, "s");
  EXPECT_EQ(read->message.version, canvass.version);
  EXPECT_EQ(read->message.epoch, canvass.epoch);
  EXPECT_EQ(read->message.from, canvass.from);
  EXPECT_EQ(read->message.offset, canvass.offset);
  EXPECT_EQ(read->message.token, canvass.token);
}

// Words that fit nowhere: of every message, each but the history may not be any of these.
const std::vector<std::string> kWrong = {"-1",
                                         "1.5",
                                         " 1",
                                         "99999999999999999999",
                                         std::string(41, 'a'),
                                         std::string(40, 'A'),
                                         "9223372036854775807x"};

TEST(NodeMessagesTest, EveryWrongWordOfAPulseIsRefused) {
  const Request right = to_request("s", some_pulse());
  for (std::size_t i = 3; i < right.size(); ++i) {
    for (const std::string& wrong : kWrong) {
      Request request = right;
      request[i] = wrong;
      EXPECT_FALSE(pulse_of(request)) << i << ": " << wrong;
    }
    if (i == 6) continue;  // no history
    Request request = right;
    request[i].clear();
    EXPECT_FALSE(pulse_of(request)) << i;
  }
  Request leaves = right;
  leaves.back() = "2";
  EXPECT_FALSE(pulse_of(leaves));
  Request unnamed = right;
  unnamed[2].clear();
  EXPECT_FALSE(pulse_of(unnamed));
}

TEST(NodeMessagesTest, EveryWrongWordOfACanvassIsRefused) {
  const Request right = to_request("s", some_canvass());
  for (std::size_t i = 3; i < right.size(); ++i) {
    for (const std::string& wrong : kWrong) {
      Request request = right;
      request[i] = wrong;
      EXPECT_FALSE(canvass_of(request)) << i << ": " << wrong;
    }
    Request request = right;
    request[i].clear();
    EXPECT_FALSE(canvass_of(request)) << i;
  }
}

TEST(NodeMessagesTest, TooFewAndTooManyWordsAreRefused) {
  const Request pulse = to_request("s", some_pulse());
  const Request canvass = to_request("s", some_canvass());
  for (std::size_t count = 0; count < pulse.size(); ++count) {
    EXPECT_FALSE(pulse_of(Request(pulse.begin(), pulse.begin() + static_cast<int>(count))));
  }
  for (std::size_t count = 0; count < canvass.size(); ++count) {
    EXPECT_FALSE(canvass_of(Request(canvass.begin(), canvass.begin() + static_cast<int>(count))));
  }
  Request more = pulse;
  more.push_back("1");
  EXPECT_FALSE(pulse_of(more));
  more = canvass;
  more.push_back("1");
  EXPECT_FALSE(canvass_of(more));
}

// By the difference to the own clock a primary decides who may be in sync.
TEST(NodeMessagesTest, TimesThatOverflowAreRefused) {
  for (const std::size_t i : {8U, 9U, 10U}) {
    Request request = to_request("s", some_pulse());
    for (const char* const wrong : {"9223372036854775807", "-9223372036854775808"}) {
      request[i] = wrong;
      EXPECT_FALSE(pulse_of(request)) << i;
    }
  }
}

TEST(NodeMessagesTest, RepliesArriveAsTheyWereSent) {
  const PulseReply pulse{.epoch = 3,
                         .version = 8,
                         .token = Time(1s),
                         .echo = Time(2s),
                         .wall = kMoment,
                         .is_serving = true,
                         .is_in_sync = false};
  const auto pulsed = read_pulse_reply(sent(pulse));
  ASSERT_TRUE(pulsed);
  EXPECT_EQ(pulsed->epoch, 3u);
  EXPECT_EQ(pulsed->version, 8u);
  EXPECT_EQ(pulsed->token, Time(1s));
  EXPECT_EQ(pulsed->echo, Time(2s));
  EXPECT_EQ(pulsed->wall, kMoment);
  EXPECT_TRUE(pulsed->is_serving);
  EXPECT_FALSE(pulsed->is_in_sync);
  const CanvassReply canvass{
      .version = 8, .from = kFrom, .is_granted = true, .offset = 55, .token = Time(4s)};
  const auto canvassed = read_canvass_reply(sent(canvass));
  ASSERT_TRUE(canvassed);
  EXPECT_EQ(canvassed->version, 8u);
  EXPECT_EQ(canvassed->from, kFrom);
  EXPECT_TRUE(canvassed->is_granted);
  EXPECT_EQ(canvassed->offset, 55u);
  EXPECT_EQ(canvassed->token, Time(4s));
}

TEST(NodeMessagesTest, WrongRepliesAreRefused) {
  const ReplyValue pulse = sent(PulseReply{});
  const ReplyValue canvass = sent(CanvassReply{.version = 1, .from = kFrom});
  for (std::size_t i = 0; i < pulse.items.size(); ++i) {
    ReplyValue wrong = pulse;
    wrong.items[i].integer = -1;
    EXPECT_FALSE(read_pulse_reply(wrong)) << i;
    wrong = pulse;
    wrong.items[i].kind = ReplyValue::Kind::bulk;
    EXPECT_FALSE(read_pulse_reply(wrong)) << i;
    wrong = pulse;
    wrong.items.resize(i);
    EXPECT_FALSE(read_pulse_reply(wrong)) << i;
  }
  for (std::size_t i = 0; i < canvass.items.size(); ++i) {
    ReplyValue wrong = canvass;
    wrong.items[i].kind = ReplyValue::Kind::simple;
    EXPECT_FALSE(read_canvass_reply(wrong)) << i;
    wrong = canvass;
    wrong.items[i].integer = -1;
    wrong.items[i].text = "x";
    EXPECT_FALSE(read_canvass_reply(wrong)) << i;
  }
  ReplyValue error;
  error.kind = ReplyValue::Kind::error;
  EXPECT_FALSE(read_pulse_reply(error));
  error.items = pulse.items;
  EXPECT_FALSE(read_pulse_reply(error));
  EXPECT_FALSE(read_canvass_reply(ReplyValue{}));
}

}  // namespace node_messages_test
}  // namespace mayfly
