// SPDX-License-Identifier: Apache-2.0
// RdbLoader: fills a keyspace from an RDB file, in slices if need be.
//
//   RdbLoader loader(source, keyspace, {.now = clock.now()});
//   for (;;) {
//     Result<bool> loaded = loader.step(1000);
//     if (!loaded) return loaded.error();            // what was loaded so far stays
//     if (*loaded) break;
//   }
//
// Expired keys and members are skipped and counted, and so is a key without remaining members; a
// replica keeps them, hidden, since its primary decides, and so does a primary whose replicas may
// go on with the stream of the file. A key that exists, or is twice in the
// file, is an error.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"
#include "keyspace/members/members_load.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {

// Takes the code of a library of functions. False: it cannot be held.
using LoadFunction = std::function<bool(std::string_view code)>;

struct RdbLoadOptions {
  Time now{};
  bool keeps_due = false;  // for a replica: what is due is stored, too
  // The same if the file names its replication stream (repl-id): replicas that go on with the
  // stream have the due entries, and get their removals.
  bool keeps_due_of_stream = false;
  bool replaces = false;  // a key that exists is replaced, and no error
  RdbChecks checks = {};
  LoadFunction load_function = {};  // empty: no library can be held
};

struct RdbReport {
  int version = 0;
  std::uint64_t keys = 0;         // stored
  std::uint64_t members = 0;      // stored, of hashes, sets and sorted sets; elements, entries
  std::uint64_t due_keys = 0;     // left out; also keys of which every member was due
  std::uint64_t empty_keys = 0;   // left out: they have no members or elements, which cannot be
  std::uint64_t due_members = 0;  // left out, those of due keys not counted
  std::uint64_t bytes = 0;        // consumed: where an append-only file's commands would begin
  std::map<std::string, std::uint64_t> skipped;  // what cannot be held: "function"
  std::map<std::string, std::string> aux;
};

class RdbLoader {
 public:
  // Source and keyspace must outlive it.
  RdbLoader(ByteSource& source, Keyspace& keyspace, const RdbLoadOptions& options);

  // Loads at most about `keys` keys, fewer if they are large; true when all is loaded. After an
  // error or true it must not be called again. Between calls the keyspace is sound, but the last
  // key may be incomplete and must stay.
  Result<bool> step(std::size_t keys);

  const RdbReport& report() const { return handler_.report; }
  std::uint64_t offset() const { return parser_.offset(); }

 private:
  class Handler final : public RdbHandler {
   public:
    Handler(Keyspace& keyspace, const RdbLoadOptions& options);

    void aux(std::string_view name, std::string_view value) override;
    void database(int number, std::uint64_t keys, std::uint64_t deadlines) override;
    Status function(std::string_view code) override;
    Status string(const RdbKey& key, std::string_view value) override;
    Status members_begin(const RdbKey& key, std::uint64_t count) override;
    Status members(std::span<const Member> members) override;
    Status members_end() override;
    Status list_begin(const RdbKey& key) override;
    Status list_elements(std::span<const std::string_view> elements) override;
    Status list_end() override;
    Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override;

    // Frees reserved memory that was not used.
    void fit();

    RdbReport report;
    std::size_t done = 0;          // keys in this slice
    std::uint64_t bytes_left = 0;  // of the file, about; 0: unknown

   private:
    Status admit(const RdbKey& key);
    Status begin_parts(const RdbKey& key);
    Status make_way(const RdbKey& key);
    void end_parts(Slot slot);
    bool leaves_out(Time deadline) const;
    std::size_t believable(std::uint64_t count) const;
    void finish_key(Database& database, Slot slot, const RdbKey& key);

    Keyspace& keyspace_;
    const RdbLoadOptions options_;
    bool keeps_due_;
    const ExecContext context_;

    // The key with members or elements under way.
    RdbKey key_;
    bool is_left_out_ = false;
    bool has_parts_ = false;  // any member or element was in the file
    Slot list_ = kNoSlot;
    MembersLoad load_;
    std::vector<Member> kept_;
  };

  ByteSource& source_;
  Handler handler_;
  RdbParser parser_;
};

}  // namespace mayfly
