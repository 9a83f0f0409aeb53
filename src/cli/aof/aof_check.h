// SPDX-License-Identifier: Apache-2.0
// AofCheck: looks for damage in the files of an append-only log, and cuts off the end of the last
// one.
//
//   AofCheck check(disk, options);
//   const Result<AofCheckReport> report = check.run();
//   if (report && report->damage && report->damage->can_be_cut) check.cut(*report->damage);
//
// It checks the form of the commands, not their effect, which shows when the log is loaded.
// Cost: reads every file once; the memory of the longest command.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mayfly/result.h"
#include "persist/aof/aof_manifest.h"
#include "persist/disk/disk.h"

namespace mayfly {

struct AofCheckedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t keys = 0;      // of an RDB file at its beginning
  std::uint64_t commands = 0;  // whole ones, without an incomplete transaction
};

struct AofDamage {
  std::string path;
  std::uint64_t at = 0;      // everything before is whole
  std::uint64_t bytes = 0;   // from there to the end
  std::string what;          // "zeros up to the end", "a command that is not whole", ...
  bool is_harmless = false;  // a server cuts it off by itself (aof-load-truncated)
  bool can_be_cut = false;   // it is in the last file, behind the RDB file if there is one
};

struct AofCheckReport {
  std::vector<AofCheckedFile> files;
  std::optional<AofDamage> damage;  // the first
};

class AofCheck {
 public:
  // The disk must outlive it.
  AofCheck(Disk& disk, AofOptions options) : disk_(disk), options_(std::move(options)) {}

  // An Error if there is no log, or a file cannot be read.
  Result<AofCheckReport> run();

  // Cuts the file at the damage. What is cut off is kept in a file beside it, whose name is
  // returned. Code::busy: a server has the folder.
  Result<std::string> cut(const AofDamage& damage);

 private:
  Status look_at(const std::string& path, bool is_base, bool is_last);
  Result<bool> look_at_snapshot(const std::string& path, std::uint64_t& end);
  Status look_at_commands(const std::string& path, std::uint64_t from, bool is_last);
  void found(const std::string& path, std::uint64_t at, std::string what, bool can_be_cut,
             bool is_harmless);

  Disk& disk_;
  const AofOptions options_;
  AofCheckReport report_;
};

// The log in this folder, or the one that has this manifest.
Result<AofOptions> find_aof_options(Disk& disk, const std::string& path);

}  // namespace mayfly
