// SPDX-License-Identifier: Apache-2.0
// StoreSummary: what stat shows of a store file and its column families, and the forms that have a
// file of their own.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mayfly/store.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// What stat is asked for.
struct StatOptions {
  bool has_histogram = false;  // reads all deadlines
  bool has_bytes = false;      // in the histogram
  bool is_prometheus = false;
};

struct StoreSummary {
  struct FamilySummary {
    std::string name;
    FamilyCounts counts;
    Time next_deadline = kNever;  // of unexpired entries
    std::optional<Millis> default_ttl{};
    TtlHistogram histogram{};  // empty unless it was asked for
  };

  std::string path;
  Time now;
  StatOptions options;
  StoreStats file;
  std::vector<FamilySummary> families;  // the default one first

  FamilySummary total() const;  // without a default TTL
};

// Everything but `file` is of one snapshot. Reads the expired entries that are not removed yet; if
// there is a histogram, all deadlines, with the progress on stderr.
Result<StoreSummary> summarize(const Store& store, StatOptions options = {});

// A name that may be any bytes, for people.
std::string family_label(const std::string& name);

// The histogram of all families as bars, and a row for each family if there are several
// (store_histogram.cc).
std::string histogram_text(const StoreSummary& summary, const Colours& colours);

// "ttl": {...}: of one family.
std::string histogram_json(const TtlHistogram& histogram, bool has_bytes);

// All of it in Prometheus's text format (store_prometheus.cc).
std::string prometheus_text(const StoreSummary& summary);

}  // namespace mayfly
