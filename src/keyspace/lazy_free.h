// SPDX-License-Identifier: Apache-2.0
// LazyFree: large values that were removed, and are freed in slices.
//
// Freeing a hash of a million fields takes a tenth of a second. So a removed value is handed to
// defer_free(), and the event loop calls free_some() between other work until nothing is left.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "keyspace/value.h"

namespace mayfly {

struct Contents;
struct EntrySums;

class LazyFree {
 public:
  LazyFree();
  ~LazyFree();

  // While members with deadlines are freed, they leave the sums, unless that is null.
  void defer_free(OutsideValue value, EntrySums* sums = nullptr);
  void defer_free(std::unique_ptr<Contents> contents);

  // Frees at most about `limit` keys and members, elements of lists, entries of streams. Returns
  // how many.
  std::size_t free_some(std::size_t limit);

  bool is_empty() const { return values_.empty() && contents_.empty(); }
  std::size_t pending() const;  // about how many keys and members are still to be freed

 private:
  struct Deferred {
    OutsideValue value;
    EntrySums* sums;  // null: nobody counts its members
  };

  std::size_t free_some(Deferred& deferred, std::size_t limit);

  std::vector<Deferred> values_;
  std::vector<std::unique_ptr<Contents>> contents_;
};

}  // namespace mayfly
