// SPDX-License-Identifier: Apache-2.0
// CatalogRef: a catalog that several transactions of a process look at.
//
// A published catalog never changes. It is known to be the one of the snapshots `first` to `last`;
// each that is found to have it, too, widens the range. Transactions keep their reference from one
// use to the next, so that in the usual case beginning one touches no count.

#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "store/txn/catalog.h"

namespace mayfly {

class PublishedCatalog {
 public:
  PublishedCatalog(Catalog catalog, std::uint64_t snapshot)
      : catalog_(std::move(catalog)), first_(snapshot), last_(snapshot) {}

  const Catalog& catalog() const { return catalog_; }

  bool covers(std::uint64_t snapshot) const {
    return snapshot >= first_.load(std::memory_order_acquire) &&
           snapshot <= last_.load(std::memory_order_acquire);
  }

  // `snapshot` is known to have this catalog. Since no other can stand between two snapshots of
  // the same generation, those between have it as well.
  void widen(std::uint64_t snapshot) {
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    while (last < snapshot && !last_.compare_exchange_weak(last, snapshot)) {
    }
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    while (first > snapshot && !first_.compare_exchange_weak(first, snapshot)) {
    }
  }

 private:
  friend class CatalogRef;

  const Catalog catalog_;
  std::atomic<std::uint64_t> first_;
  std::atomic<std::uint64_t> last_;
  std::atomic<int> references_{0};
};

class CatalogRef {
 public:
  CatalogRef() = default;
  explicit CatalogRef(PublishedCatalog* published) : published_(published) { hold(); }
  CatalogRef(const CatalogRef& other) : published_(other.published_) { hold(); }
  CatalogRef(CatalogRef&& other) noexcept : published_(std::exchange(other.published_, nullptr)) {}
  CatalogRef& operator=(CatalogRef other) noexcept {
    std::swap(published_, other.published_);
    return *this;
  }
  ~CatalogRef() {
    if (published_ != nullptr && published_->references_.fetch_sub(1) == 1) delete published_;
  }

  PublishedCatalog* operator->() const { return published_; }
  explicit operator bool() const { return published_ != nullptr; }

 private:
  void hold() {
    if (published_ != nullptr) published_->references_.fetch_add(1);
  }

  PublishedCatalog* published_ = nullptr;
};

}  // namespace mayfly
