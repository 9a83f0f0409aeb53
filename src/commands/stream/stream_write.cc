// SPDX-License-Identifier: Apache-2.0
// XADD, XTRIM, XDEL and XSETID.
//
// XADD is propagated with the id that it gave the entry. A stream that has lost its last entry
// stays, with its last id and its groups.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/stream/stream_steps.h"
#include "commands/stream/stream_trim.h"

namespace mayfly {
namespace {

constexpr std::string_view kIdTooSmall =
    "ERR The ID specified in XADD is equal or smaller than the target stream top item";
constexpr std::size_t kEntryBytesMax = std::size_t{1} << 30;  // 1 GiB, what a block can hold

// ---- XADD ----

struct AddRequest {
  TrimOptions options;
  bool makes_stream = true;
  std::size_t id_at = 0;             // the word with the id
  std::optional<std::uint64_t> ms;   // nothing: `*`
  std::optional<std::uint64_t> seq;  // nothing: `*` or `ms-*`
};

// Word `id_at`: `*`, `ms-*` or an id.
bool read_new_id(Call& call, AddRequest& request) {
  const std::string_view word = call.word(request.id_at);
  if (word == "*") return true;
  const bool has_seq = !word.ends_with("-*");
  const std::string_view number = has_seq ? word : word.substr(0, word.size() - 2);
  const std::optional<StreamId> id = parse_stream_id(number, 0);
  if (!id || (!has_seq && number.find('-') != std::string_view::npos)) {
    fail_stream_id(call);
    return false;
  }
  request.ms = id->ms;
  if (has_seq) request.seq = id->seq;
  return true;
}

// Nothing after an error reply.
std::optional<AddRequest> read_add(Call& call) {
  AddRequest request;
  std::size_t i = 2;
  for (; i < call.count(); ++i) {
    if (read_trim_option(call, i, request.options)) continue;
    if (call.has_failed()) return std::nullopt;
    if (call.is(i, "nomkstream")) {
      request.makes_stream = false;
      continue;
    }
    request.id_at = i;
    if (!read_new_id(call, request)) return std::nullopt;
    break;
  }
  if (!check_trim(call, request.options)) return std::nullopt;
  const std::size_t words = call.count() - std::min(i + 1, call.count());
  if (words < 2 || words % 2 != 0) {
    call.fail_arity();
    return std::nullopt;
  }
  if (request.seq && *request.ms == 0 && *request.seq == 0) {
    call.fail("ERR The ID specified in XADD must be greater than 0-0");
    return std::nullopt;
  }
  return request;
}

// The id that the request asks for, behind the last one; nothing if there is none.
std::optional<StreamId> new_id(const AddRequest& request, StreamId last, Time now) {
  StreamId id;
  if (!request.ms) {
    id.ms = static_cast<std::uint64_t>(now.time_since_epoch().count());
    if (id.ms <= last.ms) return last.next();
  } else {
    id = {*request.ms, request.seq.value_or(0)};
    if (!request.seq && id.ms == last.ms) {
      if (last.seq == kStreamIdMax.seq) return std::nullopt;
      id.seq = last.seq + 1;
    }
  }
  return id > last ? std::optional(id) : std::nullopt;
}

// The words if they mean the same to a replica, else with the id and the number that were found.
void propagate_add(Call& call, const AddRequest& request, const Stream& stream, StreamId id) {
  const bool is_trimmed = !request.options.trim.is_exact;
  if (request.seq && !is_trimmed) return;
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words(call.words().begin(), call.words().end());
  if (is_trimmed) make_trim_exact(words, stream, request.options);
  if (!request.seq) words[request.id_at] = id.text();
  call.propagate_list(std::move(words));
}

// XADD key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value
//   [field value ...]
void xadd(Call& call) {
  const std::optional<AddRequest> request = read_add(call);
  if (!request) return;
  const std::string_view key = call.word(1);
  const Words words = call.words().subspan(request->id_at + 1);
  Slot slot = call.find_to_write(key, ValueType::stream);
  if (call.has_failed()) return;
  if (slot == kNoSlot && !request->makes_stream) return call.reply().null();

  const StreamId last = slot == kNoSlot ? kStreamIdMin : call.database().stream(slot).last_id();
  if (last == kStreamIdMax) {
    return call.fail("ERR The stream has exhausted the last possible ID, unable to add more items");
  }
  const std::optional<StreamId> id = new_id(*request, last, call.now());
  if (!id) return call.fail(kIdTooSmall);
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size();
  if (bytes > kEntryBytesMax) return call.fail("ERR Elements are too large to be stored");

  if (slot == kNoSlot) slot = call.make_stream(key);
  Stream& stream = call.database().stream(slot);
  stream.append(*id, words, call.keyspace().options().stream_limits);
  call.notify(Event::stream, "xadd", key);
  if (request->options.threshold != 0) trim_stream(call, stream, key, request->options);
  call.database().record_size(slot);
  call.changed(key);
  reply_stream_id(call.reply(), *id);
  propagate_add(call, *request, stream, *id);
}

// ---- XTRIM, XDEL and XSETID ----

// XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]
void xtrim(Call& call) {
  TrimOptions options;
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (read_trim_option(call, i, options)) continue;
    return call.has_failed() ? void() : call.fail_syntax();
  }
  if (options.limit == 0 && options.threshold == 0) {
    return call.fail("ERR syntax error, XTRIM must be called with a trimming strategy");
  }
  if (!check_trim(call, options)) return;

  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::stream);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  Stream& stream = call.database().stream(slot);
  const std::size_t removed = trim_stream(call, stream, key, options);
  call.reply().integer(static_cast<std::int64_t>(removed));
  if (removed == 0) return;
  call.database().record_size(slot);
  call.changed(key, static_cast<std::int64_t>(removed));
  if (options.trim.is_exact) return;
  Propagated words(call.words().begin(), call.words().end());
  make_trim_exact(words, stream, options);
  call.propagate_instead(std::move(words));
}

// XDEL key id [id ...]
void xdel(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::stream);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  const std::optional<std::vector<StreamId>> ids = read_stream_ids(call, 2);
  if (!ids) return;

  Stream& stream = call.database().stream(slot);
  std::int64_t removed = 0;
  for (const StreamId id : *ids) removed += stream.erase(id) ? 1 : 0;
  call.reply().integer(removed);
  if (removed == 0) return;
  call.database().record_size(slot);
  call.changed(key, removed);
  call.notify(Event::stream, "xdel", key);
}

struct SetIdRequest {
  StreamId last;
  std::optional<std::uint64_t> entries_added;
  StreamId max_deleted;  // 0-0: as it is
};

// Nothing after an error reply.
std::optional<SetIdRequest> read_set_id(Call& call) {
  SetIdRequest request;
  const std::optional<StreamId> last = read_stream_id(call, 2);
  if (!last) return std::nullopt;
  request.last = *last;
  for (std::size_t i = 3; i < call.count(); i += 2) {
    const bool has_value = i + 1 < call.count();
    if (call.is(i, "entriesadded") && has_value) {
      const std::optional<std::int64_t> count = call.integer(i + 1);
      if (count && *count < 0) call.fail("ERR entries_added must be positive");
      if (!count || *count < 0) return std::nullopt;
      request.entries_added = static_cast<std::uint64_t>(*count);
    } else if (call.is(i, "maxdeletedid") && has_value) {
      const std::optional<StreamId> id = read_stream_id(call, i + 1);
      if (!id) return std::nullopt;
      request.max_deleted = *id;
      if (request.last < *id) {
        call.fail(
            "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
        return std::nullopt;
      }
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return request;
}

// XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]
void xsetid(Call& call) {
  const std::optional<SetIdRequest> request = read_set_id(call);
  if (!request) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::stream);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.fail("ERR no such key");
  Stream& stream = call.database().stream(slot);
  if (request->last < stream.max_deleted_id()) {
    return call.fail("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
  }
  if (stream.size() > 0 && request->last < stream.top_id()) {
    return call.fail("ERR The ID specified in XSETID is smaller than the target stream top item");
  }
  if (request->entries_added && stream.size() > *request->entries_added) {
    return call.fail(
        "ERR The entries_added specified in XSETID is smaller than the target stream length");
  }
  stream.set_last_id(request->last);
  if (request->entries_added) stream.set_entries_added(*request->entries_added);
  if (request->max_deleted != kStreamIdMin) stream.set_max_deleted_id(request->max_deleted);
  call.count_changes(1);
  call.notify(Event::stream, "xsetid", key);
  call.reply().ok();
}

}  // namespace

std::span<const Command> stream_write_commands() {
  static constexpr std::uint64_t kAdd = flag::write | flag::denyoom | flag::fast;
  static constexpr KeyRange kUpdated = one_key(access::rw | access::update);
  static constexpr KeyRange kRemoved = one_key(access::rw | access::remove);
  // clang-format off
  static constexpr Command kRows[] = {
      {"xadd", xadd, -5, kAdd, kUpdated, "stream", "5.0.0",
       "key [NOMKSTREAM] [trim:(strategy:(MAXLEN | MINID) [operator:(= | ~)] threshold "
       "[LIMIT count:int])] id-selector:(* | id) data:(field value)...",
       "Adds an entry to a stream. Creates the stream if it does not exist."},
      {"xtrim", xtrim, -4, flag::write, kRemoved, "stream", "5.0.0",
       "key trim:(strategy:(MAXLEN | MINID) [operator:(= | ~)] threshold [LIMIT count:int])",
       "Removes the oldest entries of a stream."},
      {"xdel", xdel, -3, flag::write | flag::fast, kRemoved, "stream", "5.0.0",
       "key id...", "Removes entries of a stream."},
      {"xsetid", xsetid, -3, kAdd | flag::needs_key, kUpdated, "stream", "5.0.0",
       "key last-id [ENTRIESADDED entries-added:int] [MAXDELETEDID max-deleted-id]",
       "Sets the last id of a stream."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
