// SPDX-License-Identifier: Apache-2.0
// What the commands on a store and the shell print.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/store/store_file.h"
#include "cli/store/store_summary.h"
#include "mayfly/result.h"
#include "mayfly/store_txn.h"
#include "mayfly/time.h"

namespace mayfly {

struct Operation;
class StopSignals;

// Writes lines to standard output in large pieces.
//
//   Lines lines;
//   for (...) {
//     lines.text() += "a line\n";
//     if (!lines.go_on()) break;
//   }
//   return lines.finish();
class Lines {
 public:
  std::string& text() { return text_; }  // append to it

  // Call it after each line. False: stop, writing failed.
  bool go_on() { return text_.size() < kPieceBytes || write(); }

  // Writes the rest. Throws like write_output() if writing failed.
  Status finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
  bool write();

  std::string text_;
  int failure_ = 0;  // errno
};

// "ttl": 29.5, "deadline_ms": 4102444740000, "deadline": "2099-..Z"; each null if it does not
// expire.
std::string deadline_json(Time deadline, Time now);

// A duration in seconds; null for Millis::max().
std::string seconds_json(Millis duration);

// "512 B", "12.4 MB": in powers of 1000.
std::string size_text(std::uint64_t bytes);

// One key: its value, whether it exists, its remaining TTL, and whether its expiry time was changed
// to `deadline`.
void print_entry(std::string_view key, std::string_view value, Time deadline, Time now,
                 const StoreFile& file);
void print_exists(std::string_view key, bool is_found, const StoreFile& file);
void print_ttl(std::string_view key, Time deadline, Time now, const StoreFile& file);
void print_changed(std::string_view key, bool is_changed, Time deadline, Time now,
                   const StoreFile& file);

// {"key": "a", "stored": true}; prints nothing without --json. The same for a column family.
void print_done(std::string_view key, const char* what, const StoreFile& file);
void print_family_done(std::string_view name, const char* what, const StoreFile& file);

void print_sum(std::string_view key, std::int64_t sum, const StoreFile& file);

void print_inserted(std::string_view key, bool is_inserted, const StoreFile& file);

// The number of entries removed, and whether all expired entries are.
void print_purged(std::uint64_t removed, bool is_done, const StoreFile& file);

// The column families without the default one, one per line.
Status print_families(const ReadTxn& txn, const StoreFile& file);

// Reports that the key does not exist.
Exit not_found(std::string_view key, const StoreFile& file);

// ---- Longer answers, each in the file of its command ----

// Applies a change in its own transaction and prints the result (store_keys.cc).
Result<Exit> run_operation(const Operation& operation, StoreFile::Use use, const StoreFile& file);

// Called after each line; true ends the output.
using IsStopped = bool (*)();

// The entries that list and scan print (store_scan.cc).
struct Walk {
  std::string prefix;
  std::string seek;  // the first key; empty: the first one there is
  std::uint64_t limit = UINT64_MAX;
  bool is_reverse = false;
  bool has_ttl = false;
  bool has_values = false;
};
// Returns the number of entries.
Result<std::uint64_t> print_walk(const Walk& walk, const ReadTxn& txn, Family family,
                                 std::string_view family_name, const StoreFile& file,
                                 IsStopped is_stopped);
Status print_count(const std::string& prefix, const ReadTxn& txn, Family family,
                   const StoreFile& file);

// One line per key: the key, the remaining time, the expiry time (store_expiring.cc).
Status print_expiring(const std::vector<Expiring>& keys, Time now, std::string_view family_name,
                      const StoreFile& file, IsStopped is_stopped);

// The file and its column families; a line for each interval, until a signal ends it
// (store_stat.cc).
Status print_stat(const Store& store, const StoreFile& file, StatOptions options = {});
Status watch_stat(const Store& store, const StoreFile& file, Millis interval, StopSignals& stop);

}  // namespace mayfly
