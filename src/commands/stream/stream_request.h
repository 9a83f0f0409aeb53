// SPDX-License-Identifier: Apache-2.0
// The request of XREAD and XREADGROUP:
//
//   [GROUP group consumer] [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key ... id ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/call.h"

namespace mayfly {

struct StreamsRequest {
  Words keys;
  std::size_t ids_at = 0;       // the word with the id of the first key; the others follow
  std::size_t most = SIZE_MAX;  // COUNT
  std::optional<Time> until;    // the end of the wait; nothing: no BLOCK
  bool acknowledges = false;    // NOACK: what is delivered does not become pending
  std::string_view group = {};
  std::string_view consumer = {};
};

// Nothing after an error reply.
std::optional<StreamsRequest> read_streams_request(Call& call, bool is_group);

}  // namespace mayfly
