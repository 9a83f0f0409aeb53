// SPDX-License-Identifier: Apache-2.0
// StreamBlockCursor and StreamWords: read the entries of a block.
//
//   StreamBlockCursor cursor(block);
//   StreamWords words;
//   while (cursor.next()) {
//     if (!cursor.is_deleted()) show(cursor.id(), words.read(cursor));
//   }

#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "keyspace/stream/stream_block.h"
#include "keyspace/stream/stream_id.h"

namespace mayfly {

// Walks over the entries of a block, the deleted ones included, in both directions. At first it
// stands before the first entry, or before the one at `skipped`. The block must not change
// meanwhile.
class StreamBlockCursor {
 public:
  explicit StreamBlockCursor(const StreamBlock& block, std::size_t skipped = 0);

  bool next();             // false: there is none
  bool previous();         // false: there is none
  void to_end();           // behind the last entry
  bool seek(StreamId id);  // to the first entry with this id or one behind it, from the nearer end

  StreamId id() const { return id_; }
  bool is_deleted() const;
  // How many bytes of entries lie before it. That stays when entries are added or deleted.
  std::size_t skipped() const { return static_cast<std::size_t>(at_ - entries_); }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - listpack_); }

 private:
  friend class StreamWords;

  void stand(const char* at);
  bool has_same_fields() const;

  StreamId first_;
  const char* listpack_;
  const char* fields_;     // the first of the block's
  std::size_t count_ = 0;  // of the block's fields
  const char* entries_;    // the first one
  const char* end_;        // the end of the listpack

  // The entry on which it stands. Before the first one and behind the last, `at_` is where the next
  // entry begins, and `content_` is null.
  StreamId id_;
  const char* at_;
  const char* content_ = nullptr;  // behind the id
  const char* behind_ = nullptr;   // the next entry; null if it was not looked for yet
};

// The words of an entry. It keeps its buffers from entry to entry.
class StreamWords {
 public:
  // Of the entry on which the cursor stands; valid until the next call.
  std::span<const std::string_view> read(StreamBlockCursor& cursor);

 private:
  struct Digits {
    char text[24];
  };
  const char* read_words(const char* at, std::size_t index, std::size_t end, std::size_t step);

  std::vector<std::string_view> words_;
  std::vector<Digits> digits_;
  const char* fields_ = nullptr;  // whose names words_ has; null: none of a block
};

}  // namespace mayfly
