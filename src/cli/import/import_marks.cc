// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "cli/import/import_item.h"
#include "cli/import/whole_server.h"
#include "store/txn/catalog.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// A server that becomes a replica loses its data.
constexpr std::array<std::string_view, 5> kWipers = {"flushall", "flushdb", "swapdb", "replicaof",
                                                     "slaveof"};
constexpr std::array<std::string_view, 3> kRemovals = {"expired_keys", "expired_fields",
                                                       "evicted_keys"};

// So many families stood in a mark before there were streams; then came the position.
constexpr std::size_t kOldFamilies = 5;

// The number at the front of a text; 0 if there is none.
std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view take_text(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

// Gives access to the catalog of the store, which is not public.
class TxnAccess : public ReadTxn {
 public:
  static internal::Txn& of(const ReadTxn& txn) { return *(txn.*&TxnAccess::txn_); }
};

// Takes a number and the separator after it off the text; 0 if there is none.
template <class Number>
Number take_digits(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base).ptr;
  const std::size_t length = static_cast<std::size_t>(end - text.data());
  text.remove_prefix(std::min(text.size(), length + 1));
  return number;
}

}  // namespace

ServerMark ServerMark::identify(RespClient& client) {
  ServerMark mark;
  const Result<ReplyValue> server = client.call("INFO", "server");
  if (server) mark.run_id = info_value(server->text, "run_id");
  const Result<ReplyValue> commands = client.call("INFO", "commandstats");
  if (!commands) return mark;
  for (const std::string_view name : kWipers) {
    const std::string_view counts = info_value(commands->text, fmt::format("cmdstat_{}", name));
    constexpr std::string_view kCalls = "calls=";
    if (!counts.starts_with(kCalls)) continue;
    mark.wipes += leading_number(counts.substr(kCalls.size()));
  }
  return mark;
}

Status ServerMark::count(RespClient& client, bool of_all_databases) {
  // Sent together, so that few keys expire in between.
  if (of_all_databases) {
    client.add("INFO", "keyspace");
  } else {
    client.add("DBSIZE");
  }
  client.add("INFO", "stats");
  if (const Status status = client.send(); !status) return status;
  const Result<ReplyValue> size = client.read();
  if (!size) return size.error();
  const Result<ReplyValue> stats = client.read();
  if (!stats) return stats.error();
  // An error reply (not permitted) counts as 0; the run id must do.
  keys = static_cast<std::uint64_t>(std::max<std::int64_t>(size->integer, 0));
  for (const DatabaseKeys& database : keys_of_databases(size->text)) keys += database.keys;
  removed = 0;
  for (const std::string_view name : kRemovals) {
    removed += leading_number(info_value(stats->text, name));
  }
  return Done{};
}

std::string ServerMark::text() const {
  return fmt::format("{} {} {} {}", run_id.empty() ? "-" : run_id, wipes, keys, removed);
}

ServerMark ServerMark::parse(std::string_view text) {
  ServerMark mark;
  mark.run_id = take_text(text);
  if (mark.run_id == "-") mark.run_id.clear();
  mark.wipes = leading_number(take_text(text));
  mark.keys = leading_number(take_text(text));
  mark.removed = leading_number(take_text(text));
  return mark;
}

std::string ServerMark::change_since(const ServerMark& before) const {
  if (run_id.empty() || before.run_id.empty()) {
    return "does not report its run_id (INFO server) and may have been restarted";
  }
  if (run_id != before.run_id) return "has been restarted since the interruption";
  if (wipes == before.wipes) return "";
  return "may have been emptied (FLUSHALL, FLUSHDB, SWAPDB or REPLICAOF) since the copy started";
}

std::string ServerMark::loss_since(const ServerMark& before) const {
  if (std::string change = change_since(before); !change.empty()) return change;
  const std::uint64_t removed_since = removed - std::min(removed, before.removed);
  if (keys + removed_since >= before.keys) return "";
  return fmt::format("had {} keys and now has {}", before.keys, keys);
}

Result<StoreMark> StoreMark::of(const Store& store, std::string_view family) {
  const Result<ReadTxn> read = store.read();
  if (!read) return read.error();
  internal::Txn& txn = TxnAccess::of(*read);
  StoreMark mark;
  mark.seed = txn.catalog().hash_seed();
  mark.transaction = ::mdb_txn_id(txn.lmdb());
  mark.position = txn.window().tail();
  for (std::size_t i = 0; i < kCopyTypes.size(); ++i) {
    const std::string name = family_name(family, static_cast<CopyType>(i));
    const std::optional<Family> found = txn.catalog().find(name);
    if (!found) continue;
    internal::FamilyView* const view = txn.view(*found);
    if (view == nullptr) return txn.missing_family();
    const Result<FamilyCounts> counts = txn.count(*view);
    if (!counts) return counts.error();
    mark.families[i] = {internal::Catalog::id_of(*found), counts->live - counts->with_ttl};
  }
  return mark;
}

std::string StoreMark::text() const {
  std::string text = fmt::format("{:016x} {}", seed, transaction);
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (i == kOldFamilies) text += fmt::format(" {}", position);
    text += fmt::format(" {}:{}", families[i].id, families[i].rows);
  }
  return text;
}

StoreMark StoreMark::parse(std::string_view text) {
  StoreMark mark;
  mark.seed = take_digits<std::uint64_t>(text, 16);
  mark.transaction = take_digits<std::uint64_t>(text);
  for (std::size_t i = 0; i < mark.families.size(); ++i) {
    if (i == kOldFamilies) mark.position = take_digits<std::uint64_t>(text);
    mark.families[i].id = take_digits<std::uint32_t>(text);
    mark.families[i].rows = take_digits<std::uint64_t>(text);
  }
  return mark;
}

std::string StoreMark::change_since(const StoreMark& before) const {
  if (seed != before.seed) return "is not the same store as before the interruption";
  if (transaction < before.transaction || position < before.position) {
    return "is older than before the interruption, or has been compacted";
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (before.families[i].id == 0 || before.families[i].id == families[i].id) continue;
    return fmt::format("has lost its family of type {} since the interruption", kCopyTypes[i]);
  }
  return "";
}

std::string StoreMark::loss_since(const StoreMark& before) const {
  if (std::string change = change_since(before); !change.empty()) return change;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::uint64_t had = before.families[i].rows;
    const std::uint64_t has = families[i].rows;
    if (has >= had) continue;
    return fmt::format("had {} entries of type {} and now has {}", had, kCopyTypes[i], has);
  }
  return "";
}

}  // namespace mayfly
