// SPDX-License-Identifier: Apache-2.0
// The histogram of the deadlines of a family. LMDB's part is read from the key index, in the order
// of keys: there the data, if sizes are asked for, is read along with it, page by page.

#include "store/table/window_cursor.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

// The entries of LMDB of which the window says nothing.
class TreeTtls {
 public:
  TreeTtls(MDB_txn* txn, const FamilyView& view, const Window& window)
      : txn_(txn), view_(view), window_(window) {}

  Status add_to(TtlHistogram& histogram, Time now, bool with_bytes) {
    if (view_.tables.keys == 0) return Done{};
    if (const Status opened = keys_.open(txn_, view_.tables.keys); !opened) return opened;
    if (const Status opened = data_.open(txn_, view_.tables.data); !opened) return opened;
    const bool is_blank = window_.is_blank();
    for (bool there = keys_.move(MDB_FIRST); there; there = keys_.move(MDB_NEXT)) {
      if (keys_.value().size() != kDeadlineBytes) return damaged_rows();
      LongValue entry{keys_.key(), {}};
      if (with_bytes || (!is_blank && is_long(entry.key))) {
        if (const Status read = read_data(entry); !read) return read;
      }
      if (!is_blank && window_.find(view_.id, entry.key).state != InTables::State::unknown) {
        continue;
      }
      const std::uint64_t bytes = with_bytes ? entry.key.size() + entry.value.size() : 0;
      histogram.add(decode_deadline(keys_.value()), now, {1, bytes});
    }
    return keys_.status();
  }

 private:
  // The value, and a long key, which stands in the data only.
  Status read_data(LongValue& entry) {
    if (!data_.move(MDB_SET, entry.key)) {
      return data_.status() ? Status(damaged_rows()) : data_.status();
    }
    if (!is_long(entry.key)) {
      entry.value = data_.value();
      return Done{};
    }
    const LongValueResult split = split_long_value(data_.value());
    if (!split.ok) return damaged_rows();
    entry = split.parts;
    return Done{};
  }

  MDB_txn* const txn_;
  const FamilyView& view_;
  const Window& window_;
  TableCursor keys_;
  TableCursor data_;
};

}  // namespace

Result<TtlHistogram> Txn::ttl_histogram(FamilyView& view, bool with_bytes) {
  TtlHistogram histogram;
  const Status read = TreeTtls(lmdb(), view, window_).add_to(histogram, now(), with_bytes);
  if (!read) return read.error();
  if (window_.is_blank()) return histogram;
  WindowDeadlines walk(window_, view.id);
  for (walk.seek(Time::min()); walk.valid(); walk.next()) {
    std::uint64_t bytes = 0;
    if (with_bytes) {
      std::string_view value;
      if (walk.what().value != nullptr) {
        value = walk.what().value->value();
      } else {
        const auto below = look_in_tree(view, walk.key(), Need::value);
        if (!below) return below.error();
        if (!*below) return damaged_rows();
        value = (*below)->value;
      }
      bytes = walk.key().size() + value.size();
    }
    histogram.add(walk.deadline(), now(), {1, bytes});
  }
  return histogram;
}

}  // namespace mayfly::internal
