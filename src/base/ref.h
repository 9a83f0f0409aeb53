// SPDX-License-Identifier: Apache-2.0
// Ref: a counted handle of an object that several own, such as the memory tables that snapshots
// share. The last one frees it. Only for what has no single owner by its nature.
//
//   Ref<TableSet> set = make_ref<TableSet>();
//   Ref<const TableSet> published = std::move(set);
//
// Threads: the count is safe; one handle is used by one thread at a time.

#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace mayfly::internal {

template <class T>
struct RefBox {
  template <class... Arguments>
  explicit RefBox(Arguments&&... arguments) : value{std::forward<Arguments>(arguments)...} {}

  std::atomic<std::size_t> owners{1};
  T value;
};

template <class T>
class Ref {
 public:
  using Box = RefBox<std::remove_const_t<T>>;

  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : box_(other.box_) { hold(); }
  Ref(Ref&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  template <class Other>
  requires std::is_same_v<const Other, T> Ref(Ref<Other> other) : box_(other.release()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Ref() {
    if (box_ != nullptr && box_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete box_;
  }

  // Takes over the ownership of a box.
  static Ref adopt(Box* box) {
    Ref ref;
    ref.box_ = box;
    return ref;
  }
  Box* release() { return std::exchange(box_, nullptr); }

  void reset() { *this = Ref(); }
  T* get() const { return box_ == nullptr ? nullptr : &box_->value; }
  T& operator*() const { return box_->value; }
  T* operator->() const { return &box_->value; }
  explicit operator bool() const { return box_ != nullptr; }
  bool operator==(const Ref& other) const { return box_ == other.box_; }
  bool operator==(std::nullptr_t) const { return box_ == nullptr; }

 private:
  void hold() {
    if (box_ != nullptr) box_->owners.fetch_add(1, std::memory_order_relaxed);
  }

  Box* box_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>::adopt(new typename Ref<T>::Box(std::forward<Arguments>(arguments)...));
}

}  // namespace mayfly::internal
