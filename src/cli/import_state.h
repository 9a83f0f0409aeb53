// SPDX-License-Identifier: Apache-2.0
// CopyState: how far a copy has come, in a small text file.
//
//   mayfly copy 1
//   from redis://127.0.0.1:6379/0
//   to app.db
//   match *
//   run 7f3a...                   the source's run id; its cursors mean nothing after a restart
//   place 1792                    a cursor of SCAN; of a store, a family and a key
//   count strings 4711
//   skipped 3 stream

#pragma once

#include <optional>
#include <string>

#include "cli/import_item.h"
#include "mayfly/result.h"

namespace mayfly {

struct CopyState {
  std::string from;
  std::string to;
  std::string match;
  std::string run;
  std::string place;
  CopyCounts counts;
};

// Replaces the file as a whole.
Status save_state(const std::string& path, const CopyState& state);

// Nothing if there is no such file. Code::corrupt if it is something else.
Result<std::optional<CopyState>> load_state(const std::string& path);

}  // namespace mayfly
