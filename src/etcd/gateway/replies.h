// SPDX-License-Identifier: Apache-2.0
// What comes from etcd's JSON gateway. 64-bit numbers are strings there, and whatever is zero,
// false or empty is left out. Members that are not known are skipped. Keys come back without the
// prefix.
//
// Code::corrupt for what is not such a reply.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/register.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// The register and its version, from the header of any reply. Missing numbers are zero.
RegisterPoint parse_reply_header(std::string_view body);

Result<RegisterSnapshot> parse_range_reply(std::string_view body, std::string_view prefix);

struct TxnReply {
  bool is_done = false;
  std::uint64_t version = 0;           // of the register, after it
  std::vector<RegisterEntry> current;  // unless it is done: as compared, in that order
};
Result<TxnReply> parse_txn_reply(std::string_view body, std::string_view prefix,
                                 const RegisterCommit& commit);

struct LeaseReply {
  std::int64_t id = 0;
  std::chrono::seconds ttl{0};  // 0: there is no such lease any more
};
Result<LeaseReply> parse_lease_reply(std::string_view body);  // of a grant, and of a keepalive

Result<std::string> parse_token_reply(std::string_view body);

// One line of a watch.
struct WatchLine {
  bool is_created = false;
  bool is_canceled = false;
  std::uint64_t compacted = 0;         // canceled, since all up to this version is gone
  std::uint64_t version = 0;           // of the register when it was sent
  std::uint64_t id = 0;                // of the register; 0: not known
  std::string error;                   // the watch has ended, and why
  std::vector<RegisterEntry> entries;  // that have changed
};
Result<WatchLine> parse_watch_line(std::string_view text, std::string_view prefix);

struct StatusReply {
  std::string version;  // "3.4.23"
  std::uint64_t member = 0;
  std::uint64_t leader = 0;  // 0: it knows of none
  std::uint64_t database_bytes = 0;
  std::uint64_t database_bytes_in_use = 0;
  std::vector<std::string> errors;  // "memberID:123 alarm:NOSPACE"
};
Result<StatusReply> parse_status_reply(std::string_view body);

struct EtcdMember {
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::string> urls;  // of its addresses for clients
};
Result<std::vector<EtcdMember>> parse_members_reply(std::string_view body);

}  // namespace mayfly
