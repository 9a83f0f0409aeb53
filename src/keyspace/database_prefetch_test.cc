// SPDX-License-Identifier: Apache-2.0
// Prefetching changes nothing, whatever the hints are.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace database_prefetch_test {

TEST(DatabasePrefetch, TakesAnyHintAndChangesNothing) {
  KeyspaceFixture fixture;
  Database& database = fixture.database;
  std::vector<std::string> names;
  for (int i = 0; i < 30'000; ++i) names.push_back("name" + std::to_string(i));
  fixture.make_hash("large", names, fixture.in(1));
  fixture.make_hash("small", {"a"});
  for (const std::string& name : names) database.put_string(fixture.context, name, "x");
  fixture.advance(2);  // all of the large hash is due

  const std::vector<LookupHint> hints = {{"large", {"name1", "name2"}},
                                         {"large", {"none", ""}},
                                         {"large", {"", ""}},
                                         {"small", {"a", "b"}},
                                         {"name7", {"name7", "x"}},
                                         {"none", {"a", "b"}},
                                         {"", {"", ""}},
                                         {names[29'999], {"", ""}}};
  database.prefetch(hints);
  database.prefetch({});
  EXPECT_EQ(database.check_invariants(), "");
  EXPECT_EQ(database.stored(), 30'002u);
  EXPECT_TRUE(fixture.recorder.take().empty());
}

}  // namespace database_prefetch_test
}  // namespace mayfly
