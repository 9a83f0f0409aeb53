// SPDX-License-Identifier: Apache-2.0
// AofReplay: runs the commands of an append-only file. They are not counted or propagated, nobody
// is notified, and what is due stays: the log has its removal. AofTask loads the file in slices.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "persist/aof/aof_loader.h"
#include "server/core/client.h"
#include "server/core/no_link.h"
#include "server/persistence/loading.h"

namespace mayfly {

class Host;
struct ServerParts;

class AofReplay final : public AofApply {
 public:
  AofReplay(const ServerParts& parts, Host& events);

  // An unknown command is an error: the data would not be what it was. Commands on unsupported
  // types are skipped, and counted by skipped(). So are commands that change nothing: older servers
  // write some. One that fails is counted by failed(), or is an error too
  // (aof-load-failed-commands).
  Status apply(int database, Words words) override;

  std::map<std::string, std::uint64_t> skipped() const;  // keys, by type
  std::uint64_t failed() const { return failed_; }       // commands
  std::uint64_t unchanging() const { return unchanging_; }

 private:
  void skip(int database, std::string_view type, std::string_view key);
  bool is_skipped(int database, std::string_view key) const;
  Status run(int database, const Command& command, Words words);
  Status fail(const Command& command, std::string_view why);

  const ServerParts& parts_;
  Host& events_;
  NoLink link_;
  Client client_;
  std::map<std::string, std::unordered_set<std::size_t>, std::less<>> skipped_;  // hashes of keys
  std::uint64_t failed_ = 0;
  std::uint64_t unchanging_ = 0;
};

class AofTask final : public LoadTask {
 public:
  AofTask(std::unique_ptr<AofReplay> replay, Disk& disk, const AofOptions& files,
          Keyspace& keyspace, const AofLoadOptions& options)
      : replay_(std::move(replay)), loader_(disk, files, keyspace, *replay_, options) {}

  Result<bool> step(std::size_t count) override { return loader_.step(count); }
  std::uint64_t offset() const override { return loader_.offset(); }
  std::uint64_t total() const override { return loader_.total_bytes(); }
  const AofLoadReport& report() const { return loader_.report(); }

  // Keys by type, of commands on unsupported types.
  std::map<std::string, std::uint64_t> skipped() const { return replay_->skipped(); }
  const AofReplay& replay() const { return *replay_; }

 private:
  std::unique_ptr<AofReplay> replay_;
  AofLoader loader_;
};

}  // namespace mayfly
