// SPDX-License-Identifier: Apache-2.0
// Stream: entries in the order of their ids, and the groups that consume them.
//
//   Stream stream;
//   stream.append({now_ms, 0}, fields_and_values, limits);
//   stream.each(from, to, true, [](const StreamEntry& entry) { ...; return true; });
//
// Entries are kept in blocks: listpacks of the very layout that Redis and Valkey have in memory and
// in their files (stream_block.h). The blocks lie in a deque in the order of their first ids; a
// look-up is a binary search over the blocks, and then a walk over the entries of one. An append is
// at the end, a trim at the front, and both are O(1) for a block. A block that has lost all entries
// is removed, at a cost of O(blocks).
//
// A stream may be empty and exist: with XGROUP CREATE MKSTREAM, or after XTRIM.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/stream/stream_block.h"
#include "keyspace/stream/stream_group.h"
#include "keyspace/stream/stream_id.h"

namespace mayfly {

// An entry during a visit.
struct StreamEntry {
  StreamId id;
  std::span<const std::string_view> words;  // field, value, field, value ...
};

// What a trim removes from the front: what is too much for `keep`, or is below `least`.
struct StreamTrim {
  std::optional<std::size_t> keep = {};  // MAXLEN
  std::optional<StreamId> least = {};    // MINID, if there is no MAXLEN
  bool is_exact = true;                  // without `~`; else only whole blocks are removed
  std::size_t most = SIZE_MAX;           // LIMIT, of entries; 0 is no limit, too
};

class Stream {
 public:
  using Visit = std::function<bool(const StreamEntry&)>;
  using Groups = std::map<std::string, std::unique_ptr<StreamGroup>, std::less<>>;

  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  std::unique_ptr<Stream> clone() const;

  // ---- Reading ----

  std::size_t size() const { return size_; }
  std::size_t blocks() const { return blocks_.size(); }
  std::size_t bytes() const;  // that it has allocated, itself and its groups included
  std::size_t entry_bytes() const { return block_bytes_; }  // that its entries take; O(1)
  StreamId last_id() const { return last_id_; }             // of all that were ever added
  StreamId max_deleted_id() const { return max_deleted_id_; }
  std::uint64_t entries_added() const { return entries_added_; }
  StreamId first_id() const { return first_id_; }  // of the first entry; 0-0 if there is none
  StreamId top_id() const;  // of the last entry that is there; 0-0 if there is none
  bool contains(StreamId id) const;

  // Entries from `from` to `to`, both included, forward or backward, until `visit` returns false.
  // It may change groups, but no entries.
  void each(StreamId from, StreamId to, bool is_forward, const Visit& visit) const;

  // How many entries were added up to this id, if that can be told; for the lag of groups.
  std::optional<std::uint64_t> entries_up_to(StreamId id) const;
  // Whether an entry with this id or one behind it was deleted; not if the stream is empty.
  bool has_deleted_after(StreamId id) const;

  // ---- Changes ----

  // REQUIRES: id > last_id(), the words are fields and values in turn, and they have at most
  // kStreamBlockBytesMax bytes in all.
  void append(StreamId id, std::span<const std::string_view> words, const StreamLimits& limits);
  // The same; returns the block that got the entry, which is the last one, and where it begins
  // there.
  struct Place {
    const StreamBlock& block;
    std::size_t begin;
  };
  Place append(StreamId id, const EncodedStreamEntry& entry, const StreamLimits& limits);
  bool erase(StreamId id);  // false if it is not there; raises max_deleted_id()
  std::size_t trim(const StreamTrim& trim, const StreamLimits& limits);  // how many were removed

  // Removes the oldest block of entries, unless it is the only one. Returns how many entries.
  std::size_t trim_block();

  void set_last_id(StreamId id);  // top_id() if that is higher
  void set_max_deleted_id(StreamId id) { max_deleted_id_ = id; }
  void set_entries_added(std::uint64_t count) { entries_added_ = count; }

  // ---- Groups ----

  Groups& groups() { return groups_; }
  const Groups& groups() const { return groups_; }
  StreamGroup* group(std::string_view name);  // null if there is none
  // Null if there is one of that name. `entries_read`: nothing if unknown.
  StreamGroup* make_group(std::string_view name, StreamId last_id,
                          std::optional<std::uint64_t> entries_read);
  bool erase_group(std::string_view name);
  // Entries that the group has not read yet; nothing if that cannot be told.
  // Negative if the group claims to have read more than were added.
  std::optional<std::int64_t> lag(const StreamGroup& group) const;

  // ---- For files ----

  // Calls `visit(first_id, listpack)` for each block, in order.
  void each_block(const std::function<void(StreamId, std::string_view)>& visit) const;
  // Adds a block behind the others. An error text if it is damaged; the stream is unchanged then.
  // Safe for any bytes. Counts the entries as added, and raises last_id() to the last of them.
  std::string adopt_block(StreamId first, std::string_view listpack);

  // Frees about so much of the weight, the stream is of no other use then; returns what is left.
  std::size_t free_some(std::size_t limit);
  std::size_t weight() const;  // entries, groups, and what these have; for lazy freeing

  std::string check_invariants() const;

 private:
  // Runs `change(block)` and keeps account of the bytes.
  template <class Change>
  auto change_block(std::size_t index, Change change);
  void push_block(StreamBlock block);
  std::size_t close_block(const StreamLimits& limits);  // the last one; room for the next
  void count_added(StreamId id);
  void drop_block(std::size_t index);
  // The last one that begins at this id or before it, or the first.
  std::size_t block_of(StreamId id) const;
  std::string check_front() const;
  void find_first();  // sets first_id_ and front_skipped_

  std::deque<StreamBlock> blocks_;
  std::size_t block_bytes_ = 0;  // that the blocks have allocated
  std::size_t size_ = 0;
  StreamId first_id_;
  std::size_t front_skipped_ = 0;  // so many bytes of entries in the first block are deleted ones
  StreamId last_id_;
  StreamId max_deleted_id_;
  std::uint64_t entries_added_ = 0;
  Groups groups_;
};

}  // namespace mayfly
