// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the reason why there is none.
//
//   Result<Report> report = read_report(path);
//   if (!report) return report.error();
//   show(*report);
//
// What can fail returns a Result; a key that may be absent is an optional. To take the value of a
// failed Result is a bug in the program: it prints the error's message to stderr and aborts, in
// every build.

#pragma once

#include <string>
#include <utility>
#include <variant>

namespace mayfly {

// What a caller can act on. Messages are for people; do not compare them.
enum class Code { invalid, not_found, busy, full, denied, corrupt, unsupported, io };

struct Error {
  Code code;
  std::string message;  // what failed: why (what to do)
};

namespace internal {
[[noreturn, gnu::cold, gnu::noinline]] void abort_on(const Error& error) noexcept;
}  // namespace internal

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value; aborts if there is none. Out of a temporary Result the value is moved, so that
  // `for (auto& row : *rows())` iterates over a value that still exists.
  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  // REQUIRES: !ok().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  T& value() {
    T* const value = std::get_if<0>(&state_);
    if (value == nullptr) [[unlikely]]
      internal::abort_on(error());
    return *value;
  }

  std::variant<T, Error> state_;
};

// The result of a call that returns no value but can fail.
struct Done {};
using Status = Result<Done>;

}  // namespace mayfly
