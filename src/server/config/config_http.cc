// SPDX-License-Identifier: Apache-2.0
// The directives about HTTP: metrics, health checks and the console.

#include "server/config/config_table.h"

namespace mayfly {
namespace {

// clang-format off
constexpr Directive kHttpDirectives[] = {
    {"http-port",            "", number<&Config::http_port, 0, 65'535>},
    {"http-bind",            "", words<&Config::http_bind>,  mark::several},
    {"http-hosts",           "", words<&Config::http_hosts>, mark::several},
    {"http-maxconnections",  "", number<&Config::http_maxconnections, 1, 10'000>},
    {"http-session-timeout", "", number<&Config::http_session_timeout, 1, 43'200>},
};
// clang-format on

}  // namespace

std::span<const Directive> http_directives() { return kHttpDirectives; }

}  // namespace mayfly
