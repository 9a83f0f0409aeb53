// SPDX-License-Identifier: Apache-2.0
// What comes next: the first words of requests that have not been parsed yet. They are hints, for
// fetching data into the processor's cache ahead of its use; the parser checks every byte later.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace mayfly {

// The first word behind the name of a command and the last two, where a key and its members are
// most often: HGET key field, ZADD key score member, HSETEX key EX 9 FIELDS 1 field value. In their
// order; empty ones are missing.
struct PeekedRequest {
  static constexpr std::size_t kWords = 3;
  std::array<std::string_view, kWords> words;
};

// Reads plain requests (arrays of a few bulks, all of it there) at the front of `bytes`, until one
// is not or `requests` is full. Returns how many. O(words).
std::size_t peek_requests(std::string_view bytes, std::span<PeekedRequest> requests);

}  // namespace mayfly
