// SPDX-License-Identifier: Apache-2.0
// When a deadline may be changed: the NX, XX, GT and LT of the EXPIRE commands.
//
// One function decides for the cache, the store and the server, so that they cannot differ.
// To it an entry that never expires has the greatest deadline of all: GT never applies to it, LT
// always does (unless the new one is never, too).

#pragma once

#include "mayfly/time.h"

namespace mayfly {

// Conditions combine with |, and then all of them must hold.
enum class When : unsigned {
  always = 0,
  unset = 1,   // NX: only if it has no deadline
  set = 2,     // XX: only if it has one
  later = 4,   // GT: only if the new deadline is later than the present one
  sooner = 8,  // LT: only if the new deadline is sooner
};

constexpr When operator|(When a, When b) {
  return static_cast<When>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

constexpr bool contains(When conditions, When one) {
  return (static_cast<unsigned>(conditions) & static_cast<unsigned>(one)) != 0;
}

// Whether an entry with the deadline `present` (kNever if it has none) may get `proposed`.
constexpr bool allows(When conditions, Time present, Time proposed) {
  if (contains(conditions, When::unset) && present != kNever) return false;
  if (contains(conditions, When::set) && present == kNever) return false;
  if (contains(conditions, When::later) && proposed <= present) return false;
  if (contains(conditions, When::sooner) && proposed >= present) return false;
  return true;
}

// Whether the conditions make sense together. NX goes with no other, and GT not with LT.
constexpr bool compatible(When conditions) {
  const bool nx = contains(conditions, When::unset);
  const bool gt = contains(conditions, When::later);
  const bool lt = contains(conditions, When::sooner);
  if (nx && (gt || lt || contains(conditions, When::set))) return false;
  return !(gt && lt);
}

}  // namespace mayfly
