// SPDX-License-Identifier: Apache-2.0
// A server on a disk that outlives it, for the tests of what is kept there.
//
//   RestartFixture world;
//   world.start(config);
//   world.run("SET k v");                 // and a turn of the loop: what was appended is written
//   world.restart(config);                // as after a kill: nothing is saved at the end
//   EXPECT_EQ(world.run("GET k"), "\"v\"");

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "mayfly/clock.h"
#include "persist/disk/fake_disk.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/persistence.h"

namespace mayfly {

inline Config config_with(bool appendonly, std::string appendfsync = "everysec") {
  Config config;
  config.save.clear();
  config.appendonly = appendonly;
  config.appendfsync = std::move(appendfsync);
  return config;
}

class RestartFixture : public testing::Test {
 protected:
  static constexpr const char* kManifest = "./appendonlydir/appendonly.aof.manifest";
  static constexpr const char* kFirstIncrement = "./appendonlydir/appendonly.aof.1.incr.aof";

  // Why it did not start, or empty.
  std::string start(const Config& config) {
    client_ = nullptr;
    fixture_.reset();
    fixture_ = std::make_unique<ServerFixture>(config, &clock_, &disk_);
    client_ = &fixture_->connect();
    const Status status = persistence().start();
    if (!status) return status.error().message;
    fixture_->sweep();
    return persistence().fatal() ? persistence().fatal()->message : std::string();
  }
  std::string restart(const Config& config) { return start(config); }

  // Without the power something is lost.
  std::string restart_after_power_cut(const Config& config) {
    client_ = nullptr;
    fixture_.reset();
    disk_.power_cut();
    return start(config);
  }

  // A request, and the end of the turn that it came in.
  std::string run(std::string_view line) {
    std::string reply = client_->run(line);
    turn();
    return reply;
  }
  void turn() { server().before_sleep(); }

  // Whether INFO has this line.
  bool info_has(const std::string& line) {
    return client_->run("INFO everything").find(line + "\\r\\n") != std::string::npos ||
           client_->run("INFO everything").find(line + "\r\n") != std::string::npos;
  }
  bool log_has(std::string_view text) const {
    for (const std::string& line : fixture_->lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  Server& server() { return fixture_->server(); }
  Persistence& persistence() { return server().parts().persistence; }
  Time now() const { return clock_.now(); }
  std::string in_ms(Millis from_now) const {
    return std::to_string((now() + from_now).time_since_epoch().count());
  }

  ManualClock clock_{Time(Millis(1'700'000'000'000))};
  FakeDisk disk_;
  std::unique_ptr<ServerFixture> fixture_;
  TestClient* client_ = nullptr;
};

}  // namespace mayfly
