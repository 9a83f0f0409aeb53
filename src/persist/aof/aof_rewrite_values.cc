// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_rewrite_values.h"

#include <algorithm>
#include <string>

namespace mayfly {
namespace {

template <class List>
void push_elements(AofRequests& out, std::string_view key, const List& list) {
  std::size_t left = list.count();
  std::size_t in_request = 0;
  list.each_chunk([&](const ListEntries& chunk) {
    const char* at = chunk.bytes.data();
    for (std::size_t i = 0; i < chunk.count && !out.has_failed(); ++i) {
      if (in_request == 0) {
        in_request = std::min(left, AofRequests::kBatch);
        left -= in_request;
        out.begin(2 + in_request, {"RPUSH", key});
      }
      ListpackValue value;
      char scratch[24];
      at = read_entry(at, value);
      out.word(value.as_text(scratch));
      --in_request;
    }
  });
}

void add_entries(AofRequests& out, std::string_view key, const Stream& stream) {
  stream.each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
    out.begin(3 + entry.words.size(), {"XADD", key, entry.id.text()});
    for (const std::string_view word : entry.words) out.word(word);
    return !out.has_failed();
  });
}

void claim_pending(AofRequests& out, std::string_view key, std::string_view group_name,
                   const StreamGroup& group) {
  for (const auto& [id, pending] : group.pending()) {
    if (out.has_failed()) return;
    out.request({"XCLAIM", key, group_name, pending.consumer->name, "0", id.text(), "TIME",
                 Digits(pending.delivered).text(), "RETRYCOUNT", Digits(pending.deliveries).text(),
                 "JUSTID", "FORCE"});
  }
}

void create_group(AofRequests& out, std::string_view key, std::string_view name,
                  const StreamGroup& group) {
  const std::string read = group.entries_read ? std::to_string(*group.entries_read) : "-1";
  out.request({"XGROUP", "CREATE", key, name, group.last_id.text(), "ENTRIESREAD", read});
  for (const auto& [consumer_name, consumer] : group.consumers()) {
    out.request({"XGROUP", "CREATECONSUMER", key, name, consumer_name});
  }
  claim_pending(out, key, name, group);
}

}  // namespace

void rewrite_list(AofRequests& out, std::string_view key, const PackedListView& list) {
  push_elements(out, key, list);
}

void rewrite_list(AofRequests& out, std::string_view key, const ChunkedList& list) {
  push_elements(out, key, list);
}

void rewrite_stream(AofRequests& out, std::string_view key, const Stream& stream) {
  if (stream.size() > 0) {
    add_entries(out, key, stream);
  } else {
    out.request({"XADD", key, "MAXLEN", "0", "0-1", "x", "y"});
  }
  out.request({"XSETID", key, stream.last_id().text(), "ENTRIESADDED",
               Digits(stream.entries_added()).text(), "MAXDELETEDID",
               stream.max_deleted_id().text()});
  for (const auto& [name, group] : stream.groups()) create_group(out, key, name, *group);
}

}  // namespace mayfly
