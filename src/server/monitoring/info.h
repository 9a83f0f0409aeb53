// SPDX-License-Identifier: Apache-2.0
// The text of INFO: sections of lines `name:value`, for people and for programs.
//
//   info_text(server, {"memory", "stats"})
//
// Nothing in it is a secret.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/core/server.h"

namespace mayfly {

// The sections named, in any case, in INFO's own order. "default" is those of everyday use, "all"
// and "everything" are all. None named: default. Names that mean nothing are passed over.
std::string info_text(Server& server, std::span<const std::string_view> names);

// 1536 -> "1.50K"
std::string human_bytes(std::uint64_t bytes);

// Sections; each appends lines that end in \r\n.
void info_server(Server& server, std::string& text);
void info_clients(Server& server, std::string& text);
void info_memory(Server& server, std::string& text);
void info_persistence(Server& server, std::string& text);
void info_stats(Server& server, std::string& text);
void info_expiry(Server& server, std::string& text);
void info_replication(Server& server, std::string& text);
void info_cpu(Server& server, std::string& text);
void info_command_stats(Server& server, std::string& text);
void info_error_stats(Server& server, std::string& text);
void info_latency_stats(Server& server, std::string& text);
void info_cluster(Server& server, std::string& text);
void info_keyspace(Server& server, std::string& text);

}  // namespace mayfly
