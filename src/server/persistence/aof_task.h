// SPDX-License-Identifier: Apache-2.0
// AofTask: loading the append-only file in slices (loading.h).

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "persist/aof/aof_loader.h"
#include "server/persistence/aof_replay.h"
#include "server/persistence/loading.h"

namespace mayfly {

class AofTask final : public LoadTask {
 public:
  AofTask(Server& server, Disk& disk, const AofOptions& files, Keyspace& keyspace,
          const AofLoadOptions& options)
      : client_(server), loader_(disk, files, keyspace, client_, options) {}

  Result<bool> step(std::size_t count) override { return loader_.step(count); }
  std::uint64_t offset() const override { return loader_.offset(); }
  std::uint64_t total() const override { return loader_.total_bytes(); }
  const AofLoadReport& report() const { return loader_.report(); }

  // Keys by type that commands of the log were about, and that cannot be held here.
  std::map<std::string, std::uint64_t> skipped() const { return client_.skipped(); }

 private:
  InternalClient client_;
  AofLoader loader_;
};

}  // namespace mayfly
