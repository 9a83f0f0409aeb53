// SPDX-License-Identifier: Apache-2.0
// ServerMark: how `mayfly import` and `mayfly export` know a server again when they go on.
//
// Its run id tells whether it was restarted. Commands that take all of its data away are counted by
// INFO commandstats. What is written to it is still there if the database has no fewer keys than it
// had, apart from those that the server has itself removed by then. None of this needs a key in
// somebody's data.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "tools/resp_client.h"

namespace mayfly {

struct ServerMark {
  std::string run_id;         // empty: the server does not tell
  std::uint64_t wipes = 0;    // FLUSHALL and its like, since it was started
  std::uint64_t keys = 0;     // in the database
  std::uint64_t removed = 0;  // expired and evicted, of all databases, since it was started

  // run_id and wipes, which do not change while all is well.
  static ServerMark identify(RespClient& client);

  // Asks for the other two.
  Status count(RespClient& client);

  // On one line, for the state file. What is no such line is a mark of an unknown server.
  std::string text() const;
  static ServerMark parse(std::string_view text);

  // Why it is not the server that it was, as the end of a sentence; empty: it is. `before` is the
  // mark that the state file has.
  std::string change_since(const ServerMark& before) const;

  // The same of one that was written to, and of which this mark has counted the keys.
  std::string loss_since(const ServerMark& before) const;
};

}  // namespace mayfly
