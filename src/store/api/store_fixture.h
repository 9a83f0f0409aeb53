// SPDX-License-Identifier: Apache-2.0
// What the tests of the store share: a folder that goes away, a clock that stands still, and a few
// words that keep the tests short.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/store.h"

namespace mayfly::internal {

inline constexpr Time kStart = Time(Millis(1'800'000'000'000));

// The value; without one, the test fails with the message of the error.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

inline Purged must(Purged purged) {
  must(purged.status);
  return purged;
}

// The code of the error, or nothing if there is none.
template <class T>
std::optional<Code> code_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<Code>(result.error().code);
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message;
}

inline std::ostream& operator<<(std::ostream& out, Code code) {
  constexpr const char* kNames[] = {"invalid", "not_found", "busy",        "full",
                                    "denied",  "corrupt",   "unsupported", "io"};
  return out << kNames[static_cast<int>(code)];
}

// An entry as a cursor shows it.
struct Shown {
  std::string key;
  std::string value;
  Time deadline = kNever;

  bool operator==(const Shown&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Shown& row) {
  out << row.key.substr(0, 40) << '=' << row.value.substr(0, 40);
  if (row.deadline != kNever) out << '@' << (row.deadline - kStart).count();
  return out;
}

// All that a cursor shows, from the first to the last.
inline std::vector<Shown> rows_of(Cursor& cursor) {
  std::vector<Shown> rows;
  for (bool on = cursor.first(); on; on = cursor.next()) {
    rows.push_back({std::string(cursor.key()), std::string(cursor.value()), cursor.deadline()});
  }
  must(cursor.status());
  return rows;
}

// `from` is a store or a transaction. A store evicts what the cursor met expired.
template <class From>
std::vector<Shown> rows_of(const From& from, Family family = {}) {
  Cursor cursor = must(from.cursor({}, family));
  return rows_of(cursor);
}

// The value of a key, copied; "(none)" if there is none.
template <class From>
std::string value_of(const From& from, std::string_view key, Family family = {}) {
  const auto value = must(from.get(key, family));
  return value ? std::string(*value) : "(none)";
}

// How many entries the file has, expired ones included.
template <class From>
std::uint64_t stored_in(const From& from, Family family = {}) {
  return must(from.count(family)).stored;
}

inline std::uint64_t transaction_of(const Store& store) {
  return must(store.stats()).last_transaction;
}

// A folder of its own for each test, removed at the end with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int number = 0;
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = "mayfly-";
    name += test == nullptr ? "suite" : test->name();
    name += "-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    for (char& letter : name) letter = letter == '/' ? '_' : letter;
    path_ = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class StoreFixture : public testing::Test {
 protected:
  // Another handle of the same store; the first one makes it.
  Store open(const StoreOptions& options = {}) const {
    return must(Store::open(path_, clock_, options));
  }

  TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "store";
  ManualClock clock_{kStart};
};

// With one store open already.
class OpenStoreFixture : public StoreFixture {
 protected:
  void reopen(const StoreOptions& options = {}) {
    must(store_.close());
    store_ = open(options);
  }
  std::string value(std::string_view key, Family family = {}) const {
    return value_of(store_, key, family);
  }
  Time deadline(std::string_view key, Family family = {}) const {
    const auto known = must(store_.deadline(key, family));
    if (!known) throw std::runtime_error("there is no such key");
    return *known;
  }
  FamilyCounts count(Family family = {}) const { return must(store_.count(family)); }
  std::uint64_t stored(Family family = {}) const { return count(family).stored; }
  void expect_sound() const {
    const CheckReport report = must(store_.check());
    EXPECT_TRUE(report.ok()) << report.problems.front();
  }

  Store store_ = open();
};

}  // namespace mayfly::internal
