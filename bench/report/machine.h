// SPDX-License-Identifier: Apache-2.0
// On which machine, and with which build, was it measured? Numbers without that mean nothing.

#pragma once

#include <string>

namespace mayfly {

struct Machine {
  std::string processor;  // its model, or "unknown processor"
  unsigned cores = 0;
  std::string compiler;
  std::string version;          // of Mayfly
  bool has_assertions = false;  // then nothing that was measured counts
};

Machine this_machine();

}  // namespace mayfly
