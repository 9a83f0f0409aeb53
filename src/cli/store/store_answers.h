// SPDX-License-Identifier: Apache-2.0
// What the commands on a store print: long answers line by line, deadlines, sizes; and the answers
// that the shell gives, too, which are the same there.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

class ReadTxn;
class StoreFile;

// Lines for the standard output, written in large pieces.
//
//   Lines lines;
//   for (...) {
//     lines.text() += "a line\n";
//     if (!lines.go_on()) break;
//   }
//   return lines.finish();
class Lines {
 public:
  std::string& text() { return text_; }  // what is to be written next; append to it

  // To be asked after each line: whether anybody still reads.
  bool go_on() { return text_.size() < kPieceBytes || write(); }

  // Writes the rest. What cannot be written is thrown, as tools/output.h does.
  Status finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
  bool write();

  std::string text_;
  int failure_ = 0;  // errno
};

// "ttl": 29.5, "deadline_ms": 4102444740000, "deadline": "2099-..Z"; each null if it never expires.
std::string deadline_json(Time deadline, Time now);

// A duration in seconds, or null if there is none: Millis::max().
std::string seconds_json(Millis duration);

// "512 B", "12.4 MB": in powers of 1000.
std::string size_text(std::uint64_t bytes);

// Of one key: its value, whether it is there, what it has still to live, and what became of its
// deadline, which is `deadline` now.
void print_entry(std::string_view key, std::string_view value, Time deadline, Time now,
                 const StoreFile& file);
void print_exists(std::string_view key, bool is_found, const StoreFile& file);
void print_ttl(std::string_view key, Time deadline, Time now, const StoreFile& file);
void print_changed(std::string_view key, bool is_changed, Time deadline, Time now,
                   const StoreFile& file);

// {"key": "a", "stored": true}; nothing unless it is JSON that is wanted. So for a family's name.
void print_done(std::string_view key, const char* what, const StoreFile& file);
void print_family_done(std::string_view name, const char* what, const StoreFile& file);

// Of incr.
void print_sum(std::string_view key, std::int64_t sum, const StoreFile& file);

void print_inserted(std::string_view key, bool is_inserted, const StoreFile& file);

// Of a purge: how much is gone, and whether there is nothing left to remove.
void print_purged(std::uint64_t removed, bool is_done, const StoreFile& file);

// The column families but for the default one, a line for each.
Status print_families(const ReadTxn& txn, const StoreFile& file);

}  // namespace mayfly
