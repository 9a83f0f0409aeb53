// SPDX-License-Identifier: Apache-2.0
// KeyHll: the HyperLogLog of a key, and what the commands on it share.

#pragma once

#include <string_view>

#include "commands/call.h"
#include "commands/hyperloglog/hll.h"

namespace mayfly {

// Changes are made in place. While it is sparse, a value that grows gets some room for the next
// changes, but at most 300 bytes; a dense one has none to spare.
class KeyHll : public HllString {
 public:
  KeyHll(Database& database, Slot slot) : database_(database), slot_(slot) {}
  std::string_view bytes() const override { return database_.string(slot_); }
  char* resize(std::size_t size) override;
  void assign(std::string_view bytes) override;

 private:
  Database& database_;
  const Slot slot_;
};

// Whether the key, which exists, has a HyperLogLog; if not, there is an error reply.
bool check_is_hll(Call& call, Slot slot);

void fail_damaged_hll(Call& call);

// For tests from outside; in hll_debug.cc.
void pfdebug(Call& call);
void pfselftest(Call& call);

}  // namespace mayfly
