// SPDX-License-Identifier: Apache-2.0
// Bytes of keys and values as JSON: a string where they are UTF-8, else {"base64": "..."}.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

bool is_utf8(std::string_view bytes);
std::string base64(std::string_view bytes);

// On one line.
std::string bytes_as_json(std::string_view bytes);

}  // namespace mayfly
