// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_stat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"
#include "tools/byte_text.h"

namespace mayfly {
namespace {

Result<StoreSummary::OfFamily> summarize_family(const ReadTxn& txn, std::string name,
                                                Family family) {
  const Result<FamilyCounts> counts = txn.count(family);
  if (!counts) return counts.error();
  const auto next = txn.expiring(txn.now(), kNever, 1, family);
  if (!next) return next.error();
  const Result<std::optional<Millis>> ttl = txn.default_ttl(family);
  if (!ttl) return ttl.error();
  return StoreSummary::OfFamily{std::move(name), *counts,
                                next->empty() ? kNever : next->front().deadline, *ttl};
}

std::string shown(const std::string& name) {
  return is_utf8(name) ? name : "<hex:" + hex(name) + ">";
}

std::string next_text(Time deadline, Time now) {
  if (deadline == kNever) return "-";
  return "in " + time_left_text(remaining(deadline, now));
}

std::string families_table(const StoreSummary& summary, const Colours& colours) {
  TextTable table({{"family", ""},
                   {"entries", ""},
                   {"with a TTL", ""},
                   {"expired", "to be removed"},
                   {"next", "to expire"},
                   {"default TTL", ""}});
  const auto add = [&](const StoreSummary::OfFamily& row, const std::string& ttl, Emphasis how) {
    table.add_row({{shown(row.name), how},
                   {fmt::to_string(row.counts.live), how},
                   {fmt::to_string(row.counts.with_ttl), how},
                   {fmt::to_string(row.counts.expired), how},
                   {next_text(row.next_deadline, summary.now), how},
                   {ttl, how}});
  };
  for (const StoreSummary::OfFamily& row : summary.families) {
    add(row, row.default_ttl ? time_left_text(*row.default_ttl) : "none", Emphasis::none);
  }
  if (summary.families.size() > 1) add(summary.total(), "", Emphasis::strong);
  return table.render(colours);
}

std::string counts_json(const StoreSummary::OfFamily& family, Time now) {
  const std::string deadline = deadline_json(family.next_deadline, now);
  return fmt::format(R"("live": {}, "with_ttl": {}, "expired": {}, "next": {{{}}})",
                     family.counts.live, family.counts.with_ttl, family.counts.expired, deadline);
}

std::string joined(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects) text += (text.empty() ? "" : ", ") + object;
  return "[" + text + "]";
}

}  // namespace

StoreSummary::OfFamily StoreSummary::total() const {
  OfFamily total;
  total.name = "all";
  for (const OfFamily& family : families) {
    total.counts.live += family.counts.live;
    total.counts.with_ttl += family.counts.with_ttl;
    total.counts.expired += family.counts.expired;
    total.counts.stored += family.counts.stored;
    total.next_deadline = std::min(total.next_deadline, family.next_deadline);
  }
  return total;
}

Result<StoreSummary> summarize(const Store& store) {
  const Result<StoreStats> file = store.stats();
  if (!file) return file.error();
  const Result<ReadTxn> txn = store.read();
  if (!txn) return txn.error();
  StoreSummary summary{store.path().string(), txn->now(), *file, {}};
  // Not those of this program: a store keeps a snapshot of its own until its last commits are on
  // disk, which is none of the user's business.
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
      fmt::format("{}: {}, {} pages of {} bytes, of which {} ({}) are free to be used again\n",
                  summary.path, size_text(file.file_bytes), file.pages, file.page_bytes,
                  file.free_pages, size_text(file.free_pages * file.page_bytes));
  text += fmt::format("It may grow to {}. The last transaction is number {}.\n\n",
                      size_text(file.map_bytes), file.last_transaction);
  text += families_table(summary, colours);
  if (file.readers.empty()) return text;
  text += "\nReaders at this moment; what they see cannot be used again until they end\n";
  TextTable table({{"process", ""}, {"behind", "commits"}});
  for (const StoreReader& reader : file.readers) {
    table.add_row({{fmt::to_string(reader.process)}, {fmt::to_string(reader.behind)}});
  }
  return text + table.render(colours);
}

std::string stat_json(const StoreSummary& summary) {
  const StoreStats& file = summary.file;
  std::vector<std::string> families;
  for (const StoreSummary::OfFamily& family : summary.families) {
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
      joined(readers), joined(families));
}

}  // namespace mayfly
