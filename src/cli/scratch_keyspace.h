// SPDX-License-Identifier: Apache-2.0
// ScratchKeyspace: a database in memory for values that are looked at or changed into other bytes.

#pragma once

#include <string_view>

#include "keyspace/keyspace.h"

namespace mayfly {

struct ScratchKeyspace {
  class NoListener final : public KeyspaceListener {
    void key_expired(Database&, std::string_view, FoundBy) override {}
    void members_expired(Database&, const ExpiredMembers&) override {}
    void key_evicted(Database&, std::string_view) override {}
  };

  NoListener listener;
  Keyspace keyspace{{.databases = 1}, listener};
  Database& database = keyspace[0];
};

}  // namespace mayfly
