// SPDX-License-Identifier: Apache-2.0
// The list of all families, finding commands by name, and keys in requests.

#include "commands/command.h"

#include <algorithm>

#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kCells = 1024;  // a power of two, several times as many as there are commands

// The keys of a request that says how many there are. None if that number is wrong.
std::vector<std::size_t> counted_positions(const KeyRange& keys, Words words) {
  std::vector<std::size_t> positions;
  const auto at = static_cast<std::size_t>(keys.count_at);
  const auto count = at < words.size() ? parse_integer(words[at]) : std::nullopt;
  const auto first = static_cast<std::size_t>(keys.first);
  const auto step = static_cast<std::size_t>(keys.step);
  if (!count || *count < 1 || first >= words.size()) return positions;
  if (static_cast<std::uint64_t>(*count) > (words.size() - first + step - 1) / step) {
    return positions;
  }
  if (keys.target > 0) positions.push_back(static_cast<std::size_t>(keys.target));
  for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
    positions.push_back(first + i * step);
  }
  return positions;
}

// The keys of XREAD and XREADGROUP. The keyword may also be the name of a group or a consumer, so
// the options before it are read. None if they are wrong.
std::vector<std::size_t> streams_positions(Words words) {
  std::vector<std::size_t> positions;
  std::size_t i = 1;
  while (i < words.size() && !equals(words[i], "streams")) {
    if (equals(words[i], "block") || equals(words[i], "count")) {
      i += 2;
    } else if (equals(words[i], "group")) {
      i += 3;
    } else if (equals(words[i], "noack")) {
      i += 1;
    } else {
      return positions;
    }
  }
  if (i >= words.size() || (words.size() - i) % 2 == 0) return positions;
  const std::size_t count = (words.size() - i) / 2;
  for (std::size_t k = 1; k <= count; ++k) positions.push_back(i + k);
  return positions;
}

// Where a request has the key that its option STORE, or STOREDIST of GEORADIUS, names: after the
// last of them. 0 if there is none. Options begin behind the words that a command must have.
std::size_t stored_position(const Command& command, Words words) {
  std::size_t target = 0;
  for (auto i = static_cast<std::size_t>(-command.arity); i + 1 < words.size(); ++i) {
    if (equals(words[i], "store") || equals(words[i], "storedist")) {
      target = ++i;
    } else if (equals(words[i], "by") || equals(words[i], "get")) {
      i += 1;
    } else if (equals(words[i], "limit")) {
      i += 2;
    }
  }
  return target;
}

// The keys of a MIGRATE: behind KEYS, or the word `at` if there is no KEYS. None if it has both.
std::vector<std::size_t> migrated_positions(Words words, std::size_t at) {
  std::size_t first = 0;
  for (std::size_t i = 6; i < words.size() && first == 0; ++i) {
    if (equals(words[i], "keys")) first = i + 1;
    if (equals(words[i], "auth")) i += 1;
    if (equals(words[i], "auth2")) i += 2;
  }
  if (first == 0) return {at};
  std::vector<std::size_t> positions;
  if (!words[at].empty()) return positions;
  for (; first < words.size(); ++first) positions.push_back(first);
  return positions;
}

}  // namespace

std::vector<std::span<const Command>> data_commands() {
  return {string_read_commands(),
          string_set_commands(),
          string_msetex_commands(),
          string_stale_commands(),
          string_change_commands(),
          string_lcs_commands(),
          bit_commands(),
          bit_count_commands(),
          bit_op_commands(),
          bit_field_commands(),
          key_commands(),
          key_move_commands(),
          key_scan_commands(),
          key_expire_commands(),
          key_object_commands(),
          key_sort_commands(),
          hash_write_commands(),
          hash_read_commands(),
          hash_getex_commands(),
          hash_setex_commands(),
          member_expire_commands(),
          member_ttl_commands(),
          member_random_commands(),
          member_scan_commands(),
          set_write_commands(),
          set_read_commands(),
          set_algebra_commands(),
          member_compat_commands(),
          set_addex_commands(),
          zset_add_commands(),
          zset_addex_commands(),
          zset_remove_commands(),
          zset_read_commands(),
          zset_range_commands(),
          zset_pop_commands(),
          zset_combine_commands(),
          list_push_commands(),
          list_pop_commands(),
          list_read_commands(),
          list_change_commands(),
          list_move_commands(),
          stream_write_commands(),
          stream_read_commands(),
          stream_group_commands(),
          stream_readgroup_commands(),
          stream_pending_commands(),
          stream_claim_commands(),
          stream_info_commands(),
          stream_expired_commands(),
          hyperloglog_commands(),
          geo_commands(),
          geo_search_commands(),
          geo_radius_commands()};
}

CommandTable::CommandTable() : cells_(kCells, nullptr) {}

std::uint32_t CommandTable::hash(std::string_view name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(lower(c))) * 16777619u;
  return hash ^ hash >> 15;
}

void CommandTable::add(std::span<const Command> rows) {
  for (const Command& row : rows) {
    std::size_t i = hash(row.name) % kCells;
    while (cells_[i] != nullptr) i = (i + 1) % kCells;
    cells_[i] = &row;
    rows_.push_back(&row);
  }
}

const Command* CommandTable::find(std::string_view name) const {
  constexpr std::size_t kNameMost = 64;
  if (name.size() > kNameMost) return nullptr;
  for (std::size_t i = hash(name) % kCells; cells_[i] != nullptr; i = (i + 1) % kCells) {
    if (equals(name, cells_[i]->name)) return cells_[i];
  }
  return nullptr;
}

const Command* CommandTable::resolve(const Command& command, Words words) const {
  if (command.subcommands.empty() || words.size() < 2) return &command;
  const auto found = std::ranges::find_if(
      command.subcommands, [&](const Command& row) { return equals(words[1], row.name); });
  return found == command.subcommands.end() ? nullptr : &*found;
}

std::string full_name(const Command& command) {
  std::string name(command.parent);
  if (!name.empty()) name += '|';
  return name += command.name;
}

std::vector<std::size_t> key_positions(const Command& command, Words words) {
  std::vector<std::size_t> positions;
  if (command.keys.first == 0) return positions;
  if (command.keys.count_at > 0) return counted_positions(command.keys, words);
  if (!command.keys.keyword.empty()) return streams_positions(words);
  if ((command.flags & flag::keys_option) != 0) {
    return migrated_positions(words, static_cast<std::size_t>(command.keys.first));
  }
  const auto count = static_cast<int>(words.size());
  if (command.keys.target > 0) positions.push_back(static_cast<std::size_t>(command.keys.target));
  const int last = command.keys.last < 0 ? count + command.keys.last : command.keys.last;
  for (int i = command.keys.first; i <= last && i < count; i += std::max(command.keys.step, 1)) {
    positions.push_back(static_cast<std::size_t>(i));
  }
  if ((command.flags & flag::store_option) != 0) {
    if (const std::size_t target = stored_position(command, words)) positions.push_back(target);
  }
  std::ranges::sort(positions);
  return positions;
}

}  // namespace mayfly
