// SPDX-License-Identifier: Apache-2.0
// The words of an inline request, as redis-cli and configuration files quote them.
//
//   SET greeting "hello\nworld" 'it\'s'
//
//   "..."   with \n \r \t \b \a \xHH, and \ before any other byte for that byte
//   '...'   with \' only
//
// Any part of a word may be quoted: "te"st'-'key is test-key.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// Splits `line` into `words`, which it clears first. Words are views into `line`, or into
// `unquoted` if they had quotes. Returns false if the quotes are not balanced; `words` mean nothing
// then.
bool split_inline(std::string_view line, std::vector<std::string_view>& words,
                  std::string& unquoted);

}  // namespace mayfly
