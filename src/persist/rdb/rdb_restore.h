// SPDX-License-Identifier: Apache-2.0
// Values as DUMP writes them and RESTORE reads them: type, value, version and checksum.
//
//   | type 1 | value as in an RDB file ... | version 2 | CRC-64 of all before it 8 |
//
// Numbers have their least byte first.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "keyspace/database.h"
#include "mayfly/result.h"
#include "mayfly/slot.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {

inline constexpr std::size_t kPayloadFooterSize = 2 + 8;  // version and checksum

void append_payload_footer(std::string& payload, unsigned version);

// Whether version and checksum are right. If not: Code::corrupt, "DUMP payload version or checksum
// are wrong".
Status check_payload(std::string_view payload, const RdbChecks& checks = {});

// Checks the payload and puts its value under the key, without a deadline; members that are due are
// kept, hidden. Errors: as above; Code::corrupt, "Bad data format"; or, for a module, an unknown
// type or one of a release candidate, Code::unsupported. Then nothing is stored. REQUIRES: no key
// of that name is stored.
Result<Slot> restore_value(const ExecContext& context, Database& database, std::string_view key,
                           std::string_view payload, const RdbChecks& checks = {});

}  // namespace mayfly
