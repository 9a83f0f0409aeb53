// SPDX-License-Identifier: Apache-2.0
// AofLoader: reads the append-only file, base and increments, in slices.
//
//   AofLoader loader(disk, options, keyspace, applier, {.now = clock.now()});
//   for (;;) {
//     Result<bool> loaded = loader.step(1000);
//     if (!loaded) return loaded.error();             // what was loaded so far stays
//     if (*loaded) break;
//   }
//   if (!loader.report().found) ...                   // there is no log
//
// A power cut or a crash can leave a part of a command, or of a transaction, at the end of the last
// file, and zeros up to its end. It is cut off and reported, or is an error, depending on the
// options. Any other damage is
// an error with file and offset: an incomplete file that is not the last one, or invalid commands.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keyspace/keyspace.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/aof/aof_manifest.h"
#include "persist/aof/aof_reader.h"
#include "persist/disk/disk.h"
#include "persist/rdb/rdb_loader.h"
#include "resp/request.h"

namespace mayfly {

class AofApply {
 public:
  virtual ~AofApply() = default;

  // One command, good during the call. SELECT, MULTI and EXEC are not among them: the commands of a
  // transaction come one after the other when all of it has been read. Nothing may expire
  // meanwhile. An error ends the loading; file and offset are put before its message.
  virtual Status apply(int database, Words words) = 0;
};

struct AofLoadOptions {
  Time now{};
  bool truncates_tail = true;  // aof-load-truncated
  RdbChecks checks = {};       // of a base that is an RDB file
  LoadFunction load_function = {};
};

struct AofLoadReport {
  bool found = false;              // there is a log
  std::uint64_t commands = 0;      // applied
  std::uint64_t transactions = 0;  // whole ones
  std::optional<RdbReport> base;   // if the base is or begins with an RDB file
  std::string note;                // the last one, see AofReader::note()
  bool ends_with_note = false;     // nothing follows it, and nothing is cut off

  // What was cut off the end of the last file.
  std::uint64_t truncated_bytes = 0;
  std::string truncated_file;
  std::uint64_t truncated_at = 0;  // the file's size since then
};

class AofLoader {
 public:
  // All but the options must outlive it. Opens the files with the first step().
  AofLoader(Disk& disk, const AofOptions& files, Keyspace& keyspace, AofApply& applier,
            const AofLoadOptions& options);
  ~AofLoader();

  // Loads about `commands` commands or keys (a transaction at once); true when all is loaded. After
  // an error or true it must not be called again.
  Result<bool> step(std::size_t commands);

  // In bytes, of all files. Known after the first step.
  std::uint64_t offset() const;
  std::uint64_t total_bytes() const { return total_bytes_; }

  const AofLoadReport& report() const { return report_; }

 private:
  struct File {
    std::string name;
    std::string path;
    std::uint64_t bytes = 0;
    bool is_base = false;
  };

  Status find_files();
  Status begin_file();
  Result<bool> step_base(std::size_t keys);
  Status begin_commands(std::uint64_t offset);
  Result<bool> step_commands(std::size_t commands);  // true: the file is at its end
  Status take(Words words);
  Status select(Words words);
  Status apply(int database, Words words);
  Status apply_unit();
  Result<bool> malformed();
  Result<bool> truncated();
  Error bad_format(std::uint64_t offset, std::string_view why) const;
  const File& file() const { return files_[at_]; }

  Disk& disk_;
  const AofOptions names_;
  Keyspace& keyspace_;
  AofApply& applier_;
  const AofLoadOptions options_;
  AofLoadReport report_;

  bool has_begun_ = false;
  std::vector<File> files_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t bytes_before_ = 0;  // of files that are done

  // The file under way.
  std::size_t at_ = 0;
  bool is_open_ = false;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<RdbLoader> rdb_;     // while the base is, or begins with, an RDB file
  std::unique_ptr<AofReader> reader_;  // then
  int database_ = 0;

  // The transaction under way: where it began, and its commands with MULTI and EXEC left out.
  std::optional<std::uint64_t> unit_at_;
  int unit_database_ = 0;  // selected within it, as of now
  AofUnit unit_;
};

}  // namespace mayfly
