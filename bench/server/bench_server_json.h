// SPDX-License-Identifier: Apache-2.0
// Pieces of the document that `mayfly bench server --json` writes.

#pragma once

#include <string_view>
#include <vector>

#include "bench/server/bench_server_results.h"
#include "tools/json/json.h"

namespace mayfly {

template <class Row>
void write_list(Json& json, std::string_view key, const std::vector<Row>& rows,
                void (*write)(Json&, const Row&)) {
  json.key(key);
  json.open('[');
  for (const Row& row : rows) write(json, row);
  json.close(']');
}

void write_latency(Json& json, std::string_view key, const ReplyTimes& latency);
void write_persist(Json& json, const PersistResults& results);

}  // namespace mayfly
