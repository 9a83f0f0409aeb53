// SPDX-License-Identifier: Apache-2.0
#include "store/api/arguments.h"

#include <string>

namespace mayfly {

Error bad_key(std::string_view key) {
  if (key.empty()) return {Code::invalid, "the key is empty; it must have at least one byte"};
  return {Code::invalid, "the key has " + std::to_string(key.size()) + " bytes; " +
                             std::to_string(kStoreKeyMax) + " are allowed"};
}

Error bad_value(std::string_view value) {
  return {Code::invalid, "the value has " + std::to_string(value.size()) + " bytes; " +
                             std::to_string(kStoreValueMax) + " are allowed"};
}

}  // namespace mayfly
