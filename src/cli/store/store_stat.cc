// SPDX-License-Identifier: Apache-2.0
// stat: the statistics of a store file and its column families.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"
#include "tools/byte_text.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

struct StoreSummary {
  struct FamilySummary {
    std::string name;
    FamilyCounts counts;
    Time next_deadline = kNever;  // of unexpired entries
    std::optional<Millis> default_ttl{};
  };

  std::string path;
  Time now;
  StoreStats file;
  std::vector<FamilySummary> families;  // the default one first

  FamilySummary total() const;  // without a default TTL
};

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

std::string family_label(const std::string& name) {
  return is_utf8(name) ? name : "<hex:" + hex(name) + ">";
}

std::string next_expiry(Time deadline, Time now) {
  if (deadline == kNever) return "-";
  return "in " + time_left_text(remaining(deadline, now));
}

std::string families_table(const StoreSummary& summary, const Colours& colours) {
  TextTable table({{"family", ""},
                   {"entries", ""},
                   {"with a TTL", ""},
                   {"expired", "not removed"},
                   {"next", "expiry"},
                   {"default TTL", ""}});
  const auto add = [&](const StoreSummary::FamilySummary& row, const std::string& ttl,
                       Emphasis how) {
    table.add_row({{family_label(row.name), how},
                   {fmt::to_string(row.counts.live), how},
                   {fmt::to_string(row.counts.with_ttl), how},
                   {fmt::to_string(row.counts.expired), how},
                   {next_expiry(row.next_deadline, summary.now), how},
                   {ttl, how}});
  };
  for (const StoreSummary::FamilySummary& row : summary.families) {
    add(row, row.default_ttl ? time_left_text(*row.default_ttl) : "none", Emphasis::none);
  }
  if (summary.families.size() > 1) add(summary.total(), "", Emphasis::strong);
  return table.render(colours);
}

std::string counts_json(const StoreSummary::FamilySummary& family, Time now) {
  const std::string deadline = deadline_json(family.next_deadline, now);
  return fmt::format(R"("live": {}, "with_ttl": {}, "expired": {}, "next": {{{}}})",
                     family.counts.live, family.counts.with_ttl, family.counts.expired, deadline);
}

std::string json_array(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) text += (text.empty() ? "" : ", ") + object;
  return "[" + text + "]";
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
  }
  return total;
}

// Everything but `file` is of one snapshot. Reads the expired entries that are not removed yet.
Result<StoreSummary> summarize(const Store& store) {
  const Result<StoreStats> file = store.stats();
  if (!file) return file.error();
  const Result<ReadTxn> txn = store.read();
  if (!txn) return txn.error();
  StoreSummary summary{store.path().string(), txn->now(), *file, {}};
  // Not those of this process: a store keeps a snapshot until its last commits are on disk.
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
  return summary;
}

std::string stat_text(const StoreSummary& summary, const Colours& colours) {
  const StoreStats& file = summary.file;
  std::string text =
      fmt::format("{}: {}, {} pages of {} bytes, {} of them ({}) free\n", summary.path,
                  size_text(file.file_bytes), file.pages, file.page_bytes, file.free_pages,
                  size_text(file.free_pages * file.page_bytes));
  text += fmt::format("Maximum size {}. Last transaction {}.\n\n", size_text(file.map_bytes),
                      file.last_transaction);
  text += families_table(summary, colours);
  if (file.readers.empty()) return text;
  text += "\nActive readers; pages of their snapshots are not reused until they finish\n";
  TextTable table({{"process", ""}, {"behind", "commits"}});
  for (const StoreReader& reader : file.readers) {
    table.add_row({{fmt::to_string(reader.process)}, {fmt::to_string(reader.behind)}});
  }
  return text + table.render(colours);
}

std::string stat_json(const StoreSummary& summary) {
  const StoreStats& file = summary.file;
  std::vector<std::string> families;
  for (const StoreSummary::FamilySummary& family : summary.families) {
    families.push_back(fmt::format(R"({{"name": {}, {}, "default_ttl": {}}})",
                                   bytes_as_json(family.name), counts_json(family, summary.now),
                                   seconds_json(family.default_ttl.value_or(Millis::max()))));
  }
  std::vector<std::string> readers;
  for (const StoreReader& reader : file.readers) {
    readers.push_back(fmt::format(R"({{"process": {}, "snapshot": {}, "behind": {}}})",
                                  reader.process, reader.snapshot, reader.behind));
  }
  return fmt::format(
      R"({{"file": {}, "file_bytes": {}, "page_bytes": {}, "pages": {}, "free_pages": {}, )"
      R"("map_bytes": {}, "last_transaction": {}, {}, "readers": {}, "families": {}}})"
      "\n",
      bytes_as_json(summary.path), file.file_bytes, file.page_bytes, file.pages, file.free_pages,
      file.map_bytes, file.last_transaction, counts_json(summary.total(), summary.now),
      json_array(readers), json_array(families));
}

}  // namespace

Status print_stat(const Store& store, const StoreFile& file) {
  const Result<StoreSummary> summary = summarize(store);
  if (!summary) return summary.error();
  fmt::print("{}",
             file.is_json() ? stat_json(*summary) : stat_text(*summary, Colours(wants_colours())));
  return Done{};
}

}  // namespace mayfly
