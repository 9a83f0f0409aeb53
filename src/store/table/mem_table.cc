// SPDX-License-Identifier: Apache-2.0
#include "store/table/mem_table.h"

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL  // short keys, mostly: the call would cost as much as the hash
#endif
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

namespace mayfly::internal {
namespace {

std::uint64_t family_hash(std::uint32_t family) { return family * 0x9e3779b97f4a7c15; }

std::uint32_t key_hash_in(const Version& version) { return version.hash; }

std::uint32_t family_hash_in(const Version& version) {
  return static_cast<std::uint32_t>(family_hash(version.family));
}

char* append_to_version(char* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

template <class T>
void add_alone(std::atomic<T>& count, T change) {  // of one thread only
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_release);
}

}  // namespace

std::size_t VersionSlots::size() const {
  return kInLine << (table_.load(std::memory_order_relaxed) >> kPointerBits);
}

std::size_t VersionSlots::taken() const {
  const Line* const lines = pointer_in<const Line>(table_.load(std::memory_order_relaxed));
  std::size_t taken = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (lines[i / kInLine].slots[i % kInLine].load(std::memory_order_relaxed) != 0) ++taken;
  }
  return taken;
}

std::size_t VersionSlots::reserve(std::size_t count, HashOf hash_of) {
  if (2 * count <= size()) return 0;
  const std::size_t slots = std::bit_ceil(2 * count);
  const std::size_t bytes = slots * sizeof(Slot);
  arrays_.reserve(arrays_.size() + 1);
  auto* const lines = static_cast<Line*>(::operator new (bytes, std::align_val_t{kLineBytes}));
  std::uninitialized_value_construct_n(lines, slots / kInLine);
  const std::uint64_t table = packed(lines, std::bit_width(slots / kInLine) - 1U);

  // Versions lie anywhere in memory, so their hashes are asked for some way ahead.
  constexpr std::size_t kAhead = 16;
  const Line* const old = pointer_in<const Line>(table_.load(std::memory_order_relaxed));
  const auto value_at = [old](std::size_t i) {
    return old[i / kInLine].slots[i % kInLine].load(std::memory_order_relaxed);
  };
  const auto is_free = [](std::uint64_t there) { return there == 0; };
  for (std::size_t i = 0, end = size(); i < end; ++i) {
    if (i + kAhead < end) {
      __builtin_prefetch(pointer_in<void>(value_at(i + kAhead) + offsetof(Version, hash)));
    }
    const std::uint64_t value = value_at(i);
    if (value == 0) continue;
    const std::uint32_t hash = hash_of(*pointer_in<const Version>(value));
    probe(table, hash, is_free).store(value, std::memory_order_relaxed);
  }
  arrays_.emplace_back(lines);
  table_.store(table, std::memory_order_release);
  return bytes;
}

std::size_t VersionSlots::clear() {
  const std::size_t lines = size() / kInLine;
  if (lines > kLinesKept) arrays_.clear();
  if (arrays_.empty()) {
    std::uninitialized_value_construct_n(few_, std::size(few_));
    table_.store(packed(few_, 1), std::memory_order_relaxed);
    return 0;
  }
  arrays_.erase(arrays_.begin(), arrays_.end() - 1);
  std::uninitialized_value_construct_n(arrays_.back().get(), lines);
  return lines * kLineBytes;
}

MemTable::MemTable(std::uint64_t seed, std::size_t expected) : seed_(seed) {
  took(slots_.reserve(expected, key_hash_in));
}

MemTable::~MemTable() {
  for (Chunk* chunk = first_.load(); chunk != nullptr;) {
    ::operator delete(std::exchange(chunk, chunk->next.load()));
  }
}

void MemTable::took(std::size_t bytes) { add_alone(memory_, bytes); }

void MemTable::add_chunk(std::size_t bytes) {
  const std::size_t twice = last_ == nullptr ? kChunkLeast : 2 * (last_->room + sizeof(Chunk));
  const std::size_t size = std::max(sizeof(Chunk) + bytes, std::min(twice, kChunkMost));
  Chunk* const chunk = new (::operator new(size)) Chunk(size - sizeof(Chunk));
  (last_ == nullptr ? first_ : last_->next).store(chunk, std::memory_order_release);
  last_ = chunk;
  took(size);
}

void MemTable::reserve(std::size_t operations, std::size_t bytes) {
  const std::size_t most = operations * (sizeof(Version) + alignof(Version) - 1) + bytes;
  const std::size_t used = last_ == nullptr ? 0 : last_->used.load(std::memory_order_relaxed);
  took(slots_.reserve(keys_.load(std::memory_order_relaxed) + operations, key_hash_in));
  took(families_.reserve(family_count_ + std::min(operations, kFamiliesMost), family_hash_in));
  if (last_ == nullptr || most > last_->room - used) add_chunk(most);
}

std::uint64_t MemTable::hash_of(std::uint32_t family, std::string_view key) const {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed_) ^ family_hash(family);
}

VersionSlots::Found MemTable::newest(std::uint64_t hash, std::uint32_t family,
                                     std::string_view key) const {
  return slots_.find(hash, [&](const Version& version) {
    return version.hash == static_cast<std::uint32_t>(hash) && version.family == family &&
           version.key() == key;
  });
}

VersionSlots::Found MemTable::newest_of(std::uint32_t family) const {
  return families_.find(family_hash(family),
                        [=](const Version& version) { return version.family == family; });
}

const Version& MemTable::add(const Operation& operation, Position position) {
  reserve(1, operation.key.size() + operation.value.size());
  const std::uint64_t hash = hash_of(operation.family, operation.key);
  const VersionSlots::Found of_key = newest(hash, operation.family, operation.key);
  const VersionSlots::Found of_family = newest_of(operation.family);
  const Version* const before = of_family.version;
  assert(before == nullptr || before->position <= position);

  const bool is_put = operation.kind == OperationKind::put;
  const bool is_erase = operation.kind == OperationKind::erase;
  const bool had_deadline = operation.was_there && operation.had_deadline;
  const Time deadline = is_erase ? kNever : operation.deadline;
  const int entries = (is_put && !operation.was_there) - (is_erase && operation.was_there);
  const std::size_t used = last_->used.load(std::memory_order_relaxed);
  auto* const version = new (last_->bytes() + used) Version{
      .older = of_key.version,
      .older_in_family = before,
      .position = position,
      .deadline = deadline,
      .family = operation.family,
      .key_bytes = static_cast<std::uint32_t>(operation.key.size()),
      .value_bytes = static_cast<std::uint32_t>(operation.value.size()),
      .hash = static_cast<std::uint32_t>(hash),
      .entries = (before == nullptr ? 0 : before->entries) + entries,
      .with_deadline =
          (before == nullptr ? 0 : before->with_deadline) + (deadline != kNever) - had_deadline,
      .kind = operation.kind,
      .was_there = operation.was_there,
      .had_deadline = operation.had_deadline,
  };
  append_to_version(append_to_version(reinterpret_cast<char*>(version + 1), operation.key),
                    operation.value);

  VersionSlots::set(*of_key.slot, hash, *version);
  VersionSlots::set(*of_family.slot, family_hash(operation.family), *version);
  last_->used.store(used + bytes_of(*version), std::memory_order_release);
  if (before == nullptr) ++family_count_;
  if (of_key.version == nullptr) add_alone(keys_, std::size_t{1});
  add_alone(versions_, std::size_t{1});
  return *version;
}

const Version* MemTable::find(std::uint32_t family, std::string_view key, Position end) const {
  const Version* version = newest(hash_of(family, key), family, key).version;
  while (version != nullptr && version->position >= end) version = version->older;
  return version;
}

CountChange MemTable::count(std::uint32_t family, Position end) const {
  const Version* version = newest_of(family).version;
  while (version != nullptr && version->position >= end) version = version->older_in_family;
  if (version == nullptr) return {};
  return {.entries = version->entries, .with_deadline = version->with_deadline};
}

std::optional<Time> MemTable::least_deadline(std::uint32_t family, Position since,
                                             std::size_t most) const {
  Time least = kNever;
  const Version* version = newest_of(family).version;
  for (; version != nullptr && version->position >= since; version = version->older_in_family) {
    if (most-- == 0) return std::nullopt;
    least = std::min(least, version->deadline);
  }
  return least;
}

void MemTable::clear() {
  Chunk* kept = nullptr;
  for (Chunk* chunk = first_.load(); chunk != nullptr;) {
    Chunk* const next = chunk->next.load();
    const bool is_better =
        chunk->room + sizeof(Chunk) <= kChunkKept && (kept == nullptr || chunk->room > kept->room);
    ::operator delete(is_better ? std::exchange(kept, chunk) : chunk);
    chunk = next;
  }
  first_.store(kept, std::memory_order_relaxed);
  last_ = kept;
  std::size_t bytes = slots_.clear() + families_.clear();
  if (kept != nullptr) {
    kept->next.store(nullptr, std::memory_order_relaxed);
    kept->used.store(0, std::memory_order_relaxed);
    bytes += kept->room + sizeof(Chunk);
  }
  memory_.store(bytes, std::memory_order_relaxed);
  versions_.store(0, std::memory_order_relaxed);
  keys_.store(0, std::memory_order_relaxed);
  family_count_ = 0;
  by_key_ = {};
  by_deadline_ = {};
}

}  // namespace mayfly::internal
