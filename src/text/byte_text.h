// SPDX-License-Identifier: Apache-2.0
// Bytes of keys and values as text, and back.

#pragma once

#include <string>
#include <string_view>

#include "base/hex.h"
#include "mayfly/result.h"

namespace mayfly {

bool is_utf8(std::string_view bytes);

// For a terminal or a log: control characters (also those of ISO 8859-1, as UTF-8) and bytes that
// are not UTF-8 become \xNN. `kept`: control characters that stay.
std::string escape_controls(std::string_view text, std::string_view kept = {});

std::string base64(std::string_view bytes);

// The bytes of such a text; Code::invalid for another. Digits of either case, and base64 with or
// without the `=` at its end.
Result<std::string> from_base64(std::string_view text);
Result<std::string> from_hex(std::string_view text);

// As JSON on one line: a string if they are UTF-8, else {"base64": "..."}.
std::string bytes_as_json(std::string_view bytes);

}  // namespace mayfly
