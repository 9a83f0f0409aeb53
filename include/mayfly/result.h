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

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mayfly/internal/language.h"  // refuses an older language in one line

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
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  Result(const Result& other) requires std::copy_constructible<T> : value_(other.value_),
                                                                    error_(copy(other.error_)) {}
  Result& operator=(const Result& other) requires std::copy_constructible<T> {
    return *this = Result(other);
  }
  Result(Result&&) noexcept = default;
  Result& operator=(Result&&) noexcept = default;
  ~Result() = default;

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // The value; aborts if there is none. Out of a temporary Result the value is moved, so that
  // `for (auto& row : *rows())` iterates over a value that still exists.
  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  // REQUIRES: !ok().
  const Error& error() const { return *error_; }

 private:
  static std::unique_ptr<Error> copy(const std::unique_ptr<Error>& error) {
    return error == nullptr ? nullptr : std::make_unique<Error>(*error);
  }

  T& value() {
    if (!ok()) [[unlikely]]
      internal::abort_on(error());
    return *value_;
  }

  // An error is rare, so it is kept elsewhere: a result that is good costs a null pointer.
  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

// The result of a call that returns no value but can fail.
struct Done {};
using Status = Result<Done>;

}  // namespace mayfly
