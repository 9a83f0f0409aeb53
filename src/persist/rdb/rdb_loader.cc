// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "keyspace/eviction.h"

namespace mayfly {
namespace {

// So many members, elements or entries count as one key of a slice.
constexpr std::size_t kMembersAKey = 8;

Error already_there() { return {Code::corrupt, "duplicate key"}; }

}  // namespace

RdbLoader::Handler::Handler(Keyspace& keyspace, const RdbLoadOptions& options)
    : keyspace_(keyspace),
      options_(options),
      keeps_due_(options.keeps_due),
      context_{.now = options.now, .policy = Policy::show} {}

void RdbLoader::Handler::aux(std::string_view name, std::string_view value) {
  constexpr std::size_t kMost = 64;  // a sound file has about six
  if (report.aux.size() < kMost) report.aux.insert_or_assign(std::string(name), value);
  if (options_.keeps_due_of_stream && name == "repl-id") keeps_due_ = true;
}

void RdbLoader::Handler::database(int number, std::uint64_t keys, std::uint64_t) {
  if (number < keyspace_.count()) keyspace_[number].reserve(believable(keys));
}

void RdbLoader::Handler::fit() {
  load_.end();  // if there is one
  for (int i = 0; i < keyspace_.count(); ++i) keyspace_[i].fit();
}

Status RdbLoader::Handler::function(std::string_view code) {
  const bool is_held = options_.load_function && options_.load_function(code);
  if (!is_held) ++report.skipped["function"];
  return Done{};
}

bool RdbLoader::Handler::leaves_out(Time deadline) const {
  return !keeps_due_ && is_due(deadline, options_.now);
}

Status RdbLoader::Handler::admit(const RdbKey& key) {
  ++done;
  return check_database(key, keyspace_.count());
}

void RdbLoader::Handler::finish_key(Database& database, Slot slot, const RdbKey& key) {
  ++report.keys;
  if (key.deadline != kNever) {
    // Before 1970 the beginning of the stale time might be no moment that can be told.
    const bool is_sane = key.deadline >= Time(Millis(0));
    database.set_deadline(slot, key.deadline, is_sane ? key.stale : Millis(0));
  }
  const bool counts_uses = keyspace_.options().uses_lfu;
  if (counts_uses && key.frequency) {
    database.set_access(slot, access_of_frequency(*key.frequency, options_.now));
  } else if (!counts_uses && key.idle_seconds) {
    database.set_access(slot, access_of_idle(*key.idle_seconds, options_.now));
  }
}

Status RdbLoader::Handler::string(const RdbKey& key, std::string_view value) {
  if (Status status = admit(key); !status) return status;
  if (leaves_out(key.deadline)) {
    ++report.due_keys;
    return Done{};
  }
  Database& database = keyspace_[key.database];
  if (Status status = make_way(key); !status) return status;
  finish_key(database, database.put_string(context_, key.name, value), key);
  return Done{};
}

// The number of keys or members that fit into the rest of the file. Their names differ, so most of
// a large number take at least kLeastBytes.
std::size_t RdbLoader::Handler::believable(std::uint64_t count) const {
  constexpr std::uint64_t kLeastBytes = 5;
  constexpr std::uint64_t kUnseen = 1 << 20;  // room of some 9 MiB
  const std::uint64_t most = bytes_left == 0 ? kUnseen : bytes_left / kLeastBytes;
  return static_cast<std::size_t>(std::min(count, most));
}

// There must be no key of that name.
Status RdbLoader::Handler::make_way(const RdbKey& key) {
  Database& database = keyspace_[key.database];
  const Slot old = database.peek(context_, key.name);
  if (old == kNoSlot) return Done{};
  if (!options_.replaces) return already_there();
  database.erase(old);
  return Done{};
}

// A key whose parts follow.
Status RdbLoader::Handler::begin_parts(const RdbKey& key) {
  if (Status status = admit(key); !status) return status;
  key_ = key;
  is_left_out_ = leaves_out(key.deadline);
  has_parts_ = false;
  return is_left_out_ ? Status(Done{}) : make_way(key);
}

// Nothing is stored if all was due, or if there was nothing.
void RdbLoader::Handler::end_parts(Slot slot) {
  if (slot != kNoSlot) {
    finish_key(keyspace_[key_.database], slot, key_);
  } else if (has_parts_) {
    ++report.due_keys;
  } else if (!is_left_out_) {
    ++report.empty_keys;
  }
}

Status RdbLoader::Handler::members_begin(const RdbKey& key, std::uint64_t count) {
  if (Status status = begin_parts(key); !status || is_left_out_) return status;
  load_.begin(context_, keyspace_[key.database], key.value_type(), key.name, believable(count));
  return Done{};
}

Status RdbLoader::Handler::members(std::span<const Member> members) {
  has_parts_ = true;
  done += members.size() / kMembersAKey;
  if (is_left_out_) return Done{};
  const auto is_left_out = [this](const Member& member) { return leaves_out(member.deadline); };
  if (std::ranges::any_of(members, is_left_out)) {
    kept_.clear();
    std::ranges::remove_copy_if(members, std::back_inserter(kept_), is_left_out);
    report.due_members += members.size() - kept_.size();
    members = kept_;
  }
  if (!load_.add(members)) return duplicate_member(key_.value_type());
  report.members += members.size();
  return Done{};
}

Status RdbLoader::Handler::members_end() {
  end_parts(is_left_out_ ? kNoSlot : load_.end());
  return Done{};
}

Status RdbLoader::Handler::list_begin(const RdbKey& key) {
  list_ = kNoSlot;
  return begin_parts(key);
}

Status RdbLoader::Handler::list_elements(std::span<const std::string_view> elements) {
  has_parts_ = true;
  done += elements.size() / kMembersAKey;
  if (is_left_out_) return Done{};
  Database& database = keyspace_[key_.database];
  if (list_ == kNoSlot) list_ = database.make_list(context_, key_.name);
  ListRef list = database.list(list_);
  for (const std::string_view element : elements) list.push(ListEnd::tail, element);
  report.members += elements.size();
  return Done{};
}

Status RdbLoader::Handler::list_end() {
  if (list_ != kNoSlot) keyspace_[key_.database].list(list_).finish();
  end_parts(list_);
  return Done{};
}

Status RdbLoader::Handler::stream(const RdbKey& key, std::unique_ptr<Stream> stream) {
  if (Status status = begin_parts(key); !status) return status;
  done += stream->size() / kMembersAKey;
  if (is_left_out_) {
    ++report.due_keys;
    return Done{};
  }
  report.members += stream->size();
  Database& database = keyspace_[key.database];
  finish_key(database, database.put_stream(context_, key.name, std::move(stream)), key);
  return Done{};
}

RdbLoader::RdbLoader(ByteSource& source, Keyspace& keyspace, const RdbLoadOptions& options)
    : source_(source), handler_(keyspace, options), parser_(source, handler_, options.checks) {}

Result<bool> RdbLoader::step(std::size_t keys) {
  handler_.done = 0;
  Result<bool> ended = false;
  while (ended && !*ended && handler_.done < keys) {
    const std::uint64_t size = source_.size();
    handler_.bytes_left = size > parser_.offset() ? size - parser_.offset() : 0;
    ended = parser_.step();
  }
  if (!ended || *ended) handler_.fit();
  handler_.report.version = parser_.version();
  handler_.report.bytes = parser_.offset();
  return ended;
}

}  // namespace mayfly
