// SPDX-License-Identifier: Apache-2.0
// What is sent to etcd's JSON gateway: the bodies of its requests. Keys and values are base64, and
// 64-bit numbers are strings.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/register.h"
#include "mayfly/time.h"

namespace mayfly {

inline constexpr std::string_view kRangePath = "/v3/kv/range";
inline constexpr std::string_view kTxnPath = "/v3/kv/txn";
inline constexpr std::string_view kWatchPath = "/v3/watch";
inline constexpr std::string_view kGrantPath = "/v3/lease/grant";
inline constexpr std::string_view kKeepalivePath = "/v3/lease/keepalive";
inline constexpr std::string_view kRevokePath = "/v3/lease/revoke";
inline constexpr std::string_view kAuthenticatePath = "/v3/auth/authenticate";
inline constexpr std::string_view kStatusPath = "/v3/maintenance/status";
inline constexpr std::string_view kMembersPath = "/v3/cluster/member/list";

// The first key behind all that begin with `prefix`.
std::string prefix_end(std::string_view prefix);

// All records of the prefix, or one of them. Never serializable: a member that lags behind would
// miss what was answered already.
std::string range_request(std::string_view prefix);
std::string range_request(std::string_view prefix, std::string_view key);

// All records that the asked member has by itself, though others may have newer ones. No majority
// is needed. To be shown only.
std::string lone_range_request(std::string_view prefix);

// If it fails, the records compared are read instead. What is put is bound to the lease, if any.
std::string txn_request(std::string_view prefix, const RegisterCommit& commit,
                        std::int64_t lease = 0);

std::string watch_request(std::string_view prefix, std::uint64_t start_version);

std::string grant_request(Millis ttl);          // rounded up to seconds
std::string lease_request(std::int64_t lease);  // for kKeepalivePath and kRevokePath
std::string authenticate_request(std::string_view user, std::string_view password);

}  // namespace mayfly
