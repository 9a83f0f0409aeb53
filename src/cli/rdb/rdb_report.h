// SPDX-License-Identifier: Apache-2.0
// What `mayfly rdb` says about a file: as text for a terminal, and as JSON.

#pragma once

#include <string>

#include "cli/rdb/rdb_summary.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

std::string render_rdb_summary(const std::string& path, const RdbSummary& summary,
                               const Colours& colours);
std::string rdb_summary_to_json(const std::string& path, const RdbSummary& summary);

}  // namespace mayfly
