// SPDX-License-Identifier: Apache-2.0
// ClientTracking: the part of a client's state that belongs to client-side caching.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mayfly {

// What CLIENT TRACKING has set for a client.
struct ClientTracking {
  bool is_broadcast = false;
  bool opts_in = false;
  bool opts_out = false;
  bool no_loop = false;
  bool caching = false;                    // CLIENT CACHING: for the next command or transaction
  bool is_broken = false;                  // the client that it redirects to is gone
  std::uint64_t redirect = 0;              // the id of the client that is told instead; 0: none
  std::vector<std::string_view> prefixes;  // with BCAST, in order; Broadcasts owns the bytes
  std::size_t prefix_bytes = 0;            // of memory there
};

}  // namespace mayfly
