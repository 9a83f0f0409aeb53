// SPDX-License-Identifier: Apache-2.0
// Digest: 160 bits that are the same for two datasets if they hold the same, in whatever order and
// encoding. Deadlines of keys and of members count; what is due does not.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "keyspace/keyspace.h"

namespace mayfly {

class Digest {
 public:
  // Mixes in one more thing. The order of calls does not matter, and no two things may be equal.
  void add(const std::string& thing);

  // 40 hexadecimal digits; all 0 if nothing was added.
  std::string text() const;

 private:
  std::array<std::uint64_t, 3> bits_{};  // of the last only 32
};

// Of all databases. O(everything).
Digest digest_of(const ExecContext& context, Keyspace& keyspace);

// Of a key's value and deadlines, its name left out.
Digest digest_of_value(const ExecContext& context, Database& database, Slot slot);

}  // namespace mayfly
