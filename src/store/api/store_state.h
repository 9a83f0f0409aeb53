// SPDX-License-Identifier: Apache-2.0
// What is inside a Store: a share in an environment, the clock, the options and the counts.

#pragma once

#include <filesystem>
#include <string>

#include "mayfly/store.h"
#include "store/lmdb/environment.h"
#include "store/txn/tally.h"
#include "store/txn/txn.h"

namespace mayfly {

class Store::State {
 public:
  State(Environment& environment, const Clock& clock, StoreOptions options,
        std::filesystem::path path, bool temporary);
  ~State();

  Status close();

  Txn::Owner owner() { return {*environment, clock, options, tally}; }

  Environment* environment;  // null once it is closed
  const Clock& clock;
  const StoreOptions options;
  const std::filesystem::path path;
  const bool temporary;
  SharedTally tally;
};

}  // namespace mayfly
