// SPDX-License-Identifier: Apache-2.0
// Whether keys and values are such as a store can hold, and what to say if they are not.

#pragma once

#include <string_view>

#include "mayfly/result.h"
#include "mayfly/store_options.h"

namespace mayfly {

inline bool good_key(std::string_view key) { return !key.empty() && key.size() <= kStoreKeyMax; }
inline bool good_value(std::string_view value) { return value.size() <= kStoreValueMax; }

// REQUIRES: !good_key(key).
Error bad_key(std::string_view key);

// REQUIRES: !good_value(value).
Error bad_value(std::string_view value);

}  // namespace mayfly
