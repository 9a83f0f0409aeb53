// SPDX-License-Identifier: Apache-2.0
// Command: one row of the table of commands, and the table itself.
//
// Handlers are free functions in the file that has their rows, such as hash/hash_read.cc. Each of
// these files exports its rows; data_commands() lists them all.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/request.h"

namespace mayfly {

class Call;

using Handler = void (*)(Call&);

// Flags, as COMMAND INFO names them.
namespace flag {
inline constexpr std::uint64_t write = 1 << 0;
inline constexpr std::uint64_t readonly = 1 << 1;
inline constexpr std::uint64_t denyoom = 1 << 2;
inline constexpr std::uint64_t admin = 1 << 3;
inline constexpr std::uint64_t pubsub = 1 << 4;
inline constexpr std::uint64_t noscript = 1 << 5;
inline constexpr std::uint64_t blocking = 1 << 6;
inline constexpr std::uint64_t loading = 1 << 7;
inline constexpr std::uint64_t stale = 1 << 8;
inline constexpr std::uint64_t skip_monitor = 1 << 9;
inline constexpr std::uint64_t skip_slowlog = 1 << 10;
inline constexpr std::uint64_t fast = 1 << 11;
inline constexpr std::uint64_t no_auth = 1 << 12;
inline constexpr std::uint64_t may_replicate = 1 << 13;
inline constexpr std::uint64_t no_async_loading = 1 << 14;
inline constexpr std::uint64_t no_multi = 1 << 15;
inline constexpr std::uint64_t movablekeys = 1 << 16;
inline constexpr std::uint64_t allow_busy = 1 << 17;
inline constexpr std::uint64_t dangerous = 1 << 18;  // an ACL category only, not shown as a flag

// How a request is checked (server/core/check_allowed.cc); not shown either.
inline constexpr std::uint64_t unqueued = 1 << 19;         // runs at once even after MULTI
inline constexpr std::uint64_t runs_queue = 1 << 20;       // EXEC: checked by what is queued
inline constexpr std::uint64_t for_subscribers = 1 << 21;  // allowed to a subscriber by RESP2
inline constexpr std::uint64_t health_check = 1 << 22;     // refused when writes cannot be saved
inline constexpr std::uint64_t unpaused = 1 << 23;         // runs even while everything is paused
inline constexpr std::uint64_t from_primary = 1 << 24;     // no write, but a primary may send it

// It may find any keys expired. They are unrelated, and so their removals are propagated one by
// one, not as a transaction. Not shown.
inline constexpr std::uint64_t arbitrary_keys = 1 << 25;

// Its option STORE names another key; it records uses even after CLIENT NO-TOUCH. Not shown.
inline constexpr std::uint64_t store_option = 1 << 26;
inline constexpr std::uint64_t records_use = 1 << 27;

// Its option KEYS names the keys, if the word that is the key is empty: MIGRATE. Not shown.
inline constexpr std::uint64_t keys_option = 1 << 28;

inline constexpr std::uint64_t no_mandatory_keys = 1 << 29;  // there may be none

// It changes groups of a stream, but no entries. Not shown.
inline constexpr std::uint64_t keeps_entries = 1u << 30;
// For ttl-policy; not shown: its handler asks the rules itself; it makes no keys.
inline constexpr std::uint64_t asks_rules = std::uint64_t{1} << 31;
inline constexpr std::uint64_t needs_key = std::uint64_t{1} << 32;
// Its first word is a shard channel, which belongs to a hash slot as keys do; all of its words, if
// it takes any number of them. Not shown.
inline constexpr std::uint64_t shard_channels = std::uint64_t{1} << 33;
// Refused in a cluster; its options (BY, GET, DB) name keys of any slot or another database. Not
// shown.
inline constexpr std::uint64_t not_in_cluster = std::uint64_t{1} << 40;
inline constexpr std::uint64_t names_other_keys = std::uint64_t{1} << 41;
// It connects to another server, as its client asks: refused from a primary and from an append-only
// file, which hold the effects of such a command and not the command. Not shown.
inline constexpr std::uint64_t reaches_out = std::uint64_t{1} << 42;
}  // namespace flag

// What a command does to its keys.
namespace access {
inline constexpr std::uint32_t ro = 1 << 0;
inline constexpr std::uint32_t rw = 1 << 1;
inline constexpr std::uint32_t ow = 1 << 2;
inline constexpr std::uint32_t rm = 1 << 3;
inline constexpr std::uint32_t access = 1 << 4;
inline constexpr std::uint32_t update = 1 << 5;
inline constexpr std::uint32_t insert = 1 << 6;
inline constexpr std::uint32_t remove = 1 << 7;  // DELETE
}  // namespace access

// Which words are keys: from `first` to `last` (negative: from the end) in steps. first 0: none.
// Or from `first` on as many as the word `count_at` says; then `last` means nothing. The word
// `target`, before or after them, may be a key that the command uses in another way. Or they are
// the first half of the words behind `keyword`, which is searched for from `first` on.
struct KeyRange {
  int first = 0;
  int last = 0;
  int step = 0;
  std::uint32_t access = 0;
  int count_at = 0;  // 0: up to `last`
  int target = 0;    // 0: none
  std::uint32_t target_access = access::ow | access::update;
  std::string_view keyword = {};
  bool is_one = false;  // one_key()
};
constexpr KeyRange one_key(std::uint32_t access) {
  KeyRange keys{1, 1, 1, access};
  keys.is_one = true;
  return keys;
}
// The key that is used in another way, as a range of its own.
constexpr KeyRange target_key(const KeyRange& keys) {
  return {keys.target, keys.target, 1, keys.target_access};
}
constexpr KeyRange all_keys(std::uint32_t access, int step = 1) { return {1, -1, step, access}; }
constexpr KeyRange keys_behind(std::string_view keyword, int from, std::uint32_t access) {
  KeyRange keys{from, -1, 1, access};
  keys.keyword = keyword;
  return keys;
}

// The version that brought a command which neither Redis nor Valkey has.
inline constexpr std::string_view kOnlyHere = "Mayfly 0.1.0";

struct Command {
  std::string_view name;  // lower case; of a subcommand the second word only
  Handler handler = nullptr;
  int arity = 0;  // words, the name included; negative: at least so many
  std::uint64_t flags = 0;
  KeyRange keys = {};
  std::string_view group;        // "hash", "string", "generic", "connection", "server", ...
  std::string_view since;        // the version of Redis or Valkey that brought it, or kOnlyHere
  std::string_view syntax = {};  // of its arguments, see syntax.h
  std::string_view summary;      // a sentence, for COMMAND DOCS
  std::span<const Command> subcommands = {};
  std::string_view parent = {};  // of a subcommand: the name of its container
};

// Whether a request with so many words may be a call of it.
constexpr bool fits(const Command& command, std::size_t words) {
  const auto count = static_cast<int>(words);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

// "hset", and "config|get" of a subcommand.
std::string full_name(const Command& command);

// The positions of the keys in a request.
std::vector<std::size_t> key_positions(const Command& command, Words words);

// Whether the keys are those of a range, whatever the other words are.
constexpr bool has_plain_keys(const Command& command) {
  const KeyRange& keys = command.keys;
  return keys.count_at == 0 && keys.target == 0 && keys.keyword.empty() &&
         (command.flags & (flag::store_option | flag::keys_option)) == 0;
}

// Whether the first word behind the name is the only key, whatever the other words are.
constexpr bool has_one_key(const Command& command) {
  return command.keys.is_one && (command.flags & (flag::store_option | flag::keys_option)) == 0;
}

// Visits the keys of a request in their order, without an allocation if they are a range.
template <class Visit>
void each_key(const Command& command, Words words, Visit visit) {
  const KeyRange& keys = command.keys;
  if (keys.first == 0) return;
  if (!has_plain_keys(command)) {
    for (const std::size_t at : key_positions(command, words)) visit(words[at]);
    return;
  }
  const auto count = static_cast<int>(words.size());
  const int last = keys.last < 0 ? count + keys.last : keys.last;
  const int step = keys.step > 0 ? keys.step : 1;
  for (int i = keys.first; i <= last && i < count; i += step) {
    visit(words[static_cast<std::size_t>(i)]);
  }
}

// All commands, found by name in any case. Small, open addressing, filled once.
class CommandTable {
 public:
  CommandTable();

  // The rows must outlive the table.
  void add(std::span<const Command> rows);

  // Null if there is no such command.
  const Command* find(std::string_view name) const;

  // The subcommand that the second word names, or the command itself if it has none. Null if the
  // second word names none.
  const Command* resolve(const Command& command, Words words) const;

  const std::vector<const Command*>& rows() const { return rows_; }

 private:
  static std::uint32_t hash(std::string_view name);

  std::vector<const Command*> rows_;
  std::vector<const Command*> cells_;
};

// The rows of all commands on data.
std::vector<std::span<const Command>> data_commands();

// They come from these files.
std::span<const Command> string_read_commands();
std::span<const Command> string_set_commands();
std::span<const Command> string_msetex_commands();
std::span<const Command> string_stale_commands();
std::span<const Command> string_change_commands();
std::span<const Command> string_lcs_commands();
std::span<const Command> bit_commands();
std::span<const Command> bit_count_commands();
std::span<const Command> bit_op_commands();
std::span<const Command> bit_field_commands();
std::span<const Command> key_commands();
std::span<const Command> key_move_commands();
std::span<const Command> key_scan_commands();
std::span<const Command> key_expire_commands();
std::span<const Command> key_object_commands();
std::span<const Command> key_sort_commands();
std::span<const Command> hash_write_commands();
std::span<const Command> hash_read_commands();
std::span<const Command> hash_getex_commands();
std::span<const Command> hash_setex_commands();
std::span<const Command> member_expire_commands();
std::span<const Command> member_ttl_commands();
std::span<const Command> member_random_commands();
std::span<const Command> member_scan_commands();
std::span<const Command> set_write_commands();
std::span<const Command> set_read_commands();
std::span<const Command> set_algebra_commands();
std::span<const Command> member_compat_commands();
std::span<const Command> set_addex_commands();
std::span<const Command> zset_add_commands();
std::span<const Command> zset_addex_commands();
std::span<const Command> zset_remove_commands();
std::span<const Command> zset_read_commands();
std::span<const Command> zset_range_commands();
std::span<const Command> zset_pop_commands();
std::span<const Command> zset_combine_commands();
std::span<const Command> list_push_commands();
std::span<const Command> list_pop_commands();
std::span<const Command> list_read_commands();
std::span<const Command> list_change_commands();
std::span<const Command> list_move_commands();
std::span<const Command> stream_write_commands();
std::span<const Command> stream_expired_commands();
std::span<const Command> stream_read_commands();
std::span<const Command> stream_group_commands();
std::span<const Command> stream_readgroup_commands();
std::span<const Command> stream_pending_commands();
std::span<const Command> stream_claim_commands();
std::span<const Command> stream_info_commands();
std::span<const Command> hyperloglog_commands();
std::span<const Command> geo_commands();
std::span<const Command> geo_search_commands();
std::span<const Command> geo_radius_commands();

}  // namespace mayfly
