// SPDX-License-Identifier: Apache-2.0
// Random streams of commands, whole and damaged, against a whole server: nothing may break it.

#include "server/core/server_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "mayfly/random.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace server_stream_test {

class StreamTest : public testing::TestWithParam<int> {
 protected:
  std::string word() {
    static const std::vector<std::string> kWords = {
        "k1",      "k2",     "h1",    "h2",         "f1",         "f2",
        "f3",      "FIELDS", "1",     "2",          "3",          "0",
        "-1",      "10",     "100",   "EX",         "PX",         "PXAT",
        "KEEPTTL", "NX",     "XX",    "GT",         "LT",         "FNX",
        "MATCH",   "*",      "COUNT", "GET",        "WITHVALUES", "9223372036854775807",
        "",        "abc",    "1.5",   "REPLACE",    "DB",         "LIST",
        "INFO",    "s1",     "s2",    "z1",         "z2",         "MEMBERS",
        "BYSCORE", "REV",    "LIMIT", "WITHSCORES", "-inf",       "+inf",
        "(1",      "MIN",    "MAX",   "m1",         "7"};
    return kWords[random_.below(kWords.size())];
  }

  // A request: a command that exists, with words that may or may not fit it.
  std::string request(const std::vector<const Command*>& rows) {
    const Command& row = *rows[random_.below(rows.size())];
    if (row.name == "debug") return "PING\r\n";  // it may sleep, or make any number of keys
    std::vector<std::string> words = {std::string(row.name)};
    if (!row.subcommands.empty()) {
      words.emplace_back(row.subcommands[random_.below(row.subcommands.size())].name);
    }
    const std::uint64_t more = random_.below(8);
    for (std::uint64_t i = 0; i < more; ++i) words.push_back(word());
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& one : words) {
      bytes += "$" + std::to_string(one.size()) + "\r\n";
      bytes += one + "\r\n";
    }
    return bytes;
  }

  Random random_{static_cast<std::uint64_t>(GetParam())};
};

TEST_P(StreamTest, LeavesASoundKeyspace) {
  ServerFixture fixture;
  const auto& rows = fixture.server().parts().commands.rows();
  for (int round = 0; round < 20; ++round) {
    std::string bytes;
    for (int i = 0; i < 60; ++i) bytes += request(rows);
    if (round % 2 == 1) {  // damaged
      for (int i = 0; i < 8; ++i) {
        bytes[random_.below(bytes.size())] = static_cast<char>(random_.next() & 0xFF);
      }
    }
    ASSERT_EQ(run_stream(bytes), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StreamTest, testing::Range(1, 9));

}  // namespace server_stream_test
}  // namespace mayfly
