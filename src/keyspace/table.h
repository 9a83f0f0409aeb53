// SPDX-License-Identifier: Apache-2.0
// Table: finds slots by hash, and grows and shrinks by one bucket at a time.
//
//   bucket   0     1     2   |  3     4     5     6     7  |  8     9    10
//          split already     |  still to be split in this  |  their other halves
//          (4 bits count)    |  round (3 bits count)       |  (4 bits)
//
//   | slot 4 | ... 12 of them ... | tag 1 | ... 12 of them ... | next and count 4 |     64 bytes
//                                                                  |
//                                                                  v  an overflow bucket, if needed
//
// Linear hashing (Litwin, 1980). With 2^k + s buckets, the last k bits of a hash name its bucket,
// or the last k + 1 bits if that bucket is one of the first s: those were split in this round. An
// insertion that makes the table too dense splits the next bucket, and an erasure that makes it too
// sparse joins the last one to its other half. So the work of a step does not depend on the size,
// and there is never a second table. A bucket is a cache line; entries beyond its 12 stand in
// overflow buckets. All buckets of a chain are full but the last. A tag is 8 bits of the hash, so
// that a look-up hardly ever asks about a slot that is not the one sought.
//
// A split needs the hashes of a bucket's slots. They are not kept: the owner is asked for them. (A
// join needs none: the tags stay as they are.)
//
// A scan goes along the line of hashes written backwards, last bit first. On that line each bucket
// is an interval; a split halves it and a join makes two neighbours one. A cursor is a point on the
// line. A step visits the bucket around it and returns the end of the bucket's interval: whatever
// was split or joined meanwhile, all before that point was seen. (Written forwards again, a cursor
// is a small number.)
//
//   find, insert, erase   O(1) expected: 1.03 to 1.15 cache lines, 1.1 to 1.5 for what is not
//                         there; a step of growth moves a dozen slots
//   scan, pick            O(1) expected: a bucket
//   memory                8 bytes a slot when it has grown, up to 9.2 when it has shrunk (small
//                         tables some more: 9.4 at 1,000 slots)

#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mayfly/random.h"
#include "mayfly/slot.h"

namespace mayfly {

// A reference to a function object of the owner that returns the hash of a slot. Valid during a
// call.
class HashOfSlot {
 public:
  template <class HashOf>
  requires(!std::is_same_v<HashOf, HashOfSlot>)
      HashOfSlot(const HashOf& hash_of)  // not explicit: callers write a lambda
      : owner_(&hash_of), call_([](const void* owner, Slot slot) -> std::uint64_t {
          return (*static_cast<const HashOf*>(owner))(slot);
        }) {}

  std::uint64_t operator()(Slot slot) const { return call_(owner_, slot); }

 private:
  const void* owner_;
  std::uint64_t (*call_)(const void*, Slot);
};

class Table {
 public:
  Table() = default;
  Table(Table&& other) noexcept { *this = std::move(other); }
  Table& operator=(Table&& other) noexcept;

  // The slot with this hash for which `is_it(slot)` holds, or kNoSlot.
  template <class IsIt>
  Slot find(std::uint64_t hash, IsIt is_it) const;

  // Asks `hash_of` about slots that were inserted before, never about this one.
  // REQUIRES: the slot is not in the table.
  void insert(std::uint64_t hash, Slot slot, HashOfSlot hash_of);

  // Asks `hash_of` about other slots, never about this one: it may be gone already.
  // REQUIRES: the slot is in the table, under this hash.
  void erase(std::uint64_t hash, Slot slot, HashOfSlot hash_of);

  // Calls `see(slot)` for the slots of one bucket and returns the cursor of the next, or 0 when it
  // was the last. Begins with cursor 0. A slot that exists from the first step to the last is
  // seen at least once, whatever is inserted or erased between steps. Any number may be passed as
  // a cursor. The table must not be changed by `see`.
  template <class See>
  std::uint64_t scan(std::uint64_t cursor, See see) const;

  // A random slot, each as likely as any other. REQUIRES: size() > 0.
  Slot pick(Random& random) const;

  // Fetches the hash's bucket into the processor's cache, ahead of its use. Inlined here and
  // elsewhere: g++ 12 drops calls of functions that only prefetch.
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const {
    if (size_ > 0) __builtin_prefetch(&home(hash));
  }

  // A slot that may be the one with this hash, without asking about it; kNoSlot if none is in its
  // bucket. For prefetching.
  Slot candidate(std::uint64_t hash) const {
    if (size_ == 0) return kNoSlot;
    const Bucket& bucket = home(hash);
    const std::array<std::uint64_t, 2> found = bucket.match(tag_of(hash));
    const std::size_t half = found[0] != 0 ? 0 : 1;
    if (found[half] == 0) return kNoSlot;
    const std::size_t i = half * 8 + static_cast<std::size_t>(std::countr_zero(found[half])) / 8;
    return i < bucket.count() ? bucket.slots[i] : kNoSlot;
  }

  // Room for so many slots at once, so that inserting them moves none. Does nothing unless the
  // table is empty. fit() gives back what was too much; the owner calls it at the end.
  void reserve(std::size_t slots);
  void fit(HashOfSlot hash_of);

  void clear() { *this = Table(); }

  std::size_t size() const { return size_; }

  // How many slots its buckets have room for, overflow buckets apart.
  std::size_t places() const { return buckets_.size() * kPlaces; }

  // What it has allocated. While it shrinks, at most so many bytes a slot.
  static constexpr double kSparseBytes = 64.0 / 7;
  std::size_t bytes() const { return buckets_.bytes() + overflow_.bytes(); }

  // Empty if the structure is valid, else what is wrong with it. For tests.
  std::string check_invariants(HashOfSlot hash_of) const;

 private:
  static constexpr std::size_t kPlaces = 12;

  struct alignas(64) Bucket {
    static constexpr int kCountBits = 4;

    std::size_t count() const { return link & ((1u << kCountBits) - 1); }
    bool has_next() const { return link >> kCountBits != 0; }
    std::size_t next() const { return (link >> kCountBits) - 1; }
    void set_count(std::size_t count) {
      link = (link >> kCountBits << kCountBits) | as_link(count);
    }
    void set_next(std::size_t next) { link = as_link(((next + 1) << kCountBits) | count()); }
    void set_no_next() { link = as_link(count()); }

    // Bit 8 * i + 7 of the first word is set if the tag of place i is this one, and of the second
    // word for place 8 + i. Places not in use may match too, and even the link behind the last.
    std::array<std::uint64_t, 2> match(std::uint8_t tag) const;

    std::array<Slot, kPlaces> slots;
    std::array<std::uint8_t, kPlaces> tags;
    std::uint32_t link;  // 1 + the number of the next overflow bucket, or 0; then the count

   private:
    static std::uint32_t as_link(std::size_t value) { return static_cast<std::uint32_t>(value); }
  };
  static_assert(sizeof(Bucket) == 64);

  // An array of buckets that grows and shrinks at its end. It is in chunks, of which only the last
  // is ever reallocated, so that it may be as short as its use. Pointers are good until then.
  class Buckets {
   public:
    Bucket& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }
    const Bucket& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }

    void push_back();
    void pop_back();
    std::size_t size() const { return size_; }
    std::size_t bytes() const;

   private:
    static constexpr std::size_t kChunk = 128;  // 8 KiB

    // The capacities next to one, upwards and downwards. Four for each doubling of the last chunk:
    // the size classes of the allocator, so that nothing is lost in them.
    static std::size_t above(std::size_t capacity);
    static std::size_t below(std::size_t capacity);
    void set_capacity(std::size_t capacity);

    std::vector<std::unique_ptr<Bucket[]>> chunks_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
  };

  struct Entry {
    Slot slot;
    std::uint8_t tag;
  };
  struct Place {
    Bucket* bucket;
    std::size_t index;
  };

  static std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash >> 56); }

  std::size_t home_number(std::uint64_t hash) const {
    const std::size_t number = hash & mask_;
    return number < buckets_.size() ? number : number & mask_ >> 1;
  }
  const Bucket& home(std::uint64_t hash) const { return buckets_[home_number(hash)]; }
  Bucket& home(std::uint64_t hash) { return buckets_[home_number(hash)]; }

  // Cache lines in use. Memory is in proportion to it, so growth is ruled by it.
  std::size_t lines() const { return buckets_.size() + overflow_.size(); }

  Place place_of(std::uint64_t hash, Slot slot);
  Bucket& last_of(Bucket& bucket);
  void append(Bucket& bucket, Entry entry);
  void drop_last_of(Bucket& bucket, HashOfSlot hash_of);
  std::vector<Entry> take_all(Bucket& bucket, HashOfSlot hash_of);
  void split(HashOfSlot hash_of);
  void join(HashOfSlot hash_of);
  std::uint64_t cursor_after(std::size_t bucket) const;

  Buckets buckets_;         // none until the first slot comes
  Buckets overflow_;        // each in the chain of one bucket: no gaps
  std::uint64_t mask_ = 0;  // 2^k - 1 >= buckets_.size() - 1, the least such
  std::size_t size_ = 0;
  bool is_reserved_ = false;  // and so may be sparse
};

inline std::array<std::uint64_t, 2> Table::Bucket::match(std::uint8_t tag) const {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kLow = 0x7F7F7F7F7F7F7F7F;
  std::array<std::uint64_t, 2> found;
  static_assert(offsetof(Bucket, tags) + sizeof(found) == sizeof(Bucket));
  const auto* const bytes = reinterpret_cast<const std::byte*>(this);
  std::memcpy(found.data(), bytes + offsetof(Bucket, tags), sizeof(found));
  for (std::uint64_t& word : found) {
    word ^= tag * 0x0101010101010101u;               // 0 where it matches
    word = ~(((word & kLow) + kLow) | word | kLow);  // 0x80 where it was 0
  }
  return found;
}

template <class IsIt>
Slot Table::find(std::uint64_t hash, IsIt is_it) const {
  if (size_ == 0) return kNoSlot;
  for (const Bucket* bucket = &home(hash);; bucket = &overflow_[bucket->next()]) {
    const std::array<std::uint64_t, 2> found = bucket->match(tag_of(hash));
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::uint64_t bits = found[half]; bits != 0; bits &= bits - 1) {
        const std::size_t i = half * 8 + static_cast<std::size_t>(std::countr_zero(bits)) / 8;
        if (i < bucket->count() && is_it(bucket->slots[i])) return bucket->slots[i];
      }
    }
    if (!bucket->has_next()) return kNoSlot;
  }
}

template <class See>
std::uint64_t Table::scan(std::uint64_t cursor, See see) const {
  if (size_ == 0) return 0;
  const std::size_t number = home_number(cursor);
  for (const Bucket* bucket = &buckets_[number];; bucket = &overflow_[bucket->next()]) {
    for (std::size_t i = 0; i < bucket->count(); ++i) see(bucket->slots[i]);
    if (!bucket->has_next()) break;
  }
  return cursor_after(number);
}

}  // namespace mayfly
