// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reading of records: whatever is read can be written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cluster/records.h"

namespace mayfly {
namespace {

template <class Parse>
void check(Parse parse, std::string_view text) {
  const auto record = parse(text);
  if (!record) return;
  const auto again = parse(to_text(*record));
  if (!again || !(*again == *record)) std::abort();
}

}  // namespace
}  // namespace mayfly

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  mayfly::check(mayfly::parse_cluster_record, text);
  mayfly::check(mayfly::parse_node_record, text);
  mayfly::check(mayfly::parse_live_record, text);
  mayfly::check(mayfly::parse_shard_record, text);
  mayfly::check(mayfly::parse_move_record, text);
  return 0;
}
