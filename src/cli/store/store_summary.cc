// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_summary.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/hex.h"
#include "text/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

Result<StoreSummary::FamilySummary> summarize_family(const ReadTxn& txn, std::string name,
                                                     Family family) {
  const Result<FamilyCounts> counts = txn.count(family);
  if (!counts) return counts.error();
  const auto next = txn.expiring(txn.now(), kNever, 1, family);
  if (!next) return next.error();
  const Result<std::optional<Millis>> ttl = txn.default_ttl(family);
  if (!ttl) return ttl.error();
  return StoreSummary::FamilySummary{std::move(name), *counts,
                                     next->empty() ? kNever : next->front().deadline, *ttl};
}

Status add_histograms(const ReadTxn& txn, StoreSummary& summary) {
  const FamilyCounts all = summary.total().counts;
  Progress progress(stderr, is_terminal(STDERR_FILENO),
                    static_cast<double>(all.with_ttl + all.expired));
  for (StoreSummary::FamilySummary& row : summary.families) {
    progress.begin(family_label(row.name));
    const bool is_default = &row == &summary.families.front();
    const Result<Family> family = is_default ? Family() : txn.family(row.name);
    if (!family) return family.error();
    const auto histogram = txn.ttl_histogram({.bytes = summary.options.has_bytes}, *family);
    if (!histogram) return histogram.error();
    row.histogram = *histogram;
    progress.add(static_cast<double>(row.counts.with_ttl + row.counts.expired));
  }
  return Done{};
}

}  // namespace

std::string family_label(const std::string& name) {
  return is_utf8(name) ? name : "<hex:" + hex(name) + ">";
}

StoreSummary::FamilySummary StoreSummary::total() const {
  FamilySummary total;
  total.name = "all";
  for (const FamilySummary& family : families) {
    total.counts.live += family.counts.live;
    total.counts.with_ttl += family.counts.with_ttl;
    total.counts.expired += family.counts.expired;
    total.counts.stored += family.counts.stored;
    total.next_deadline = std::min(total.next_deadline, family.next_deadline);
    total.histogram += family.histogram;
  }
  return total;
}

Result<StoreSummary> summarize(const Store& store, StatOptions options) {
  const Result<StoreStats> file = store.stats();
  if (!file) return file.error();
  const Result<ReadTxn> txn = store.read();
  if (!txn) return txn.error();
  StoreSummary summary{store.path().string(), txn->now(), options, *file, {}};
  // Not those of this process.
  std::erase_if(summary.file.readers,
                [](const StoreReader& reader) { return reader.process == ::getpid(); });
  const auto add = [&](const std::string& name, Family family) -> Status {
    auto row = summarize_family(*txn, name, family);
    if (!row) return row.error();
    summary.families.push_back(std::move(*row));
    return Done{};
  };
  if (const Status status = add("default", Family()); !status) return status.error();
  for (const std::string& name : txn->families()) {
    const Result<Family> family = txn->family(name);
    if (!family) return family.error();
    if (const Status status = add(name, *family); !status) return status.error();
  }
  if (options.has_histogram) {
    if (const Status status = add_histograms(*txn, summary); !status) return status.error();
  }
  return summary;
}

}  // namespace mayfly
