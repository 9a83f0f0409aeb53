// SPDX-License-Identifier: Apache-2.0
// Invalidation: a message that keys have changed, in the forms in which clients get it. Each form
// is made once, however many clients get it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mayfly {

class Client;
class Clients;

class Invalidation {
 public:
  static Invalidation of_all_keys() { return Invalidation({}); }
  static Invalidation of_key(std::string_view key);

  // `keys` is an encoded array.
  static Invalidation of_keys(std::string keys) { return Invalidation(std::move(keys)); }

  // Tells this client, or the one that it redirects to. One that is being closed is not told.
  // REQUIRES: the client tracks.
  void send(Clients& clients, Client& client);

 private:
  explicit Invalidation(std::string keys) : keys_(std::move(keys)) {}

  const std::string& push();
  const std::string& message();

  std::string keys_;     // empty: all keys
  std::string push_;     // to a client with RESP3
  std::string message_;  // to a subscriber with RESP2
};

}  // namespace mayfly
