// SPDX-License-Identifier: Apache-2.0
// A prepared statement of SQLite, as the suite `store` uses it.

#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly::bench::by_hand {

// A prepared statement. Binding and stepping come in a row; the first failure is kept by the peer.
class Statement {
 public:
  Statement() = default;
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  int prepare(sqlite3* database, const char* sql) {
    return sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  }

  // Parameter 1 is a key everywhere, parameter 2 a value or a time. What is bound must live until
  // the statement is reset.
  Statement& key(std::string_view bytes) { return bind(1, bytes); }
  Statement& value(std::string_view bytes) { return bind(2, bytes); }
  Statement& time(Time moment) {
    sqlite3_bind_int64(statement_, 2, moment.time_since_epoch().count());
    return *this;
  }

  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  int run() {
    const int code = step();
    reset();
    return code;
  }

  std::string_view blob(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  Time time_at(int column) const { return Time(Millis(sqlite3_column_int64(statement_, column))); }

 private:
  Statement& bind(int place, std::string_view bytes) {
    sqlite3_bind_blob(statement_, place, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    return *this;
  }

  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace mayfly::bench::by_hand
