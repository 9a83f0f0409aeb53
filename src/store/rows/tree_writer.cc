// SPDX-License-Identifier: Apache-2.0

#include "store/rows/tree_writer.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace mayfly::internal {
namespace {

constexpr std::size_t kFilingsBytes = std::size_t{64} << 20;  // then they are written

}  // namespace

Status TreeWriter::open(bool with_deadlines) {
  if (!is_open_ || (with_deadlines && tables_.keys == 0)) {
    const auto tables = with_deadlines ? tree_.tables_with_deadlines(family_)
                                       : tree_.tables(*tree_.catalog().find(family_));
    if (!tables) return tables.error();
    tables_ = *tables;
    is_open_ = true;
  }
  if (!data_.is_open()) {
    if (Status opened = data_.open(tree_.lmdb(), tables_.data); !opened) return opened;
  }
  if (!keys_.is_open() && tables_.keys != 0) return keys_.open(tree_.lmdb(), tables_.keys);
  return Done{};
}

// Fails if the row of a long key belongs to another key. Two keys with the same hash cannot both be
// stored; that is one chance in 2^64 when there are 2^32 long keys.
Status TreeWriter::check_owner(const StoredKey& key) {
  if (!data_.move(MDB_SET, key.bytes())) return data_.status();
  const LongValueResult split = split_long_value(data_.value());
  if (!split.ok) return damaged_rows();
  return to_write_status(split.parts.key == key.key() ? 0 : MDB_KEYEXIST);
}

Status TreeWriter::put_value(const StoredKey& key, std::string_view value) {
  if (!key.long_form()) return data_.put(key.bytes(), value);
  if (Status owned = check_owner(key); !owned) return owned;
  const auto space = data_.reserve(key.bytes(), long_value_bytes(key.key().size(), value.size()));
  if (!space) return space.error();
  char* const at = begin_long_value(*space, key.key());
  if (!value.empty()) std::memcpy(at, value.data(), value.size());
  return Done{};
}

Status TreeWriter::put(std::string_view key, std::string_view value, Time deadline) {
  if (Status opened = open(deadline != kNever); !opened) return opened;
  const StoredKey stored(key, tree_.catalog().hash_seed());
  bytes_ += key.size() + value.size();
  if (Status done = put_value(stored, value); !done) return done;
  return change_deadline(stored.bytes(), deadline);
}

Status TreeWriter::set_deadline(std::string_view key, Time deadline) {
  if (Status opened = open(deadline != kNever); !opened) return opened;
  const StoredKey stored(key, tree_.catalog().hash_seed());
  return change_deadline(stored.bytes(), deadline);
}

Status TreeWriter::erase(std::string_view key) {
  if (Status opened = open(false); !opened) return opened;
  const StoredKey stored(key, tree_.catalog().hash_seed());
  const auto was_there = data_.remove(stored.bytes());
  if (!was_there) return was_there.error();
  return change_deadline(stored.bytes(), kNever);  // also of one that only the indexes have
}

// The row of `deadlines` that belongs to a damaged row of `keys` is unknown and stays: it stops no
// checkpoint, and check() names it.
Status TreeWriter::change_deadline(std::string_view stored, Time deadline) {
  if (tables_.keys == 0) return Done{};
  const bool has_row = keys_.move(MDB_SET, stored);
  if (!has_row && !keys_.status()) return keys_.status();
  const bool is_sound = has_row && keys_.value().size() == kDeadlineBytes;
  const Time old = is_sound ? decode_deadline(keys_.value()) : kNever;
  if (has_row && !is_sound) ++damaged_;
  if (old == deadline && has_row == is_sound) return Done{};
  if (old != kNever) file(stored, old, false);
  if (deadline == kNever) return has_row ? keys_.remove_here() : Status(Done{});
  file(stored, deadline, true);
  if (Status put = keys_.put(stored, encode_deadline(deadline).view()); !put) return put;
  return names_.size() < kFilingsBytes ? Status(Done{}) : finish();
}

void TreeWriter::file(std::string_view stored, Time deadline, bool adds) {
  filings_.push_back({deadline, static_cast<std::uint32_t>(names_.size()),
                      static_cast<std::uint16_t>(stored.size()), adds});
  names_ += stored;
}

// A key may have lost a deadline and got it again; removals come first. A row to be removed that is
// not there was damaged: if another row stands for it, that one stays, and check() names it.
Status TreeWriter::finish() {
  if (filings_.empty()) return Done{};
  std::ranges::sort(filings_, [this](const Filing& a, const Filing& b) {
    if (a.deadline != b.deadline) return a.deadline < b.deadline;
    return std::tuple(stored_of(a), a.adds) < std::tuple(stored_of(b), b.adds);
  });
  TableCursor deadlines;
  Status status = deadlines.open(tree_.lmdb(), tables_.deadlines);
  for (auto filing = filings_.begin(); status && filing != filings_.end(); ++filing) {
    const ExpiryKey row(filing->deadline, stored_of(*filing));
    if (filing->adds) {
      status = deadlines.put(row.bytes(), {});
    } else {
      const auto was_there = deadlines.remove(row.bytes());
      if (!was_there) return was_there.error();
      if (!*was_there) ++damaged_;
    }
  }
  filings_.clear();
  names_.clear();
  return status;
}

Status TreeWriter::clear() {
  if (Status opened = open(false); !opened) return opened;
  data_.close();
  keys_.close();
  filings_.clear();
  names_.clear();
  Status cleared = clear_table(tree_.lmdb(), tables_.data);
  if (cleared && tables_.keys != 0) cleared = clear_table(tree_.lmdb(), tables_.keys);
  if (cleared && tables_.deadlines != 0) cleared = clear_table(tree_.lmdb(), tables_.deadlines);
  return cleared;
}

}  // namespace mayfly::internal
