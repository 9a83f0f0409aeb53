// SPDX-License-Identifier: Apache-2.0
// ServerMark and StoreMark: how `mayfly import` and `mayfly export` recognise a server or a store
// when they resume. Neither writes anything into the user's data.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/import/import_item.h"
#include "mayfly/result.h"
#include "mayfly/store.h"
#include "tools/resp_client.h"

namespace mayfly {

// The run id changes with a restart. INFO commandstats counts the commands that delete all data.
// The written keys are still there if the database has no fewer keys than before, apart from those
// that the server removed itself.
struct ServerMark {
  std::string run_id;         // empty: not reported
  std::uint64_t wipes = 0;    // FLUSHALL and the like, since its start
  std::uint64_t keys = 0;     // in the database, or in all of them
  std::uint64_t removed = 0;  // expired and evicted, of all databases, since its start

  // Reads run_id and wipes.
  static ServerMark identify(RespClient& client);

  // Reads keys and removed.
  Status count(RespClient& client, bool of_all_databases = false);

  // One line, for the state file. An invalid line is the mark of an unknown server.
  std::string text() const;
  static ServerMark parse(std::string_view text);

  // What has changed since `before`, the mark of the state file, as the end of a sentence; empty if
  // it is the same server.
  std::string change_since(const ServerMark& before) const;

  // The same for a target: also whether keys are missing.
  std::string loss_since(const ServerMark& before) const;
};

// A store has a random number from its creation, which copies of the file share, numbers its
// transactions, and counts the bytes of its log: a new store, and an older copy put in its place,
// differ from it. Column families have numbers that are not reused.
struct StoreMark {
  struct FamilyMark {
    std::uint32_t id = 0;    // 0: there is no such family
    std::uint64_t rows = 0;  // entries that never expire
  };

  std::uint64_t seed = 0;
  std::uint64_t transaction = 0;  // the last one that went into the tree
  std::uint64_t position = 0;     // in the log, behind all transactions
  std::array<FamilyMark, kCopyTypes.size()> families;

  // `family` is the value of --cf. O(expired).
  static Result<StoreMark> of(const Store& store, std::string_view family);

  // As for a server.
  std::string text() const;
  static StoreMark parse(std::string_view text);

  std::string change_since(const StoreMark& before) const;
  std::string loss_since(const StoreMark& before) const;
};

}  // namespace mayfly
