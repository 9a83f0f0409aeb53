// SPDX-License-Identifier: Apache-2.0
// stat --prometheus: the statistics of a store as metrics. Each has the label `file`, and those of
// a column family also `family`.

#include <algorithm>
#include <string>
#include <string_view>

#include "base/prometheus_text.h"
#include "cli/store/store_summary.h"

namespace mayfly {
namespace {

using FamilySummary = StoreSummary::FamilySummary;

double to_seconds(Millis time) { return static_cast<double>(time.count()) / 1000; }

class StoreMetrics {
 public:
  explicit StoreMetrics(const StoreSummary& summary) : summary_(summary) {}

  std::string text() {
    add_families();
    add_expiring();
    add_file();
    add_log();
    return metrics_.text();
  }

 private:
  void gauge(std::string_view name, std::string_view help) {
    metrics_.family(name, help, MetricType::gauge);
  }

  // One sample for each family.
  template <class Value>
  void of_families(std::string_view name, std::string_view help, Value value) {
    gauge(name, help);
    for (const FamilySummary& family : summary_.families) {
      metrics_.sample({{"file", summary_.path}, {"family", family.name}}, value(family));
    }
  }

  // The same for each bucket.
  template <class Value>
  void of_buckets(std::string_view name, std::string_view help, Value value) {
    gauge(name, help);
    for (const FamilySummary& family : summary_.families) {
      for (std::size_t i = 0; i < kTtlBuckets; ++i) {
        metrics_.sample(
            {{"file", summary_.path}, {"family", family.name}, {"within", kTtlBounds[i].name}},
            value(family.histogram.buckets[i]));
      }
    }
  }

  template <class Number>
  void of_file(std::string_view name, std::string_view help, Number value,
               MetricType type = MetricType::gauge) {
    metrics_.family(name, help, type);
    metrics_.sample({{"file", summary_.path}}, value);
  }

  void add_families() {
    of_families("mayfly_store_entries", "Entries that are not expired.",
                [](const FamilySummary& family) { return family.counts.live; });
    of_families("mayfly_store_volatile_entries", "Entries with a deadline that are not expired.",
                [](const FamilySummary& family) { return family.counts.with_ttl; });
    of_families("mayfly_store_overdue_entries", "Entries that are expired and not removed yet.",
                [](const FamilySummary& family) { return family.counts.expired; });
    of_families("mayfly_store_oldest_overdue_seconds",
                "How long ago the oldest entry expired that is not removed yet; 0 if none is.",
                [this](const FamilySummary& family) {
                  const Time oldest = family.histogram.oldest_overdue;
                  return oldest == kNever ? 0.0 : to_seconds(remaining(summary_.now, oldest));
                });
    gauge("mayfly_store_next_expiry_timestamp_seconds",
          "When the next entry expires, in seconds since 1970; none if none has a deadline.");
    for (const FamilySummary& family : summary_.families) {
      if (family.next_deadline == kNever) continue;
      metrics_.sample({{"file", summary_.path}, {"family", family.name}},
                      to_seconds(family.next_deadline.time_since_epoch()));
    }
  }

  void add_expiring() {
    of_buckets("mayfly_store_expiring_entries",
               "Entries by the time they have left; each counts in the first bucket it fits into.",
               [](const TtlCount& count) { return count.entries; });
    if (!summary_.options.has_bytes) return;
    of_buckets("mayfly_store_expiring_bytes",
               "Bytes of keys and values of these entries, by the time they have left.",
               [](const TtlCount& count) { return count.bytes; });
    of_families("mayfly_store_overdue_bytes",
                "Bytes of keys and values of entries that are expired and not removed yet.",
                [](const FamilySummary& family) { return family.histogram.overdue.bytes; });
  }

  void add_file() {
    const StoreStats& file = summary_.file;
    of_file("mayfly_store_file_bytes", "Size of the file.", file.file_bytes);
    of_file("mayfly_store_map_bytes", "Size that the file can have.", file.map_bytes);
    of_file("mayfly_store_page_bytes", "Size of a page.", file.page_bytes);
    of_file("mayfly_store_pages", "Pages in the file.", file.pages);
    of_file("mayfly_store_free_pages", "Pages in the file that can be reused.", file.free_pages);
    of_file("mayfly_store_tree_transactions_total",
            "Transactions that changed the file: checkpoints and direct commits.",
            file.last_transaction, MetricType::counter);
    of_file("mayfly_store_readers", "Open snapshots of other processes.", file.readers.size());
    std::uint64_t behind = 0;
    for (const StoreReader& reader : file.readers) behind = std::max(behind, reader.behind);
    of_file("mayfly_store_oldest_reader_transactions",
            "How many transactions the oldest open snapshot is behind.", behind);
  }

  void add_log() {
    const StoreStats& file = summary_.file;
    of_file("mayfly_store_log_bytes", "Size of the log.", file.log_bytes);
    of_file("mayfly_store_log_pending_bytes", "Bytes in the log that are not in the file yet.",
            file.pending_bytes);
    of_file("mayfly_store_logged_bytes_total", "Bytes that all processes have appended to the log.",
            file.log_position, MetricType::counter);
  }

  const StoreSummary& summary_;
  PrometheusText metrics_;
};

}  // namespace

std::string prometheus_text(const StoreSummary& summary) { return StoreMetrics(summary).text(); }

}  // namespace mayfly
