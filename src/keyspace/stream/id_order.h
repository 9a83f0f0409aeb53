// SPDX-License-Identifier: Apache-2.0
// IdOrder: entries in the order of their stream ids, for what is pending in groups and consumers.
//
// It is used like a std::set, or like a std::map if an Entry is an id `first` with more. Entries
// are kept in sorted chunks, so an entry takes little more than its own size. Most are added at the
// end and removed at the begin; then all chunks but the first and the last are full.
//
//   find, insert, erase   O(log n), and moves of up to a chunk; a new or removed chunk O(chunks)
//   bytes                 O(chunks)
//
// Changes leave iterators valid: one stays on its entry, or goes on to the next one if that is
// gone. References to entries are valid until the next insert or erase.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keyspace/stream/stream_id.h"

namespace mayfly {

template <class Entry>
class IdOrder {
  struct Place {
    std::size_t chunk = 0;
    std::size_t index = 0;

    bool operator==(const Place&) const = default;
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const Entry*;
    using reference = const Entry&;

    Iterator() = default;

    reference operator*() const { return sync(), order_->chunks_[place_.chunk][place_.index]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      sync();
      place_ = order_->next(place_);
      return keep_id();
    }
    Iterator& operator--() {
      sync();
      place_ = order_->previous(place_);
      return keep_id();
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    Iterator operator--(int) {
      const Iterator before = *this;
      --*this;
      return before;
    }
    bool operator==(const Iterator& other) const {
      return sync(), other.sync(), place_ == other.place_;
    }

   private:
    friend class IdOrder;

    Iterator(const IdOrder& order, Place place)
        : order_(&order), place_(place), version_(order.version_) {
      keep_id();
    }

    Iterator& keep_id() {
      is_end_ = place_.chunk == order_->chunks_.size();
      if (!is_end_) id_ = id_of(order_->chunks_[place_.chunk][place_.index]);
      return *this;
    }

    // Finds its place again after a change.
    void sync() const {
      if (version_ == order_->version_) return;
      place_ = is_end_ ? order_->end_place() : order_->lower(id_);
      version_ = order_->version_;
    }

    const IdOrder* order_ = nullptr;
    StreamId id_;
    bool is_end_ = true;
    mutable Place place_;
    mutable std::uint64_t version_ = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Iterator begin() const { return {*this, Place{}}; }
  Iterator end() const { return {*this, end_place()}; }
  std::reverse_iterator<Iterator> rbegin() const { return std::reverse_iterator(end()); }
  std::reverse_iterator<Iterator> rend() const { return std::reverse_iterator(begin()); }
  Iterator lower_bound(StreamId id) const { return {*this, lower(id)}; }
  Iterator upper_bound(StreamId id) const {
    const std::optional<StreamId> behind = id.next();
    return behind ? lower_bound(*behind) : end();
  }
  bool contains(StreamId id) const { return has(lower(id), id); }

  // Null if it is not there.
  Entry* find(StreamId id) {
    const Place place = lower(id);
    return has(place, id) ? &chunks_[place.chunk][place.index] : nullptr;
  }
  const Entry* find(StreamId id) const { return const_cast<IdOrder*>(this)->find(id); }

  // Does nothing if there is one with its id; returns the one that is there.
  Entry& insert(const Entry& entry) {
    Place place = lower(id_of(entry));
    if (has(place, id_of(entry))) return chunks_[place.chunk][place.index];
    ++version_;
    ++size_;
    place = make_room(place);
    Chunk& chunk = chunks_[place.chunk];
    return *chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(place.index), entry);
  }

  bool erase(StreamId id) {
    const Place place = lower(id);
    if (!has(place, id)) return false;
    ++version_;
    --size_;
    Chunk& chunk = chunks_[place.chunk];
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(place.index));
    compact(place.chunk);
    return true;
  }

  // Removes about `limit` entries from the end; returns how many.
  std::size_t drop_some(std::size_t limit) {
    std::size_t dropped = 0;
    for (; dropped < limit && !chunks_.empty(); chunks_.pop_back())
      dropped += chunks_.back().size();
    ++version_;
    size_ -= dropped;
    return dropped;
  }

  std::size_t bytes() const {  // that it has allocated
    std::size_t bytes = chunks_.capacity() * sizeof(Chunk);
    for (const Chunk& chunk : chunks_) bytes += chunk.capacity() * sizeof(Entry);
    return bytes;
  }

  std::string check_invariants() const {
    std::size_t size = 0;
    const Entry* last = nullptr;
    for (const Chunk& chunk : chunks_) {
      if (chunk.empty() || chunk.size() > kChunkMost) return "a chunk of a wrong size";
      size += chunk.size();
      for (const Entry& entry : chunk) {
        if (last != nullptr && id_of(entry) <= id_of(*last)) return "ids out of order";
        last = &entry;
      }
    }
    return size == size_ ? "" : "a wrong number of ids";
  }

 private:
  using Chunk = std::vector<Entry>;
  static constexpr std::size_t kChunkMost = 128;

  static StreamId id_of(const StreamId& id) { return id; }
  template <class Other>
  static StreamId id_of(const Other& entry) {
    return entry.first;
  }

  Place end_place() const { return {chunks_.size(), 0}; }
  Place next(Place place) const {
    if (++place.index < chunks_[place.chunk].size()) return place;
    return {place.chunk + 1, 0};
  }
  Place previous(Place place) const {
    if (place.index > 0) return {place.chunk, place.index - 1};
    return {place.chunk - 1, chunks_[place.chunk - 1].size() - 1};
  }

  // Of the first entry with this id or one behind it.
  Place lower(StreamId id) const {
    if (chunks_.empty() || id_of(chunks_.back().back()) < id) return end_place();
    const auto chunk = std::ranges::partition_point(
        chunks_, [id](const Chunk& earlier) { return id_of(earlier.back()) < id; });
    const auto entry = std::ranges::partition_point(
        *chunk, [id](const Entry& earlier) { return id_of(earlier) < id; });
    return {static_cast<std::size_t>(chunk - chunks_.begin()),
            static_cast<std::size_t>(entry - chunk->begin())};
  }
  bool has(Place place, StreamId id) const {
    return place.chunk < chunks_.size() && id_of(chunks_[place.chunk][place.index]) == id;
  }

  // Where to insert what belongs before `place`, in a chunk that is not full.
  Place make_room(Place place) {
    const bool is_at_end = place == end_place();
    if (is_at_end && (chunks_.empty() || chunks_.back().size() == kChunkMost)) {
      chunks_.emplace_back();
      if (chunks_.size() > 1) chunks_.back().reserve(kChunkMost);
      return place;
    }
    if (is_at_end) return {place.chunk - 1, chunks_.back().size()};
    Chunk& chunk = chunks_[place.chunk];
    if (chunk.size() < kChunkMost) return place;
    const auto middle = chunk.begin() + kChunkMost / 2;
    Chunk upper(middle, chunk.end());
    chunk.erase(middle, chunk.end());
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(place.chunk) + 1,
                   std::move(upper));
    if (place.index <= kChunkMost / 2) return place;
    return {place.chunk + 1, place.index - kChunkMost / 2};
  }

  // Makes up for what a chunk has lost: it goes if it is empty, is joined with a neighbour if both
  // are small, or gets smaller.
  void compact(std::size_t index) {
    Chunk& chunk = chunks_[index];
    if (chunk.size() * 4 > chunk.capacity()) return;
    if (chunk.empty()) {
      drop_chunk(index);
    } else if (!join(index) && (index == 0 || !join(index - 1))) {
      chunk.shrink_to_fit();
    }
  }

  // Joins a chunk with the next one, if both are small.
  bool join(std::size_t index) {
    if (index + 1 == chunks_.size()) return false;
    Chunk& chunk = chunks_[index];
    const Chunk& behind = chunks_[index + 1];
    if (chunk.size() + behind.size() > kChunkMost / 2) return false;
    chunk.insert(chunk.end(), behind.begin(), behind.end());
    drop_chunk(index + 1);
    return true;
  }

  void drop_chunk(std::size_t index) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(index));
    if (chunks_.size() * 4 <= chunks_.capacity()) chunks_.shrink_to_fit();
  }

  std::vector<Chunk> chunks_;  // none is empty
  std::size_t size_ = 0;
  std::uint64_t version_ = 0;  // counts changes, for iterators
};

}  // namespace mayfly
