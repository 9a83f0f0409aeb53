// SPDX-License-Identifier: Apache-2.0
// How large does the file get when entries come and go at a steady rate? A simulation.
//
// Every simulated second new entries with a TTL are put, the clock advances, and what is due is
// purged. So the number of live entries soon stays the same, and all that still grows is waste.

#pragma once

#include <cstddef>
#include <filesystem>

#include "bench/report/results.h"
#include "mayfly/store_options.h"
#include "mayfly/time.h"
#include "tools/terminal/progress.h"

namespace mayfly::bench {

struct ChurnPlan {
  std::size_t puts_per_second = 20'000;
  std::chrono::seconds length = std::chrono::hours(1);
  std::chrono::seconds ttl{60};
  std::size_t value_bytes = 60;
  std::size_t batch = 1000;  // puts in a transaction

  // The default of the store. It is also the harder test: pages that a power cut could need again
  // are not reused, and here they pile up faster than in real time.
  Durability durability = Durability::normal;
};

// Works in `directory`, which exists.
Run run_churn(const ChurnPlan& plan, const std::filesystem::path& directory, Progress& progress);

// In the unit of the progress that run_churn() makes.
double churn_work(const ChurnPlan& plan);

}  // namespace mayfly::bench
