// SPDX-License-Identifier: Apache-2.0
// Commands of the console: POST /api/command with {"db": 0, "commands": [["GET", "key"], ...]} is
// answered by {"replies": [{"ok": value}, {"error": "ERR ..."}]}; reply_json.h has the values.
//
// They are requests of a client as any other: checked, counted, logged, propagated, shown by
// MONITOR and, while they run, by CLIENT LIST. The client lives as long as the HTTP request. It
// never waits: BLPOP replies as if its time were over, and while clients are paused or slots of a
// cluster move a command that would have to wait gets an error. Commands that change how the
// connection works are refused.

#pragma once

#include <cstddef>
#include <string_view>

#include "net/http/http_response.h"
#include "net/transport.h"

namespace mayfly {

struct ServerParts;

inline constexpr std::size_t kConsoleCommandsMost = 128;   // in one request
inline constexpr std::size_t kConsoleReplyMost = 8 << 20;  // bytes of JSON

HttpResponse run_console_commands(const ServerParts& parts, Link& link, std::string_view body);

}  // namespace mayfly
