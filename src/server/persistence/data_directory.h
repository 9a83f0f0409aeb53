// SPDX-License-Identifier: Apache-2.0
// DataDirectory: the directory `dir` belongs to one server at a time, by a lock file.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "persist/disk/disk.h"
#include "server/core/server_host.h"

namespace mayfly {

class DataDirectory {
 public:
  explicit DataDirectory(const ServerContext& context) : context_(context) {}

  // Locks `dir` for as long as the server lives. An error if another server has it. A directory
  // that cannot be written to is not locked: that is a warning in the log.
  Status take();

  // Writes the owner again: after a fork the process is another one.
  void renew_owner();

  // Locks any directory. Null if it cannot be locked, but no other server has it. The error names
  // the `settings` to change.
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory,
                                              std::string_view settings);

  // A change of `dir` by CONFIG SET: prepared, then finished or cancelled.
  Status prepare_move(const std::string& next);
  void cancel_move();
  bool finish_move();  // whether there was one

  // No child writes to former directories any more.
  void release_former() { former_locks_.clear(); }

  // Files that a server with this port was writing when it was killed.
  void remove_temporary_files();

 private:
  std::string owner() const;

  const ServerContext context_;
  std::unique_ptr<DirectoryLock> lock_;
  bool is_moving_ = false;
  std::unique_ptr<DirectoryLock> next_lock_;
  std::vector<std::unique_ptr<DirectoryLock>> former_locks_;  // while a child may write there
};

}  // namespace mayfly
