// SPDX-License-Identifier: Apache-2.0
// The stream that replicas follow.

#include "server/replication/replication_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <initializer_list>
#include <string>

#include "resp/encode.h"

namespace mayfly {
namespace replication_stream_test {

std::string read_all(const ReplicationLog& log, std::uint64_t from) {
  std::string bytes;
  while (from < log.end()) {
    const std::string_view piece = log.read(from);
    bytes += piece;
    from += piece.size();
  }
  return bytes;
}

TEST(ReplicationLogTest, KeepsWhatIsAskedForAndWhatIsNeeded) {
  ReplicationLog log;
  log.append(std::string(5 * ReplicationLog::kBlockBytes, 'x'));
  log.trim(10, 3 * ReplicationLog::kBlockBytes);
  EXPECT_TRUE(log.contains(3 * ReplicationLog::kBlockBytes));
  EXPECT_FALSE(log.contains(2 * ReplicationLog::kBlockBytes));
  log.trim(ReplicationLog::kBlockBytes + 1, log.end());
  EXPECT_TRUE(log.contains(log.end() - ReplicationLog::kBlockBytes - 1));
  EXPECT_EQ(log.check_invariants(), "");
}

TEST(ReplicationLogTest, GoesOnFromTheNumberItIsGiven) {
  ReplicationLog log;
  log.append("old");
  log.restart(1000);
  log.append("new");
  EXPECT_EQ(log.begin(), 1000u);
  EXPECT_EQ(log.end(), 1003u);
  EXPECT_EQ(read_all(log, 1001), "ew");
}

// As in Valkey: MULTI is about no database.
TEST(ReplicationStreamTest, SelectsADatabaseWithinTheTransaction) {
  Propagation propagation;
  ReplicationStream stream(propagation);
  stream.open();
  const std::uint64_t begin = stream.log().end();
  propagation.add(2, Propagated{"DEL", "a"});
  propagation.add(3, Propagated{"DEL", "b"});
  propagation.flush();
  propagation.add(3, Propagated{"DEL", "c"});
  propagation.flush();
  std::string expected;
  for (const Propagated& words : std::initializer_list<Propagated>{{"MULTI"},
                                                                   {"SELECT", "2"},
                                                                   {"DEL", "a"},
                                                                   {"SELECT", "3"},
                                                                   {"DEL", "b"},
                                                                   {"EXEC"},
                                                                   {"DEL", "c"}}) {
    append_request(expected, words);
  }
  EXPECT_EQ(read_all(stream.log(), begin), expected);
  stream.close();
}

// The model is one string of all bytes ever appended. Pieces are up to three blocks long, so that
// they often cross the edge of a block.
TEST(ReplicationLogTest, AgreesWithOneString) {
  const bool holds = rc::check([] {
    ReplicationLog log;
    std::string model;
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
      if (*rc::gen::inRange(0, 3) > 0) {
        const auto size = *rc::gen::inRange<std::size_t>(0, 3 * ReplicationLog::kBlockBytes);
        const std::string piece(size, static_cast<char>('a' + step % 26));
        log.append(piece);
        model += piece;
      } else {
        const auto kept = *rc::gen::inRange<std::uint64_t>(0, 2 * ReplicationLog::kBlockBytes);
        const auto needed = *rc::gen::inRange<std::uint64_t>(0, model.size() + 1);
        const std::uint64_t before = log.begin();
        log.trim(kept, needed);
        RC_ASSERT(log.begin() <= std::max(needed, before));
        RC_ASSERT(log.end() - log.begin() >= std::min<std::uint64_t>(kept, log.end() - before));
      }
      RC_ASSERT(log.check_invariants().empty());
      RC_ASSERT(log.end() == model.size());
      const auto from = *rc::gen::inRange(log.begin(), log.end() + 1);
      RC_ASSERT(read_all(log, from) == model.substr(from));
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace replication_stream_test
}  // namespace mayfly
