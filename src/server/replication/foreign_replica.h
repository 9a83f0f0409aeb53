// SPDX-License-Identifier: Apache-2.0
// What replicas that are not Mayfly can follow. Redis and Valkey do not know deadlines of members
// of sets and sorted sets, and Redis reads no file with deadlines of hash fields. Such a replica is
// not sent what it would not understand: it is refused, with the name of the key.

#pragma once

#include <string>
#include <string_view>

#include "keyspace/keyspace.h"

namespace mayfly {

// A replica of ours announces itself by REPLCONF capa with this word; others ignore it.
inline constexpr std::string_view kMemberDeadlines = "member-deadlines";

// Of which members a replica knows deadlines.
enum class KnownDeadlines { none, fields, all };

// "the set 'online' in database 0 has members with deadlines": about some key whose deadlines are
// not known; empty if there is none. O(1) unless only some are known; then O(keys with members that
// have deadlines).
std::string unknown_deadlines(Keyspace& keyspace, KnownDeadlines known);

// "SADDEX of the key 'online'" if only Mayfly knows this request; else empty. O(1).
std::string mayfly_only(std::string_view request);

}  // namespace mayfly
