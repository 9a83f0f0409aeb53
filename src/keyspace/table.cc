// SPDX-License-Identifier: Apache-2.0
#include "keyspace/table.h"

#include <algorithm>
#include <set>

namespace mayfly {

namespace {

// Slots for each cache line in use, above which the table grows and below which it shrinks. The
// fuller the lines, the more often a look-up needs a second one; 8 is 8 bytes a slot.
constexpr std::size_t kDense = 8;
constexpr std::size_t kSparse = 7;

// Half of the places of a line at the least, so that pick() finds one soon.
static_assert(kSparse < kDense && kSparse * 2 > 12);
static_assert(Table::kSparseBytes == 64.0 / kSparse);

}  // namespace

std::size_t Table::Buckets::above(std::size_t capacity) {
  const std::size_t last = capacity % kChunk;
  return capacity + std::max<std::size_t>(1, std::bit_floor(last) / 4);
}

std::size_t Table::Buckets::below(std::size_t capacity) {
  if (capacity == 0) return 0;
  const std::size_t last = (capacity - 1) % kChunk;  // one less than its buckets
  return capacity - std::max<std::size_t>(1, std::bit_floor(last) / 4);
}

void Table::Buckets::set_capacity(std::size_t capacity) {
  const std::size_t chunks = (capacity + kChunk - 1) / kChunk;
  if (chunks < chunks_.size()) {
    chunks_.pop_back();
    if (chunks_.size() * 4 < chunks_.capacity()) chunks_.shrink_to_fit();
  } else {
    const std::size_t first = (chunks - 1) * kChunk;
    auto last = std::make_unique<Bucket[]>(capacity - first);
    if (chunks > chunks_.size()) {
      chunks_.push_back(std::move(last));
    } else {
      std::copy_n(chunks_.back().get(), size_ - first, last.get());
      chunks_.back() = std::move(last);
    }
  }
  capacity_ = capacity;
}

void Table::Buckets::push_back() {
  if (size_ == capacity_) set_capacity(above(capacity_));
  (*this)[size_++] = Bucket{};
}

// A step of capacity is given back when two are free, so that one bucket that comes and goes does
// not move the rest each time.
void Table::Buckets::pop_back() {
  --size_;
  if (size_ <= below(below(capacity_))) set_capacity(below(capacity_));
}

std::size_t Table::Buckets::bytes() const {
  return capacity_ * sizeof(Bucket) + chunks_.capacity() * sizeof(chunks_[0]);
}

Table& Table::operator=(Table&& other) noexcept {
  buckets_ = std::exchange(other.buckets_, {});
  overflow_ = std::exchange(other.overflow_, {});
  mask_ = std::exchange(other.mask_, 0);
  size_ = std::exchange(other.size_, 0);
  is_reserved_ = std::exchange(other.is_reserved_, false);
  return *this;
}

void Table::insert(std::uint64_t hash, Slot slot, HashOfSlot hash_of) {
  if (size_ + 1 > kDense * lines()) split(hash_of);
  append(home(hash), {slot, tag_of(hash)});
  ++size_;
}

void Table::reserve(std::size_t slots) {
  if (size_ > 0) return;
  // The rest of the lines will be overflow buckets. With fewer buckets more slots are moved in the
  // end (here a tenth at most); with more of them the table is larger than one that grew (3 %).
  const std::size_t count = slots / kDense * 13 / 16;
  while (buckets_.size() < count) buckets_.push_back();
  if (buckets_.size() > 0) mask_ = std::bit_ceil(buckets_.size()) - 1;
  is_reserved_ = true;
}

void Table::fit(HashOfSlot hash_of) {
  if (!is_reserved_) return;
  if (size_ == 0) return clear();
  while (buckets_.size() > 1 && size_ < kSparse * lines()) join(hash_of);
  is_reserved_ = false;
}

void Table::erase(std::uint64_t hash, Slot slot, HashOfSlot hash_of) {
  Bucket& first = home(hash);
  Bucket& last = last_of(first);
  const Place hole = place_of(hash, slot);
  const std::size_t end = last.count() - 1;
  hole.bucket->slots[hole.index] = last.slots[end];
  hole.bucket->tags[hole.index] = last.tags[end];
  last.set_count(end);
  if (end == 0 && &last != &first) drop_last_of(first, hash_of);
  --size_;

  // To join two buckets may take an overflow bucket, and so another two are needed now and then.
  for (int i = 0; i < 2 && buckets_.size() > 1 && size_ < kSparse * lines(); ++i) join(hash_of);
}

Slot Table::pick(Random& random) const {
  assert(size_ > 0);
  for (;;) {
    const std::size_t line = random.below(lines());
    const std::size_t i = random.below(kPlaces);
    const Bucket& bucket =
        line < buckets_.size() ? buckets_[line] : overflow_[line - buckets_.size()];
    if (i < bucket.count()) return bucket.slots[i];
  }
}

Table::Place Table::place_of(std::uint64_t hash, Slot slot) {
  for (Bucket* bucket = &home(hash);; bucket = &overflow_[bucket->next()]) {
    const auto end = bucket->slots.begin() + static_cast<std::ptrdiff_t>(bucket->count());
    const auto place = std::find(bucket->slots.begin(), end, slot);
    if (place != end) return {bucket, static_cast<std::size_t>(place - bucket->slots.begin())};
    assert(bucket->has_next());
  }
}

Table::Bucket& Table::last_of(Bucket& bucket) {
  Bucket* last = &bucket;
  while (last->has_next()) last = &overflow_[last->next()];
  return *last;
}

void Table::append(Bucket& bucket, Entry entry) {
  Bucket* last = &last_of(bucket);
  if (last->count() == kPlaces) {
    last->set_next(overflow_.size());
    overflow_.push_back();  // `last` is not good any more
    last = &overflow_[overflow_.size() - 1];
  }
  const std::size_t i = last->count();
  last->slots[i] = entry.slot;
  last->tags[i] = entry.tag;
  last->set_count(i + 1);
}

// Unlinks the last overflow bucket of a chain. The one with the highest number takes its place, so
// that there are no gaps; any of its slots tells in which chain it is.
void Table::drop_last_of(Bucket& bucket, HashOfSlot hash_of) {
  Bucket* before = &bucket;
  while (overflow_[before->next()].has_next()) before = &overflow_[before->next()];
  const std::size_t gap = before->next();
  before->set_no_next();

  const std::size_t highest = overflow_.size() - 1;
  if (gap != highest) {
    Bucket* link = &home(hash_of(overflow_[highest].slots[0]));
    while (!link->has_next() || link->next() != highest) link = &overflow_[link->next()];
    link->set_next(gap);
    overflow_[gap] = overflow_[highest];
  }
  overflow_.pop_back();
}

// Empties a chain down to its first bucket.
std::vector<Table::Entry> Table::take_all(Bucket& bucket, HashOfSlot hash_of) {
  std::vector<Entry> entries;
  entries.reserve(2 * kPlaces);
  for (const Bucket* part = &bucket;; part = &overflow_[part->next()]) {
    for (std::size_t i = 0; i < part->count(); ++i) {
      entries.push_back({part->slots[i], part->tags[i]});
    }
    if (!part->has_next()) break;
  }
  while (bucket.has_next()) drop_last_of(bucket, hash_of);
  bucket.set_count(0);
  return entries;
}

void Table::split(HashOfSlot hash_of) {
  const std::size_t added = buckets_.size();
  std::vector<Entry> entries;
  if (added > 0) entries = take_all(buckets_[added - std::bit_floor(added)], hash_of);
  buckets_.push_back();
  mask_ = std::bit_ceil(buckets_.size()) - 1;
  for (const Entry entry : entries) append(home(hash_of(entry.slot)), entry);
}

void Table::join(HashOfSlot hash_of) {
  const std::size_t removed = buckets_.size() - 1;
  const std::vector<Entry> entries = take_all(buckets_[removed], hash_of);
  buckets_.pop_back();
  mask_ = std::bit_ceil(buckets_.size()) - 1;
  Bucket& other_half = buckets_[removed - std::bit_floor(removed)];
  for (const Entry entry : entries) append(other_half, entry);
}

// Adds one to the bucket's number as it reads backwards, within the bits that count for it.
std::uint64_t Table::cursor_after(std::size_t bucket) const {
  std::uint64_t bit = (mask_ + 1) / 2;  // the last that counts, of a bucket that was split
  if (bucket + bit >= buckets_.size() && bucket < bit) bit /= 2;
  std::uint64_t cursor = bucket;
  while ((cursor & bit) != 0) {
    cursor ^= bit;
    bit /= 2;
  }
  return cursor | bit;  // without a bit left, it was the last
}

std::string Table::check_invariants(HashOfSlot hash_of) const {
  if (size_ > 0 && buckets_.size() == 0) return "slots, but no bucket";
  if (buckets_.size() > 0 && mask_ != std::bit_ceil(buckets_.size()) - 1) return "a wrong mask";
  std::set<Slot> slots;
  std::set<std::size_t> links;
  for (std::size_t number = 0; number < buckets_.size(); ++number) {
    for (const Bucket* bucket = &buckets_[number];; bucket = &overflow_[bucket->next()]) {
      if (bucket->count() > kPlaces) return "a count that cannot be";
      if (bucket->has_next() && bucket->count() < kPlaces) return "a gap inside a chain";
      if (bucket != &buckets_[number] && bucket->count() == 0) return "an empty overflow bucket";
      for (std::size_t i = 0; i < bucket->count(); ++i) {
        const std::uint64_t hash = hash_of(bucket->slots[i]);
        if (home_number(hash) != number) return "a slot in the wrong bucket";
        if (bucket->tags[i] != tag_of(hash)) return "a slot with a wrong tag";
        if (!slots.insert(bucket->slots[i]).second) return "a slot that is stored twice";
      }
      if (!bucket->has_next()) break;
      if (bucket->next() >= overflow_.size()) return "a link to nowhere";
      if (!links.insert(bucket->next()).second) return "an overflow bucket in two chains";
    }
  }
  if (links.size() != overflow_.size()) return "an overflow bucket in no chain";
  if (slots.size() != size_) return "a wrong size";
  if (size_ > 200 && size_ > 2 * kDense * lines()) return "too dense";
  if (!is_reserved_ && buckets_.size() > 64 && size_ * 2 < kSparse * lines()) return "too sparse";
  return "";
}

}  // namespace mayfly
