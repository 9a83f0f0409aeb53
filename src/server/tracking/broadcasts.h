// SPDX-License-Identifier: Apache-2.0
// Broadcasts: the prefixes of clients in BCAST mode, and the keys that were changed in this turn.
//
// Prefixes are looked up by the lengths that there are, so a change costs O(lengths * log prefixes)
// and not O(prefixes).

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

class Client;

class Broadcasts {
 public:
  // Keys in order, with the client that changed them; 0: several did, or the server itself.
  using Changes = std::map<std::string, std::uint64_t, std::less<>>;

  struct Prefix {
    std::vector<Client*> clients;  // by id
    Changes changed;
  };

  // Adds a client to a prefix. Returns the prefix, as long as the client has it.
  std::string_view add(std::string_view prefix, Client& client);

  // REQUIRES: it was added to this prefix.
  void remove(std::string_view prefix, const Client& client);

  // Memory of a prefix that one client has.
  static std::size_t bytes_of(std::string_view prefix);

  bool is_empty() const { return prefixes_.empty(); }
  std::size_t prefixes() const { return prefixes_.size(); }

  // A client has changed a key, or the server has: 0.
  void collect(std::string_view key, std::uint64_t by);

  // Calls `send(prefix)` for each prefix with changes, in order, and forgets the changes.
  template <class Send>
  void send_all(Send send) {
    for (const std::string_view name : changed_prefixes_) {
      Prefix& prefix = prefixes_.find(name)->second;
      send(prefix);
      prefix.changed.clear();
    }
    changed_prefixes_.clear();
  }

 private:
  void collect_for(std::string_view name, std::string_view key, std::uint64_t by);

  std::map<std::string, Prefix, std::less<>> prefixes_;
  std::map<std::size_t, std::size_t> lengths_;      // how many prefixes have a length
  std::vector<std::string_view> changed_prefixes_;  // in order
};

}  // namespace mayfly
