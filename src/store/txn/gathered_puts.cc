// SPDX-License-Identifier: Apache-2.0
#include "store/txn/gathered_puts.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace mayfly::internal {
namespace {

constexpr std::size_t kPutsAhead = 8;

std::uint64_t head_of(std::string_view key, std::size_t skipped) {
  std::uint64_t bytes = 0;
  const std::string_view rest = key.substr(skipped, sizeof bytes);
  std::memcpy(&bytes, rest.data(), rest.size());
  return __builtin_bswap64(bytes);
}

}  // namespace

std::string_view GatheredPuts::keep(std::string_view bytes) {
  if (bytes.size() > room_) {
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(kChunkBytes));
    room_ = kChunkBytes;
  }
  char* const at = chunks_.back().get() + (kChunkBytes - room_);
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  room_ -= bytes.size();
  bytes_ += bytes.size();
  return {at, bytes.size()};
}

void GatheredPuts::add(const GatheredPut& put) {
  puts_.push_back({put.view, {}, {}, put.deadline});
  puts_.back().key = keep(put.key);
  puts_.back().value = keep(put.value);
  bytes_ += kOverhead;
}

std::size_t GatheredPuts::common_bytes() const {
  std::string_view common = puts_.front().key;
  for (const GatheredPut& put : puts_) {
    const auto end = std::ranges::mismatch(common, put.key).in1;
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  return common.size();
}

// Of two with the same key, the one that came later comes later.
bool GatheredPuts::is_before(const Place& a, const Place& b) const {
  if (a.view != b.view) return std::less<>()(a.view, b.view);
  if (a.head != b.head) return a.head < b.head;
  const int order = puts_[a.index].key.compare(puts_[b.index].key);
  return order != 0 ? order < 0 : a.index < b.index;
}

void GatheredPuts::sort() {
  places_.clear();
  if (puts_.empty()) return;
  const std::size_t common = common_bytes();
  places_.reserve(puts_.size());
  for (std::size_t i = 0; i < puts_.size(); ++i) {
    places_.push_back({puts_[i].view, head_of(puts_[i].key, common), i});
  }
  std::ranges::sort(places_, [this](const Place& a, const Place& b) { return is_before(a, b); });
}

// Puts and their bytes lie anywhere in memory, so they are asked for some way ahead.
void GatheredPuts::fetch_ahead(std::size_t i) const {
  if (i + 2 * kPutsAhead < places_.size())
    __builtin_prefetch(&puts_[places_[i + 2 * kPutsAhead].index]);
  if (i + kPutsAhead >= places_.size()) return;
  const GatheredPut& put = puts_[places_[i + kPutsAhead].index];
  __builtin_prefetch(put.key.data());
  __builtin_prefetch(put.value.data());
}

void GatheredPuts::clear() {
  puts_.clear();
  places_.clear();
  if (chunks_.size() > 1) chunks_.resize(1);
  room_ = chunks_.empty() ? 0 : kChunkBytes;
  bytes_ = 0;
}

bool GatheredPuts::check_invariants() const {
  std::size_t bytes = 0;
  for (const GatheredPut& put : puts_) bytes += put.key.size() + put.value.size();
  return bytes + puts_.size() * kOverhead == bytes_ && bytes_ <= kBytesMax &&
         room_ <= kChunkBytes && chunks_.size() * kChunkBytes >= bytes + room_;
}

}  // namespace mayfly::internal
