// SPDX-License-Identifier: Apache-2.0
// Hints about requests: right if they are plain, and harmless for any bytes.

#include "resp/request_peek.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace request_peek_test {

constexpr std::string_view kSadd = "*3\r\n$4\r\nSADD\r\n$1\r\nk\r\n$2\r\nab\r\n";
constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

TEST(PeekRequests, ReadsTheWordsBehindTheName) {
  std::array<PeekedRequest, 4> requests;
  const std::string bytes = std::string(kSadd).append(kPing).append(kSadd);
  ASSERT_EQ(peek_requests(bytes, requests), 3u);
  EXPECT_EQ(requests[0].words[0], "k");
  EXPECT_EQ(requests[0].words[1], "ab");
  EXPECT_EQ(requests[0].words[2], "");
  EXPECT_EQ(requests[1].words[0], "");
  EXPECT_EQ(requests[2].words[1], "ab");
}

TEST(PeekRequests, ReadsTheFirstAndTheLastTwoWordsOfALongerRequest) {
  std::array<PeekedRequest, 2> requests;
  const auto words_of = [&](const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    EXPECT_EQ(peek_requests(bytes, requests), 1u);
    const auto& seen = requests[0].words;
    return std::string(seen[0]).append(" ").append(seen[1]).append(" ").append(seen[2]);
  };
  EXPECT_EQ(words_of({"HSETEX", "k", "EX", "60", "FIELDS", "1", "f", "v"}), "k f v");
  EXPECT_EQ(words_of({"ZADD", "k", "GT", "1", "m"}), "k 1 m");
  EXPECT_EQ(words_of({"ZADD", "k", "1", "m"}), "k 1 m");
  EXPECT_EQ(words_of({"HGET", "k", "f"}), "k f ");
  EXPECT_EQ(words_of({"GET", "k"}), "k  ");
}

TEST(PeekRequests, StopsWhereThereIsNoRoomOrNoPlainRequest) {
  std::array<PeekedRequest, 2> requests;
  const std::string three = std::string(kSadd).append(kSadd).append(kSadd);
  EXPECT_EQ(peek_requests(three, requests), 2u);
  EXPECT_EQ(peek_requests(std::string(kSadd) + "GET k\r\n", requests), 1u);
  EXPECT_EQ(peek_requests("", requests), 0u);
  EXPECT_EQ(peek_requests("*99\r\n", requests), 0u);
  EXPECT_EQ(peek_requests("*1\r\n$99999999999999999999\r\n", requests), 0u);
}

// Under the sanitizers: it reads nothing beyond the end.
TEST(PeekRequests, TakesAnyBytes) {
  Random random(1);
  const std::string whole = std::string(kSadd).append(kPing);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::array<PeekedRequest, 4> requests;
    EXPECT_LE(peek_requests(std::string(whole, 0, size), requests), 1u);
    for (int i = 0; i < 50; ++i) {
      std::string damaged(whole, 0, size + 1);
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      peek_requests(damaged, requests);
    }
  }
}

}  // namespace request_peek_test
}  // namespace mayfly
