// SPDX-License-Identifier: Apache-2.0
// Saving a whole keyspace as an RDB file, and one value as a DUMP payload.
//
// Everything stored is written, including due keys: their removal is propagated in other ways.
//
// The file has version 10 and begins with REDIS0010, which Redis 7.0 and later and Valkey load; if
// any member has a deadline it has Valkey's version 80 and begins with VALKEY080.
//
// Nothing of the keyspace is changed, no lock is taken and no thread started, and little memory is
// used: all this may run in a child process after fork().

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"
#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"
#include "persist/disk/disk.h"
#include "persist/rdb/rdb_writer.h"

namespace mayfly {

struct SaveProgress {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
};

// Called for every key, and every MiB of a large one. May be empty.
using OnSaveProgress = std::function<void(const SaveProgress&)>;

// Passes bytes on and reports progress, also within a large value.
class ReportingSink final : public ByteSink {
 public:
  // Both must outlive it.
  ReportingSink(ByteSink& sink, const OnSaveProgress& progress) : sink_(sink), report_(progress) {}

  Status write(std::string_view bytes) override {
    Status status = sink_.write(bytes);
    done.bytes += bytes.size();
    if (done.bytes - reported_bytes_ >= kBytesBetween) report();
    return status;
  }

  void count_key() {
    ++done.keys;
    report();
  }

  SaveProgress done;

 private:
  static constexpr std::uint64_t kBytesBetween = 1 << 20;  // 1 MiB

  void report() {
    reported_bytes_ = done.bytes;
    if (report_) report_(done);
  }

  ByteSink& sink_;
  const OnSaveProgress& report_;
  std::uint64_t reported_bytes_ = 0;
};

struct SaveOptions {
  RdbOptions format = {};
  bool saves_access = false;  // idle times or frequencies of keys: if the eviction policy uses them

  // Written after redis-bits: the writer (mayfly-ver, redis-ver),
  // ctime, used-mem, aof-base, as they are given here.
  RdbAux aux = {};

  std::vector<std::string> libraries = {};  // the code of each library of functions

  // A file is synced whenever so many bytes were written, so that the last sync is short and does
  // not hold up the disk for others. 0: only at the end.
  std::uint64_t sync_every_bytes = 4 << 20;  // 4 MiB

  bool is_durable = true;  // not for a file that is sent and then removed: nothing is synced

  bool has_keys = true;  // false: of the data, only the libraries
};

// The sink has all of it when this returns, or an error was met; then it has an unknown part.
Result<SaveProgress> save_rdb(Keyspace& keyspace, ByteSink& sink, const SaveOptions& options,
                              const OnSaveProgress& progress);

// Writes DIRECTORY/TEMPORARY, syncs it, renames it to DIRECTORY/NAME and syncs the directory: a
// crash leaves the old file or the new one, whole. After a failure the temporary file is removed.
Result<SaveProgress> save_rdb_file(Disk& disk, const std::string& directory,
                                   const std::string& name, const std::string& temporary,
                                   Keyspace& keyspace, const SaveOptions& options,
                                   const OnSaveProgress& progress);

// O(databases).
bool has_member_deadlines(Keyspace& keyspace);
int version_for(Keyspace& keyspace);  // rdb::kPlainVersion or rdb::kDeadlinesVersion

// The payload of DUMP: type, value, the version in two bytes (80 if a member has a deadline, else
// 10), the CRC-64 of all this in eight; least byte first.
std::string dump_value(Database& database, Slot slot, const RdbOptions& options);

}  // namespace mayfly
