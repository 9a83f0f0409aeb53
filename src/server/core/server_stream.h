// SPDX-License-Identifier: Apache-2.0
// Any bytes as the input of a server: for the fuzzer (server_fuzz.cc) and for a bounded run of
// random streams in the tests (server_stream_test.cc).

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {

// Feeds the bytes to a server through two connections, in pieces, with the clock moving between
// them. Returns what is wrong with the keyspace afterwards; empty if nothing is.
inline std::string run_stream(std::string_view bytes) {
  Config config;
  // So that tables come soon.
  config.hash_max_listpack_entries = 4;
  config.set_max_intset_entries = 4;
  config.set_max_listpack_entries = 4;
  config.zset_max_listpack_entries = 4;
  config.databases = 4;
  ServerFixture fixture(config);
  fixture.server().parts().config.maxclients = 100;
  fixture.server().parts().config.enable_debug_command =
      "no";  // it may sleep, or make any number of keys
  TestClient* clients[] = {&fixture.connect(), &fixture.connect()};
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 16 + (bytes.size() * 7 + i) % 400);
    clients[i % 2]->send(bytes.substr(0, size));
    bytes.remove_prefix(size);
    fixture.advance(Millis(static_cast<std::int64_t>(size % 50)));
    if (i % 3 == 0) {
      fixture.server().begin_turn();
      fixture.server().before_sleep();
    }
    if (!clients[i % 2]->is_connected()) clients[i % 2] = &fixture.connect();
  }
  for (int number = 0; number < 4; ++number) {
    std::string wrong = fixture.server().parts().keyspace[number].check_invariants();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace mayfly
