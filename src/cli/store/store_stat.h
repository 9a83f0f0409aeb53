// SPDX-License-Identifier: Apache-2.0
// What there is to know about a store file and its families, and how it is shown.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mayfly/store.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

struct StoreSummary {
  struct OfFamily {
    std::string name;
    FamilyCounts counts;
    Time next_deadline = kNever;  // of what has not expired
    std::optional<Millis> default_ttl{};
  };

  std::string path;
  Time now;
  StoreStats file;
  std::vector<OfFamily> families;  // the default one first

  OfFamily total() const;  // without a name and a default TTL
};

// All of it is of one moment, but for `file`. Cost: what has expired and is still there is walked.
Result<StoreSummary> summarize(const Store& store);

std::string stat_text(const StoreSummary& summary, const Colours& colours);
std::string stat_json(const StoreSummary& summary);

}  // namespace mayfly
