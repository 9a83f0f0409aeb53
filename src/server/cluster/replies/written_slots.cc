// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/replies/written_slots.h"

#include <algorithm>

#include "commands/words.h"
#include "keyspace/stream/stream_cursor.h"
#include "resp/numbers.h"
#include "server/cluster/cluster.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kDataFlags = flag::readonly | flag::write;

bool is_script(const Command& command) {
  return command.group == "scripting" && (command.flags & flag::skip_monitor) != 0;
}

}  // namespace

void WrittenSlots::begin() {
  settle();
  everywhere_ = data_ = functions_ = parts_.replication.stream().log().end();
  ends_.assign(kHashSlots, everywhere_);
  parts_.propagation.add_sink(*this);
}

void WrittenSlots::end() { parts_.propagation.remove_sink(*this); }

// ---- Writes ----

// A replica notes nothing: writes from its primary do not enter its own log by this way.
void WrittenSlots::take(int database, std::string_view command) {
  if (database == kAnyDatabase || parts_.replication.stream().is_replica()) return;
  parser_.reset();
  const bool is_read = parser_.parse(command) == Parsed::request;
  const Command* const found = is_read ? parts_.commands.find(parser_.words()[0]) : nullptr;
  const Command* const row =
      found == nullptr ? nullptr : parts_.commands.resolve(*found, parser_.words());
  if (row != nullptr && (row->flags & flag::pubsub) != 0) return;
  ++count_;
  if (row == nullptr) {
    is_everywhere_ = true;
  } else if (uses_functions(*row)) {
    has_functions_ = true;
  } else if (row->name == "xexpired") {
    take_expired(parser_.words());
  } else {
    take_keys(*row, parser_.words());
    if (row->keys.first == 0 && database != kStagingDatabase) is_everywhere_ = true;
  }
}

void WrittenSlots::take_keys(const Command& command, Words words) {
  each_key(command, words, [this](std::string_view key) { new_slots_.push_back(hash_slot(key)); });
}

// It removes what its entries name, of any keys.
void WrittenSlots::take_expired(Words words) {
  new_slots_.push_back(hash_slot(words[1]));
  const std::optional<StreamId> first = parse_stream_id(words[2], 0);
  if (!first) {
    is_everywhere_ = true;
    return;
  }
  const StreamBlock block(*first, words[3]);
  StreamBlockCursor cursor(block);
  StreamWords reader;
  while (cursor.next()) {
    const auto entry = reader.read(cursor);
    for (std::size_t i = 0; i + 1 < entry.size(); i += 2) {
      if (entry[i] == "key") new_slots_.push_back(hash_slot(entry[i + 1]));
    }
  }
}

void WrittenSlots::settle() {
  if (new_slots_.empty() && !is_everywhere_ && !has_functions_) return;
  const std::uint64_t end = parts_.replication.stream().log().end();
  if (!new_slots_.empty() || is_everywhere_) data_ = end;
  if (is_everywhere_) everywhere_ = end;
  if (has_functions_) functions_ = end;
  if (!ends_.empty()) {
    for (const HashSlot slot : new_slots_) ends_[slot] = end;
  }
  new_slots_.clear();
  is_everywhere_ = has_functions_ = false;
}

// ---- Reads ----

std::vector<HashSlot> WrittenSlots::slots_of(const Command& command, Words words) {
  std::vector<HashSlot> slots;
  each_key(command, words, [&](std::string_view key) { slots.push_back(hash_slot(key)); });
  return slots;
}

std::uint64_t WrittenSlots::needed_by(HashSlot slot) {
  settle();
  return ends_.empty() ? 0 : std::max(ends_[slot], everywhere_);
}

std::uint64_t WrittenSlots::needed_by_data() {
  settle();
  return data_;
}

std::uint64_t WrittenSlots::needed_by(const Command& command, Words words) {
  settle();
  if (uses_functions(command)) return functions_;
  if (is_script(command) || command.name == "lolwut" || command.name == "watch") return 0;
  std::uint64_t needed = 0;
  bool has_keys = false;
  each_key(command, words, [&](std::string_view key) {
    needed = std::max(needed, needed_by(hash_slot(key)));
    has_keys = true;
  });
  if (has_keys) return needed;
  if ((command.flags & kDataFlags) != 0) return data_;
  if (command.name == "debug") return needed_by_debug(words);
  if (command.parent != "cluster") return 0;
  if (command.name == "reset") return data_;  // it is refused if there are keys
  if (!command.name.ends_with("keysinslot")) return 0;
  const auto slot = parse_integer(words[2]);
  if (!slot || *slot < 0 || *slot >= kHashSlots) return 0;
  return needed_by(static_cast<HashSlot>(*slot));
}

// Those subcommands of DEBUG that show data.
std::uint64_t WrittenSlots::needed_by_debug(Words words) const {
  constexpr std::string_view kShown[] = {"digest",   "digest-value", "htstats",  "htstats-key",
                                         "listpack", "object",       "quicklist"};
  const bool shows =
      std::ranges::any_of(kShown, [&](std::string_view name) { return equals(words[1], name); });
  return shows ? data_ : 0;
}

}  // namespace mayfly
