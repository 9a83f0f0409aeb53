// SPDX-License-Identifier: Apache-2.0
// `mayfly rdb FILE`: says what is in an RDB file, prints it, or checks it.

#pragma once

#include <string>

#include "mayfly/result.h"
#include "persist/rdb_parser.h"

namespace CLI {
class App;
}

namespace mayfly {

class RdbCommand {
 public:
  // Adds `rdb` to the program. The command must outlive the parsing.
  explicit RdbCommand(CLI::App& app);

  // Whether it was asked for.
  bool is_chosen() const;
  Status run() const;

 private:
  Status summarize(ByteSource& source) const;
  Status dump(ByteSource& source) const;
  Status check(ByteSource& source) const;
  Status walk(RdbParser& parser, ByteSource& source) const;

  CLI::App* rdb_;
  std::string path_;
  std::string keys_ = "*";
  bool as_json_ = false;
  bool dumps_ = false;
  bool checks_ = false;
};

}  // namespace mayfly
