// SPDX-License-Identifier: Apache-2.0
// Lists and streams as commands, for aof_rewrite.h.

#pragma once

#include <string_view>

#include "keyspace/value.h"
#include "persist/aof/aof_requests.h"

namespace mayfly {

// RPUSH of up to 64 elements at a time.
void rewrite_list(AofRequests& out, std::string_view key, const PackedListView& list);
void rewrite_list(AofRequests& out, std::string_view key, const ChunkedList& list);

// XADD for each entry, and XSETID; then for each group XGROUP CREATE, XGROUP CREATECONSUMER for
// each consumer and XCLAIM for each pending entry. A stream without entries begins with an XADD
// that is trimmed at once.
//
// What no command sets is lost: when consumers were seen, and pending entries that were deleted.
void rewrite_stream(AofRequests& out, std::string_view key, const Stream& stream);

}  // namespace mayfly
