// SPDX-License-Identifier: Apache-2.0
// What a server has besides the keys of one database: other databases, and libraries of functions;
// and what other nodes of its cluster have.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "tools/resp_client.h"

namespace mayfly {

struct DatabaseKeys {
  int number = 0;
  std::uint64_t keys = 0;
};

// Databases that have keys, by their numbers: of a server, and in a reply of INFO keyspace.
Result<std::vector<DatabaseKeys>> databases_of(RespClient& client);
std::vector<DatabaseKeys> keys_of_databases(std::string_view info);

// Slots of a cluster that another node has, with the address of its primary.
struct OtherSlots {
  std::string host;  // empty: the host of the server
  int port = 0;
  std::string slots;  // "0-5460 7000"
};

// One for each other primary of the cluster of a server. None if it is in no cluster.
Result<std::vector<OtherSlots>> other_slots_of(RespClient& client);

struct FunctionLibrary {
  std::string name;
  std::string code;
};

// None if the server has no functions, or does not let this user list them.
Result<std::vector<FunctionLibrary>> libraries_of(RespClient& client);

// Loads libraries; one of the same name is replaced, or stays if `keeps`. Returns why some were not
// loaded, a line for each.
Result<std::vector<std::string>> load_libraries(RespClient& client,
                                                const std::vector<FunctionLibrary>& libraries,
                                                bool keeps);

}  // namespace mayfly
