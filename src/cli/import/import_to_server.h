// SPDX-License-Identifier: Apache-2.0
// ServerTarget: writes keys to a database of a Redis, Valkey or Mayfly server.
//
// A key is replaced atomically, in a MULTI. Types that the server does not support are skipped and
// counted.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "cli/import/import_marks.h"
#include "cli/import/import_stream.h"
#include "cli/import/whole_server.h"
#include "mayfly/clock.h"
#include "tools/resp_client.h"
#include "tools/server_address.h"

namespace mayfly {

class ServerTarget final : public CopyTarget {
 public:
  struct Choice {
    bool keeps = false;              // existing keys stay
    bool drops_member_ttls = false;  // if the server has no TTLs of members, drop them
    bool all_databases = false;      // each item keeps the number of its database
  };

  // `clock` decides what has expired meanwhile.
  static Result<std::unique_ptr<ServerTarget>> open(const ServerAddress& address, Choice choice,
                                                    const Clock& clock);
  // The same by a connection that is there.
  static Result<std::unique_ptr<ServerTarget>> open(RespClient client, const ServerAddress& address,
                                                    Choice choice, const Clock& clock);

  std::string name() const override {
    return choice_.all_databases ? address_.server_text() : address_.text();
  }
  Result<std::string> mark() override;
  Result<std::string> loss_since(std::string_view mark) override;
  Status write(std::vector<CopyItem>& items, CopyCounts& counts) override;
  Status sync() override { return Done{}; }  // a reply is all that it promises

  // See load_libraries().
  Result<std::vector<std::string>> put_libraries(const std::vector<FunctionLibrary>& libraries) {
    return load_libraries(client_, libraries, choice_.keeps);
  }

 private:
  ServerTarget(RespClient client, ServerAddress address, Choice choice, const Clock& clock);
  Status probe_server();
  Status select(int database);
  Status drop_known(std::vector<CopyItem>& items, CopyCounts& counts);
  Status prepare(CopyItem& item, CopyCounts& counts) const;
  void put_string(RespDialogue& dialogue, const CopyItem& item, CopyCounts& counts) const;
  void put_stream(RespDialogue& dialogue, const CopyItem& item, CopyCounts& counts);
  void put_members(RespDialogue& dialogue, const CopyItem& item, CopyCounts& counts) const;
  void put_member_deadlines(RespDialogue& dialogue, const CopyItem& item) const;

  RespClient client_;
  const ServerAddress address_;
  const Choice choice_;
  const Clock& clock_;
  int selected_;
  ServerMark mark_;  // as of open()
  std::array<bool, kCopyTypes.size()> has_type_{};
  std::array<bool, kCopyTypes.size()> expires_members_{};  // by type
  bool has_pxat_ = false;                                  // SET with PXAT: Redis 6.2 and later
  rdb::Type newest_stream_ = rdb::Type::stream;            // that it can restore
  StreamCopier streams_;
};

}  // namespace mayfly
