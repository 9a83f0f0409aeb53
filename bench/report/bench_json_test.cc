// SPDX-License-Identifier: Apache-2.0
// Is everything in the JSON that a program needs, under keys that stay?

#include "bench/report/bench_json.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/report/bench_example.h"

namespace mayfly {
namespace {

class BenchJson : public testing::Test {
 protected:
  bool contains(std::string_view part) const { return json_.find(part) != std::string::npos; }

  const std::string json_ = to_json(example::plan(), example::results(), example::machine());
};

TEST_F(BenchJson, SaysWhereAndHowItWasMeasured) {
  for (const std::string_view part :
       {R"("benchmark": "expiry")", R"("version": "1.2.3")", R"("processor": "Example \"9000\"")",
        R"("cores": 2)", R"("seed": 1)", R"("rounds": 3)", R"("sizes": [1000000])",
        R"("strategies": ["lazy", "heap", "wheel"])", R"("seconds": 12.5)"}) {
    EXPECT_TRUE(contains(part)) << part;
  }
}

TEST_F(BenchJson, HasEveryMeasureAndNullForWhatIsAbsent) {
  for (const std::string_view part :
       {R"("insert_ns": 100)", R"("get_ns": null)", R"("cycle_ns": 10)", R"("expire_ns": null)",
        R"("expire_entries_per_second": 10000000)", R"("bytes_per_entry": 32)"}) {
    EXPECT_TRUE(contains(part)) << part;
  }
}

TEST_F(BenchJson, HasLatenessAndItsCourse) {
  for (const std::string_view part :
       {R"("p50_ms": 20000)", R"("max_ms": 80000)", R"("left": 7)", R"("share_step_ms": 100)",
        R"("expired_but_present_share": [0, 0.4, 0.8])"}) {
    EXPECT_TRUE(contains(part)) << part;
  }
}

TEST_F(BenchJson, ClosesWhatItOpens) {
  const auto count = [&](char letter) { return std::count(json_.begin(), json_.end(), letter); };
  EXPECT_EQ(count('{'), count('}'));
  EXPECT_EQ(count('['), count(']'));
  EXPECT_TRUE(json_.ends_with("}\n"));
}

}  // namespace
}  // namespace mayfly
