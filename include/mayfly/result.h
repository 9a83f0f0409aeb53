// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the reason why there is none.
//
//   Result<Report> report = read_report(path);
//   if (!report) return report.error();
//   show(*report);
//
// What can happen is a Result; what cannot is an assertion; absence is an optional.

#pragma once

#include <string>
#include <utility>
#include <variant>

namespace mayfly {

// What a caller can act on. The message is for people; nobody compares messages.
enum class Code { invalid, not_found, busy, full, denied, corrupt, unsupported, io };

struct Error {
  Code code;
  std::string message;  // what was wrong, with which value, and what would be right
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok(). Out of a result that nobody keeps the value is moved, so that
  // `for (auto& row : *rows())` walks through something that is still there.
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // REQUIRES: !ok().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

// The result of what has nothing to return but can fail.
struct Done {};
using Status = Result<Done>;

}  // namespace mayfly
