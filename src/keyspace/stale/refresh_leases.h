// SPDX-License-Identifier: Apache-2.0
// RefreshLeases: who may compute the new value of a key that is stale or missing. One caller at a
// time has the lease of a key; the others keep the old value, or wait.
//
//   const auto token = leases.take(0, "page", now, now + 10s);   // nothing: another caller has it
//   if (leases.is_held(0, "page", *token, now)) ...              // the new value may be stored
//
// A lease ends at its deadline, when the key is changed, or when it is given back. It does not end
// when the key expires: the value that is computed then is as good as before. Leases are kept in
// memory only. After a restart or a failover there is none, and a token of before is worth nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

class RefreshLeases {
 public:
  // Which lease it is. Never 0.
  using Token = std::uint64_t;

  // With more leases, those that end first are dropped: their keys get a second caller.
  static constexpr std::size_t kLeasesMost = 100'000;

  // The seed is that of tokens and hashes.
  explicit RefreshLeases(std::uint64_t seed, std::size_t most = kLeasesMost)
      : seed_(seed), random_(seed), most_(most) {}

  bool is_empty() const { return leases_.empty(); }
  std::size_t size() const { return leases_.size(); }  // those that are over may be counted

  // Gives the lease of a key to the caller; nothing if another one has it.
  std::optional<Token> take(int database, std::string_view key, Time now, Time deadline);

  bool is_held(int database, std::string_view key, Token token, Time now) const;

  // Gives the lease back. False if it is not held.
  bool release(int database, std::string_view key, Token token, Time now);

  // A key, or a whole database, was changed.
  void key_changed(int database, std::string_view key);
  void database_changed(int database);

  std::string check_invariants() const;

 private:
  // A database and the hash of a key, so that long keys take no more memory than short ones. Two
  // keys with one hash would share a lease: one of them is computed later, or twice.
  using Key = std::pair<int, std::uint64_t>;
  struct Lease {
    Token token;
    Time deadline;
  };
  using Table = std::map<Key, Lease>;

  Key key_of(int database, std::string_view key) const;
  void erase(Table::iterator lease);

  const std::uint64_t seed_;
  Random random_;
  const std::size_t most_;
  Table leases_;
  std::set<std::pair<Time, Key>> order_;  // by deadline
};

}  // namespace mayfly
