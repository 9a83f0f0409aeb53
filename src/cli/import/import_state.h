// SPDX-License-Identifier: Apache-2.0
// CopyState: how far a copy has come, in a small text file.
//
//   mayfly copy 2
//   from redis://127.0.0.1:6379/0
//   to app.db
//   match session:*
//   cf default
//   if-absent no
//   run 7f3a... 0 0 0             what the source is; its cursors mean nothing after a restart
//   target 90d2... 17 1:4711 ...  what the target is, and had when this was written
//   place 1792                    a cursor of SCAN; of a store, a family and a key
//   count strings 4711
//   skipped 3 stream

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/import/import_item.h"
#include "mayfly/result.h"

namespace mayfly {

struct CopyState {
  std::string from;
  std::string to;
  std::string match;
  std::string family;     // empty: there is no store in it
  std::string if_absent;  // "yes" or "no"
  std::string run;
  std::string target;
  std::string place;
  CopyCounts counts;
};

// What a value looks like in the file, where it must not make lines of its own. Those of a state
// look so already.
std::string on_one_line(std::string_view text);

// Replaces the file as a whole.
Status save_state(const std::string& path, const CopyState& state);

// Nothing if there is no such file. Code::corrupt if it is something else.
Result<std::optional<CopyState>> load_state(const std::string& path);

}  // namespace mayfly
