// SPDX-License-Identifier: Apache-2.0
// The options that all commands on a store share.
//
// StoreFile: which file, which column family, text or JSON.
//
//   mayfly get --db app.db --cf sessions KEY
//   mayfly --db app.db --cf sessions get KEY        the same; SNKV's tool has them in front
//   MAYFLY_DB=app.db mayfly get KEY
//
// ByteWords: how keys and values are given and printed.
//
//   text       these bytes                          @FILE    the content of a file
//   -          standard input                       @@text   text that starts with @
//   --hex and --base64 are for arguments and for output; files and standard input are always raw.

#pragma once

#include <string>
#include <string_view>

#include "cli/program.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "mayfly/store.h"

namespace mayfly {

class ByteWords {
 public:
  void add_options(CliCommand command);

  // The bytes of an argument. Standard input can be read once.
  Result<std::string> read(const std::string& word) const;

  // The same in a line of input, where - and @ have no meaning.
  Result<std::string> decode(std::string_view word) const;

  // As text: UTF-8 as it is, other bytes as <hex:...>; or all as --hex or --base64.
  std::string text(std::string_view bytes) const;

  // The same on one line: <hex:...> also for bytes with a newline or another control character.
  std::string line(std::string_view bytes) const;

  // As JSON: a string or, if it is not UTF-8, {"base64": "..."}.
  std::string json(std::string_view bytes) const;

  bool is_coded() const { return is_hex_ || is_base64_; }

 private:
  bool is_hex_ = false;
  bool is_base64_ = false;
  bool is_literal_ = false;
};

class StoreFile {
 public:
  StoreFile();

  // Adds a command on the store, with the options of the store. `args` holds its own arguments, and
  // must live as long as the program.
  template <class Args>
  CliCommand add_command(Program& program, const char* name, const char* what, const char* examples,
                         const Args* args, Result<Exit> (*run)(const Args&, const StoreFile&)) {
    CliCommand command = program.add(name, what, examples);
    add_options(command);
    program.on(command, [this, args, run] { return run(*args, *this); });
    return command;
  }

  // The options of the store; for commands with keys or values, also those of ByteWords.
  void add_options(CliCommand command);
  void add_byte_options(CliCommand command) { bytes_.add_options(command); }

  // All of them before the command, where help does not show them.
  void add_to_program(CliCommand program);

  // Only `write` creates a file. A file that may not be written can still be read. `look` opens it
  // read-only.
  enum class Use { look, read, change, write };
  Result<Store> open(Use use) const;

  // An empty temporary store without a file.
  Result<Store> open_scratch() const { return Store::open("", clock_); }

  // The column family of --cf. It must exist, also to write: a typing error must not create one.
  Result<Family> family(const Store& store) const;

  struct Opened {
    Store store;
    Family family;
  };
  Result<Opened> open_family(Use use) const;

  Time now() const { return clock_.now(); }
  const ByteWords& bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  const std::string& family_name() const { return family_; }
  bool has_family() const { return has_family_; }  // --cf was given
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
  std::string ignored_;  // options of SNKV's tool without a meaning here
  bool has_family_ = false;
  bool is_read_only_ = false;
  bool is_json_ = false;
  bool is_ignored_ = false;
};

}  // namespace mayfly
