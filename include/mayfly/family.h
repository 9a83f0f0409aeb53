// SPDX-License-Identifier: Apache-2.0
// Family: which column family of a store is meant.
//
// A family is a key space of its own: it has its keys, their deadlines and a default TTL, and
// shares transactions with the others. A Family is a small value that may be copied, kept and used
// in any transaction of the same store. Family() is the one that every store has, called "default".
//
// One that was dropped, or whose creation was rolled back, is not found any more; a later family of
// the same name is another one.

#pragma once

#include <cstdint>

#include "mayfly/internal/language.h"  // refuses an older language in one line

namespace mayfly {

namespace internal {
class Catalog;
}  // namespace internal

class Family {
 public:
  Family() = default;

  bool operator==(const Family&) const = default;

 private:
  friend class internal::Catalog;
  Family(std::uint32_t slot, std::uint32_t id) : slot_(slot), id_(id) {}

  std::uint32_t slot_ = 0;  // where the catalog has it
  std::uint32_t id_ = 1;    // given once in the life of a file
};

}  // namespace mayfly
