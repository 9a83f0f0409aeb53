// SPDX-License-Identifier: Apache-2.0
// StoreFile: the words that all commands on a store share: which file, which family, how bytes are
// written, and what the answer looks like.
//
//   mayfly get --db app.db --cf sessions KEY
//   mayfly --db app.db --cf sessions get KEY        the same; SNKV's tool has them in front
//   MAYFLY_DB=app.db mayfly get KEY

#pragma once

#include <string>
#include <string_view>

#include "cli/byte_words.h"
#include "cli/cli_command.h"
#include "mayfly/clock.h"
#include "mayfly/store.h"

namespace mayfly {

class StoreFile {
 public:
  StoreFile();

  // Adds the options to a command, in groups of their own in its help. Commands that take keys or
  // values also get those that say how bytes are written.
  void add_options(CliCommand command);
  void add_byte_options(CliCommand command);

  // The same in front of the command, where help does not show them.
  void add_to_program(CliCommand program);

  // Only to write makes a file; to read and to change need one. What may not be written can still
  // be read.
  enum class Use { read, change, write };
  Result<Store> open(Use use) const;

  // An empty store without a file, gone when it is closed.
  Result<Store> open_scratch() const { return Store::open("", clock_); }

  // The family that was named. To write into one that is not there is an error, too: a typing
  // mistake must not make a family.
  Result<Family> family(const Store& store) const;

  // Both at once, for the many commands that need no more.
  struct Opened {
    Store store;
    Family family;
  };
  Result<Opened> open_family(Use use) const;

  Time now() const { return clock_.now(); }
  const ByteWords& bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  const std::string& family_name() const { return family_; }
  bool has_family() const { return has_family_; }  // whether one was named
  bool is_json() const { return is_json_ || format_ == "json"; }

 private:
  Result<StoreOptions> options(Use use) const;

  SystemClock clock_;
  ByteWords bytes_;
  std::string path_;
  std::string family_ = "default";
  std::string format_ = "text";
  std::string sync_ = "normal";
  std::string timeout_ms_ = "3000";
  std::string ignored_;  // what SNKV's tool takes and has no meaning here
  bool has_family_ = false;
  bool is_read_only_ = false;
  bool is_json_ = false;
  bool is_ignored_ = false;
};

}  // namespace mayfly
