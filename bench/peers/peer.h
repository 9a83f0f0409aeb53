// SPDX-License-Identifier: Apache-2.0
// Peer: one of the systems that the suite `store` compares, with a database in a directory of its
// own. Mayfly is one of them. A call that fails throws Failure.
//
// A call does a whole run of operations, so that each system can do them as its own experts would,
// and the call itself costs nothing beside them.
//
// With `ttl` a database has three tables: key -> value, key -> deadline, and (deadline, key) ->
// nothing; or what is natural for the system, such as a column and an index on it. Without, it has
// only the first, and no deadline is looked up.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "bench/store/workloads.h"
#include "mayfly/clock.h"
#include "mayfly/store_options.h"

namespace mayfly::bench {

struct PeerPlace {
  std::filesystem::path directory;  // exists
  Durability durability = Durability::off;
  bool ttl = false;
  std::size_t value_bytes = 0;  // of the values to come, for systems with a page size to choose
};

// What a run of operations saw. All systems must see the same.
struct PeerTally {
  std::uint64_t entries = 0;  // read, written or removed
  std::uint64_t digest = 0;   // of the values read

  void read(std::string_view value) {
    ++entries;
    digest += bench::digest(value);
  }
};

inline constexpr std::size_t kPeerPurgeBatch = 256;
inline constexpr std::size_t kStampBytes = 8;  // of a deadline, big-endian

class Peer {
 public:
  virtual ~Peer() = default;

  // Opens the database, or makes it. Closing is what the destructor does.
  // REQUIRES of the rest: it was opened.
  virtual void open(const PeerPlace& place) = 0;

  // Does the operations in transactions of `batch` each. The tally counts what gets found, too.
  // Several threads may do so at once if the peer takes StoreTask::put_threads.
  virtual PeerTally apply(const StoreOps& ops, std::size_t batch) = 0;

  // Reads the keys of `ops`: all in one transaction, or each by itself with a copy of the value.
  virtual PeerTally get(const StoreOps& ops) = 0;
  virtual PeerTally get_each(const StoreOps& ops) = 0;

  // Reads all that is alive, in the order of keys.
  virtual PeerTally scan() = 0;

  // Removes all that is due, oldest first, in transactions of kPeerPurgeBatch.
  virtual PeerTally purge() = 0;
};

// All read the time from `clock`, once in each transaction.
std::unique_ptr<Peer> make_mayfly_peer(const Clock& clock);
std::unique_ptr<Peer> make_lmdb_peer(const Clock& clock);

// Through the C API, on a database that Mayfly has filled. It only does get_each().
std::unique_ptr<Peer> make_capi_peer(const Clock& clock);

// Null if it is not built in.
std::unique_ptr<Peer> make_sqlite_peer(const Clock& clock);
std::unique_ptr<Peer> make_rocksdb_peer(const Clock& clock);

struct PeerRow {
  std::string_view name;  // on the command line and in results
  std::string_view idea;  // what it does, in a few words
  bool is_ours;
  std::unique_ptr<Peer> (*make)(const Clock&);
};

// All of them, in the order in which they are shown. Mayfly comes first.
std::span<const PeerRow> peer_rows();

// REQUIRES: there is one of that name.
const PeerRow& peer_named(std::string_view name);

bool is_built_in(const PeerRow& peer);

// Whether it can do that: LMDB has no durability between all and nothing, a connection of SQLite is
// for one thread, and the C API is only measured with single gets.
bool takes(const PeerRow& peer, const StoreWorkload& workload);

}  // namespace mayfly::bench
