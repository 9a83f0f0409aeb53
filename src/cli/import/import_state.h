// SPDX-License-Identifier: Apache-2.0
// CopyState: the progress of a copy, in a small text file.
//
//   mayfly copy 3
//   from redis://127.0.0.1:6379/0
//   to app.db
//   match session:*
//   cf default
//   if-absent no
//   run 7f3a... 0 0 0             mark of the source (import_marks.h)
//   target 90d2... 17 1:4711 ...  mark of the target
//   place 0:1792                  database, cursor of SCAN; for a store, family and key
//   count strings 4711
//   skipped 3 stream

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "mayfly/result.h"

namespace mayfly {

struct CopyState {
  std::string from;
  std::string to;
  std::string match;
  std::string family;     // empty: from server to server
  std::string if_absent;  // "yes" or "no"
  std::string run;
  std::string target;
  std::string place;
  CopyCounts counts;
};

// Escapes newlines and backslashes, as the values of a CopyState must be.
std::string on_one_line(std::string_view text);

// Replaces the file atomically.
Status save_state(const std::string& path, const CopyState& state);

// Nothing if the file does not exist. Code::corrupt if it is not a state file.
Result<std::optional<CopyState>> load_state(const std::string& path);

// The result of a copy, as text and as JSON.
struct CopySummary {
  std::string from;
  std::string to;
  double seconds = 0;
  bool is_resumed = false;
  std::vector<std::string> left_out;  // of the source, a line each
};

std::string summary_text(const CopySummary& summary, const CopyCounts& counts);
std::string summary_json(const CopySummary& summary, const CopyCounts& counts);

}  // namespace mayfly
