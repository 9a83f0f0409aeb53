// SPDX-License-Identifier: Apache-2.0
// Replies of RESP3 as JSON, and arguments of JSON as words of a request.
//
//   string            "text", or {"$base64": "..."} if it is not UTF-8
//   integer           a number, or {"$int": "..."} beyond 2^53
//   big number        {"$int": "..."}, or as a string if it is none (a script can reply so)
//   double            a number; "inf", "-inf" and "nan"
//   array, set, push  an array
//   map               an object if all keys are texts, else {"$map": [[key, value], ...]}
//   null, boolean     null, true and false
//   error             {"error": "ERR ..."}

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "text/json_reader.h"

namespace mayfly {

// Appends the first reply of `bytes`. False if there is none that is whole, if it is nested deeper
// than 128, or if `out` would become longer than `most`.
bool append_reply_json(std::string& out, std::string_view bytes, std::size_t most);

// A string, a number as it is written, or {"$base64": "..."}.
Result<std::string> word_of_json(const JsonValue& value);

// A string of bytes: a text, or {"$base64": "..."}.
void append_json_bytes(std::string& out, std::string_view bytes);

}  // namespace mayfly
