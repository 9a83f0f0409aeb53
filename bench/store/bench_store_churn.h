// SPDX-License-Identifier: Apache-2.0
// How large does the file get when entries come and go at a steady rate? A simulation.
//
// Every simulated second new entries with a TTL are put, the clock goes on, and what is due is
// purged. So the number of live entries soon stays the same, and all that still grows is waste.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/store_options.h"
#include "mayfly/time.h"
#include "tools/terminal/progress.h"

namespace mayfly {

struct ChurnPlan {
  std::size_t puts_per_second = 20'000;
  std::chrono::seconds length = std::chrono::hours(1);
  std::chrono::seconds ttl{60};
  std::size_t value_bytes = 60;
  std::size_t batch = 1000;  // puts in a transaction

  // What users get unless they say otherwise. It is also the harder test: pages that a power cut
  // could need again are not reused, and here they pile up faster than in real time.
  Durability durability = Durability::normal;
};

struct ChurnResult {
  std::uint64_t puts = 0;
  std::uint64_t live_entries = 0;   // at the end
  std::uint64_t live_bytes = 0;     // of their keys and values alone
  std::uint64_t file_bytes = 0;     // at the end; it never shrinks, so this is the most
  std::uint64_t compact_bytes = 0;  // of a fresh copy of the same entries: the live set as stored
  double seconds = 0;               // that it took
  std::vector<std::uint64_t> file_bytes_each_minute = {};

  double ratio() const {
    return static_cast<double>(file_bytes) / static_cast<double>(compact_bytes);
  }
};

// Works in `directory`, which exists.
Result<ChurnResult> run_churn(const ChurnPlan& plan, const std::filesystem::path& directory,
                              Progress& progress);

// In the unit of the progress that run_churn() makes.
double churn_work(const ChurnPlan& plan);

}  // namespace mayfly
