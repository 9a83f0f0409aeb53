// SPDX-License-Identifier: Apache-2.0
// `mayfly serve`: starts a server.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

class ServeCommand {
 public:
  explicit ServeCommand(CLI::App& app);

  // Whether it was asked for.
  bool is_chosen() const;
  Status run() const;

 private:
  CLI::App* app_;
};

}  // namespace mayfly
