// SPDX-License-Identifier: Apache-2.0
// What the model tests of members share: they run with each kind of payload.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "keyspace/members/member.h"
#include "mayfly/random.h"

namespace mayfly {

inline const auto kAllPayloads = testing::Values(Payload::value, Payload::none, Payload::score);

inline std::string payload_name(const testing::TestParamInfo<Payload>& info) {
  if (info.param == Payload::none) return "None";
  return info.param == Payload::value ? "Value" : "Score";
}

inline std::string any_value(Random& random, Payload payload) {
  if (payload == Payload::none) return {};
  if (payload == Payload::score) return std::string(ScoreBytes(random.fraction()).view());
  return std::string(random.below(7) == 0 ? random.below(300) : random.below(30), 'v');
}

}  // namespace mayfly
