// SPDX-License-Identifier: Apache-2.0
// InternalClient: runs commands of an append-only file. They are not counted, propagated or told to
// anybody, and what is due stays: the log says what became of it.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "net/transport.h"
#include "persist/aof/aof_loader.h"
#include "server/core/client.h"

namespace mayfly {

// A connection that leads nowhere.
class NoLink final : public Link {
 public:
  std::string& output() override { return output_; }
  void flush() override {}
  std::size_t pending() const override { return output_.size(); }
  std::uint64_t sent() const override { return 0; }
  std::size_t output_capacity() const override { return output_.capacity(); }
  void close_after_flush() override {}
  void close_now(std::string_view) override {}
  bool closing() const override { return false; }
  void pause_reading() override {}
  void resume_reading() override {}
  bool paused() const override { return false; }
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return address_; }
  const std::string& local_address() const override { return address_; }
  bool is_unix() const override { return false; }
  bool is_loopback() const override { return true; }
  int fd() const override { return -1; }

 private:
  InputBuffer input_;
  std::string output_;
  std::string address_ = "nowhere:0";
};

class InternalClient final : public AofApply {
 public:
  explicit InternalClient(Server& server);

  // An unknown command and an error for a reply are errors: the data would not be what it was.
  // Commands on types that cannot be held here are passed over, and counted by skipped().
  Status apply(int database, Words words) override;

  std::map<std::string, std::uint64_t> skipped() const;  // keys, by type

 private:
  void skip(int database, std::string_view type, std::string_view key);

  Server& server_;
  NoLink link_;
  Client client_;
  std::map<std::string, std::unordered_set<std::size_t>, std::less<>> skipped_;  // hashes of keys
};

}  // namespace mayfly
