// SPDX-License-Identifier: Apache-2.0
// HashField: what a hash says about one of its fields, whatever its encoding.

#pragma once

#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

// The views are good until the hash is changed.
struct HashField {
  std::string_view field;
  std::string_view value;
  Time deadline = kNever;
};

}  // namespace mayfly
