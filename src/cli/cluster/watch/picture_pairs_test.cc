// SPDX-License-Identifier: Apache-2.0
// `status` and `check` in all combinations of two bad states: no line is ok by mistake.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/cluster/watch/picture_world.h"

namespace mayfly {
namespace {

struct Part {
  const char* name;
  std::function<void(World&)> happens;
  bool is_sound = false;
  bool takes_writes = false;  // the shard does
};

const std::array<Part, 11> kPrimaries = {{
    {"sound", [](World&) {}, true, true},
    {"killed", [](World& w) { w.stop(kPrimary, Code::not_found); }},
    {"dead",
     [](World& w) {
       w.stop(kPrimary, Code::not_found);
       w.forget(kPrimary);
     }},
    {"frozen", [](World& w) { w.stop(kPrimary, Code::busy); }},
    {"locked", [](World& w) { w.stop(kPrimary, Code::denied); }},
    {"another", [](World& w) { w.stop(kPrimary, Code::io); }},
    {"full disk", [](World& w) { w.node(kPrimary).refused_writes = "MISCONF no"; }},
    {"full memory", [](World& w) { w.node(kPrimary).refused_writes = "OOM no"; }},
    {"loading", [](World& w) { w.node(kPrimary).is_loading = true; }},
    {"fenced", [](World& w) { w.node(kPrimary).is_serving = false; }},
    {"restarted", [](World& w) { w.restart(kPrimary); }},
}};

const std::array<Part, 6> kReplicas = {{
    {"sound", [](World&) {}, true},
    {"killed", [](World& w) { w.stop(kReplica, Code::not_found); }},
    {"dead",
     [](World& w) {
       w.stop(kReplica, Code::not_found);
       w.forget(kReplica);
     }},
    {"frozen", [](World& w) { w.stop(kReplica, Code::busy); }},
    {"bad file", [](World& w) { w.node(kReplica).is_log_good = false; }},
    {"out", [](World& w) { w.take_out_replica(); }},
}};

const std::array<Part, 4> kOthers = {{
    {"sound", [](World&) {}, true},
    {"no files",
     [](World& w) {
       for (const int number : {1, 2, 3, 4}) w.node(number).keeps_data = false;
     }},
    {"disk", [](World& w) { w.node(kOther).disk_free = 1; }},
    {"replica 4 dead",
     [](World& w) {
       w.stop(4, Code::not_found);
       w.forget(4);
     }},
}};

const std::array<Part, 4> kEtcds = {{
    {"sound", [](World&) {}, true},
    {"one down", [](World& w) { w.lose_etcd(1); }},
    {"most down", [](World& w) { w.lose_etcd(2); }},
    {"all down", [](World& w) { w.lose_etcd(3); }},
}};

TEST(PicturePairs, NothingIsOkWhenOneThingOrTwoAreNot) {
  for (const Part& primary : kPrimaries) {
    for (const Part& replica : kReplicas) {
      for (const Part& other : kOthers) {
        for (const Part& etcd : kEtcds) {
          const auto bad = std::ranges::count(
              std::array{primary.is_sound, replica.is_sound, other.is_sound, etcd.is_sound}, false);
          if (bad > 2) continue;
          SCOPED_TRACE(fmt::format("primary {}, replica {}, other {}, etcd {}", primary.name,
                                   replica.name, other.name, etcd.name));
          World world;
          for (const Part* part : {&primary, &replica, &other, &etcd}) part->happens(world);
          const bool is_sound = bad == 0;
          const std::string status = world.status();
          const Result<Exit> exit = world.check();
          ASSERT_EQ(exit.ok() && *exit == Exit::ok, is_sound) << world.said();
          ASSERT_EQ(has(status, "\n  ! "), !is_sound) << status;
          if (!exit) continue;  // nothing is known
          ASSERT_EQ(has(status, "16384 slots ok"), primary.takes_writes) << status;
          for (const std::string& line : good_lines(world.said())) {
            ASSERT_FALSE(says_fewer(line)) << line;
          }
          if (!primary.takes_writes) {
            ASSERT_TRUE(has(world.said(), "fault: ")) << world.said();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mayfly
