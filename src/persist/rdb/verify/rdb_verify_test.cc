// SPDX-License-Identifier: Apache-2.0
// Damaged files are found before they are loaded.

#include "persist/rdb/verify/rdb_verify.h"

#include <gtest/gtest.h>

#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_verify_test {

// "whole", "unknown" (no checksum) or the error.
std::string summed(std::string_view bytes, std::size_t piece, const RdbChecks& checks = {}) {
  RdbSum sum(checks);
  while (!bytes.empty()) {
    if (const Status status = sum.add(bytes.substr(0, piece)); !status) {
      return status.error().message;
    }
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  const Result<bool> end = sum.end();
  if (!end) return end.error().message;
  return *end ? "whole" : "unknown";
}

std::string verified(std::string_view bytes, int databases = 16) {
  StringSource source(bytes);
  RdbVerifier verifier(source, databases);
  Result<bool> ended = false;
  while (ended && !*ended) ended = verifier.step(1);
  return ended ? "whole" : ended.error().message;
}

TEST(RdbSum, FindsEachDamagedBit) {
  const std::string good = TestFile().string_key("key", "value").end();
  for (std::size_t piece = 1; piece <= good.size() + 1; ++piece) {
    EXPECT_EQ(summed(good, piece), "whole") << piece;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_NE(summed(bad, 5), "whole") << at << ' ' << bit;
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(summed(good.substr(0, size), 4), "whole") << size;
  }
  EXPECT_NE(summed(good + "x", 4), "whole");
}

TEST(RdbSum, SaysWhatIsWrong) {
  EXPECT_EQ(summed("REDIS", 2), "not an RDB file: it is too short for that");
  EXPECT_EQ(summed("GET / HTTP/1.1", 2), "not an RDB file: it begins with 'GET / HTT'");
  EXPECT_NE(summed("REDIS0013", 9).find("the format REDIS0013 is not supported"),
            std::string::npos);
  EXPECT_EQ(summed("REDIS0013", 9, {.allows_newer = true}),
            "the file does not end as an RDB file does");
  EXPECT_EQ(summed("REDIS0011\xff", 3), "the file does not end as an RDB file does");
}

TEST(RdbSum, AFileWithoutAChecksumIsUnknown) {
  std::string file = TestFile().string_key("key", "value").end();
  std::string wrong = file;
  wrong[10] ^= 1;
  EXPECT_EQ(summed(wrong, 7, {.checksum = false}), "unknown");
  file.replace(file.size() - 8, 8, std::string(8, '\0'));
  EXPECT_EQ(summed(file, 7), "unknown");
  EXPECT_EQ(summed("REDIS0003\xff", 7), "unknown") << "there were none then";
  EXPECT_EQ(summed("REDIS0003 ", 7), "the file does not end as an RDB file does");
}

TEST(RdbVerifier, ReadsAllOfAFile) {
  std::string file = TestFile().string_key("key", "value").end();
  EXPECT_EQ(verified(file), "whole");
  file.replace(file.size() - 8, 8, std::string(8, '\0'));
  EXPECT_EQ(verified(file), "whole");
  std::string bad = file;
  bad[bad.find("key") - 1] = '\x3f';
  EXPECT_NE(verified(bad), "whole");
  EXPECT_NE(verified(file.substr(0, file.size() - 9)), "whole");
  const std::string other =
      TestFile().op(rdb::Opcode::select_db).length(3).string_key("key", "value").end();
  EXPECT_EQ(verified(other, 4), "whole");
  EXPECT_NE(verified(other, 3).find("`databases` is 3"), std::string::npos);
}

}  // namespace rdb_verify_test
}  // namespace mayfly
