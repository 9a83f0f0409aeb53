// SPDX-License-Identifier: Apache-2.0
// Libraries of functions as FUNCTION DUMP writes them and FUNCTION RESTORE reads them:
//
//   | 245 | code as a string of an RDB file | ... | version 2 | CRC-64 of all before it 8 |
//
// Numbers have their least byte first. A library is nothing but its code.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {

std::string dump_functions(std::span<const std::string> codes);

// The codes, or Code::corrupt or Code::unsupported. Nothing of the code is checked.
Result<std::vector<std::string>> read_functions(std::string_view payload,
                                                const RdbChecks& checks = {});

}  // namespace mayfly
