// SPDX-License-Identifier: Apache-2.0
// `mayfly rdb FILE`: says what is in an RDB file, prints it, or checks it.

#pragma once

#include <string>

#include "cli/program.h"
#include "mayfly/result.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {

void add_rdb_command(Program& program);

class RdbCommand {
 public:
  // Takes its words from `rdb`. The command must outlive the parsing.
  explicit RdbCommand(CliCommand rdb);

  Result<Exit> run() const;

 private:
  Status summarize(ByteSource& source) const;
  Status dump(ByteSource& source) const;
  Result<Exit> check(ByteSource& source) const;
  Status walk(RdbParser& parser, ByteSource& source) const;

  std::string path_;
  std::string keys_ = "*";
  bool as_json_ = false;
  bool dumps_ = false;
  bool checks_ = false;
};

}  // namespace mayfly
