// SPDX-License-Identifier: Apache-2.0
// The few words that translate between LMDB's way of saying things and ours.

#pragma once

#include <lmdb.h>

#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

inline MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not write through it
}

inline std::string_view to_view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// What an error code of LMDB, or an errno that it passed on, means to a user who wanted `doing`, as
// in "cannot open /tmp/a: ..."; `path` may be part of `doing`, or there may be none.
Error lmdb_error(int code, std::string_view doing, std::string_view path = {});

// The same for an errno of a call of our own.
Error system_error(int number, std::string_view doing, std::string_view path = {});

}  // namespace mayfly
