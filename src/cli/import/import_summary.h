// SPDX-License-Identifier: Apache-2.0
// What a copy has done, for people and as JSON.

#pragma once

#include <string>

#include "cli/import/import_item.h"

namespace mayfly {

struct CopySummary {
  std::string from;
  std::string to;
  double seconds = 0;
  bool is_resumed = false;
};

std::string summary_text(const CopySummary& summary, const CopyCounts& counts);
std::string summary_json(const CopySummary& summary, const CopyCounts& counts);

}  // namespace mayfly
