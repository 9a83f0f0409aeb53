// SPDX-License-Identifier: Apache-2.0
// Inside: a thread works in an environment: meanwhile its file is not exchanged, and its map is not
// moved. It ends with the object, by return or by exception.

#pragma once

#include <utility>

namespace mayfly::internal {

class Environment;

class Inside {
 public:
  Inside() = default;
  explicit Inside(Environment& environment);
  Inside(Inside&& other) noexcept : environment_(std::exchange(other.environment_, nullptr)) {}
  Inside& operator=(Inside&& other) noexcept {
    std::swap(environment_, other.environment_);
    return *this;
  }
  ~Inside() { leave(); }
  void leave() noexcept;
  void keep() { environment_ = nullptr; }  // for another, who calls Environment::leave()

 private:
  Environment* environment_ = nullptr;
};

}  // namespace mayfly::internal
