// SPDX-License-Identifier: Apache-2.0
#include "server/replication/replconf/replica_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "commands/words.h"
#include "persist/rdb/rdb_parser.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// For an error reply: on one line, and cut.
std::string shown_word(std::string_view word) {
  constexpr std::size_t kLongest = 64;
  return printable(word, kLongest);
}

bool is_node_word(std::string_view word) {
  return std::ranges::all_of(word, [](char byte) { return byte > 0x20 && byte < 0x7F; });
}

// As in the name of a host, an address of version 4, or one of version 6 with its zone.
bool is_host(std::string_view text) {
  constexpr std::size_t kLongest = 255;
  return text.size() <= kLongest && std::ranges::all_of(text, [](unsigned char byte) {
           return std::isalnum(byte) != 0 ||
                  std::string_view(".-_:%").find(static_cast<char>(byte)) != std::string_view::npos;
         });
}

std::vector<std::string_view> filter_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// REPLCONF rdb-filter-only "functions": what the file shall have; nothing else is sent then.
Status set_filter(ReplicaState& replica, std::string_view value) {
  RdbFilter filter = RdbFilter::nothing;
  for (const std::string_view word : filter_words(value)) {
    if (!equals(word, "functions")) {
      return Error{Code::invalid,
                   fmt::format("ERR Unsupported rdb-filter-only option: {}", shown_word(word))};
    }
    filter = RdbFilter::functions;
  }
  replica.filter = filter;
  return Done{};
}

Status set_node(ReplicaState& replica, std::string_view value) {
  constexpr std::size_t kLongest = 128;
  if (value.size() > kLongest || !is_node_word(value)) {
    return Error{Code::invalid, "ERR Invalid REPLCONF cluster-node"};
  }
  const std::size_t colon = std::min(value.find(':'), value.size());
  replica.node = value.substr(0, colon);
  replica.incarnation = value.substr(std::min(colon + 1, value.size()));
  return Done{};
}

}  // namespace

Status set_replica_option(ReplicaState& replica, std::string_view name, std::string_view value) {
  if (equals(name, "listening-port")) {
    const auto port = parse_integer(value);
    if (!port || *port < 0 || *port > 65'535) {
      return Error{Code::invalid, "ERR value is not an integer or out of range"};
    }
    replica.port = *port;
  } else if (equals(name, "ip-address")) {
    if (!is_host(value)) {
      return Error{Code::invalid,
                   "ERR REPLCONF ip-address provided by replica instance is not an address or "
                   "host name"};
    }
    replica.ip = value;
  } else if (equals(name, "capa")) {
    if (equals(value, "eof")) replica.takes_eof = true;
    if (equals(value, "psync2")) replica.knows_ids = true;
    if (equals(value, kMemberDeadlines)) replica.is_mayfly = true;
  } else if (equals(name, "cluster-node")) {
    return set_node(replica, value);
  } else if (equals(name, "version")) {
    replica.announces_version = true;
    replica.version = parse_integer(value.substr(0, value.find('.'))).value_or(0);
  } else if (equals(name, "rdb-only")) {
    const auto is_only = parse_integer(value);
    if (!is_only) return Error{Code::invalid, "ERR value is not an integer or out of range"};
    replica.wants_file_only = *is_only == 1;
  } else if (equals(name, "rdb-filter-only")) {
    return set_filter(replica, value);
  } else {
    return Error{Code::invalid,
                 fmt::format("ERR Unrecognized REPLCONF option: {}", shown_word(name))};
  }
  return Done{};
}

}  // namespace mayfly
