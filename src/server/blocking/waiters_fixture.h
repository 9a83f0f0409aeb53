// SPDX-License-Identifier: Apache-2.0
// WaitersFixture: a server with a client that writes and three that can wait for keys. For tests.

#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "server/core/server_fixture.h"

namespace mayfly {

class WaitersFixture : public ServerFixture {
 protected:
  TestClient& writer = connect("127.0.0.1:5001");
  TestClient& a = connect("127.0.0.1:5002");
  TestClient& b = connect("127.0.0.1:5003");
  TestClient& c = connect("127.0.0.1:5004");

  // The requests wait: none is answered.
  void block(TestClient& client, std::string_view line) {
    EXPECT_EQ(client.run(line), "");
    EXPECT_TRUE(is_waiting(client));
  }
  static bool is_waiting(TestClient& client) {
    EXPECT_EQ(client.link().paused(), client.client().blocked.has_value());
    return client.client().blocked.has_value();
  }
  // A transaction of these commands.
  std::string transact(std::initializer_list<std::string> requests) {
    writer.run("MULTI");
    for (const std::string& request : requests) writer.run(request);
    return writer.run("EXEC");
  }
  Millis turn() {
    server().begin_turn();
    return server().before_sleep();
  }
};

}  // namespace mayfly
