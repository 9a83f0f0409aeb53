// SPDX-License-Identifier: Apache-2.0
// StreamCopier: streams as servers give and take them, by DUMP and RESTORE, and as members of a
// CopyItem, which a store keeps as entries:
//
//   id, 16 bytes   -> fields and values in turn, each with its length in 4 bytes before it
//   (empty)        -> the state of the stream: what DUMP returns for it without its entries. So it
//                     has the ids, the groups, their consumers and the pending entries
//
// Numbers are big-endian. Both sides may be of different versions: a payload is written as the
// target can read it.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "mayfly/result.h"
#include "persist/rdb/rdb_format.h"

namespace mayfly {

class StreamCopier {
 public:
  StreamCopier();
  ~StreamCopier();

  // The members of a stream that DUMP has returned, its state first. Code::invalid if it is another
  // type, Code::corrupt if it cannot be read.
  Result<std::vector<CopyMember>> members(std::string_view payload);

  // The payload for RESTORE, with no newer type than this one: 15, 19 or 21. Code::corrupt if the
  // members were not written by an import.
  Result<std::string> payload(const std::vector<CopyMember>& members, rdb::Type newest);

 private:
  struct Scratch;  // a keyspace

  std::unique_ptr<Scratch> scratch_;
};

// For printing: "1526919030474-55", and fields and values in turn. Nothing if the bytes are none.
std::optional<std::string> stream_id_text(std::string_view member);
std::optional<std::vector<std::string_view>> stream_words(std::string_view value);

}  // namespace mayfly
