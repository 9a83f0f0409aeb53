// SPDX-License-Identifier: Apache-2.0
// PFADD, PFCOUNT and PFMERGE.
//
// A HyperLogLog is a string, and so all that works on strings works on it. Its deadline stays.

#include <algorithm>
#include <optional>
#include <string>

#include "commands/command.h"
#include "commands/hyperloglog/hll_key.h"

namespace mayfly {
namespace {

std::size_t sparse_bytes_max(Call& call) { return call.keyspace().options().hll_sparse_max_bytes; }

Slot put_empty_hll(Call& call, std::string_view key) {
  const Slot slot = call.put_string(key, {});
  KeyHll(call.database(), slot).assign(empty_hll());
  return slot;
}

void report_hll(Call& call, std::string_view key, std::int64_t changes) {
  call.changed(key, changes);
  call.notify(Event::string, "pfadd", key);
}

// PFADD key [element ...]: 1 if a register was raised, or the key is new.
void pfadd(Call& call) {
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key);
  if (slot != kNoSlot && !check_is_hll(call, slot)) return;
  std::int64_t changes = 0;
  if (slot == kNoSlot) {
    slot = put_empty_hll(call, key);
    changes = 1;
  }

  KeyHll hll(call.database(), slot);
  if (changes > 0) invalidate_estimate(hll);
  for (const std::string_view element : call.words().subspan(2)) {
    const HllChange change = raise_hll(hll, hll_element(element), sparse_bytes_max(call));
    if (change == HllChange::raised) ++changes;
    if (change != HllChange::damaged) continue;
    // What was raised before the damage was found stays. Replicas must have it without the error.
    if (changes > 0) {
      call.changed(key, changes);
      call.propagate_as("SET", key, hll.bytes(), "KEEPTTL");
    }
    return fail_damaged_hll(call);
  }
  if (changes > 0) report_hll(call, key, changes);
  call.reply().integer(changes > 0 ? 1 : 0);
}

// The registers of all keys from word 1 on. Nothing after an error reply.
struct MergedKeys {
  HllRegisters registers;
  bool has_dense = false;
};
std::optional<MergedKeys> merge_keys(Call& call) {
  std::optional<MergedKeys> merged(std::in_place);
  for (const std::string_view key : call.words().subspan(1)) {
    const Slot slot = call.find_to_read(key);
    if (slot == kNoSlot) continue;
    if (!check_is_hll(call, slot)) return std::nullopt;
    const std::string_view bytes = call.database().string(slot);
    merged->has_dense = merged->has_dense || is_dense_hll(bytes);
    if (merge_hll(merged->registers, bytes)) continue;
    fail_damaged_hll(call);
    return std::nullopt;
  }
  return merged;
}

void reply_estimate(Call& call, std::uint64_t estimate) {
  call.reply().integer(static_cast<std::int64_t>(estimate));
}

// PFCOUNT key [key ...]
//
// The estimate of a single key is cached in its value. That is a change: a command that only reads
// is propagated here.
void pfcount(Call& call) {
  if (call.count() > 2) {
    const std::optional<MergedKeys> merged = merge_keys(call);
    if (merged) reply_estimate(call, estimate_distinct(merged->registers.histogram()));
    return;
  }
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_read(key);
  if (slot == kNoSlot) return call.reply().integer(0);
  if (!check_is_hll(call, slot)) return;

  KeyHll hll(call.database(), slot);
  if (const auto cached = cached_estimate(hll.bytes())) return reply_estimate(call, *cached);
  const std::optional<std::uint64_t> estimate = estimate_hll(hll.bytes());
  if (!estimate) return fail_damaged_hll(call);
  cache_estimate(hll, *estimate);
  call.changed(key);
  reply_estimate(call, *estimate);
}

// PFMERGE target [source ...]: the target is a source, too.
void pfmerge(Call& call) {
  const std::optional<MergedKeys> merged = merge_keys(call);
  if (!merged) return;
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key);
  if (slot == kNoSlot) slot = put_empty_hll(call, key);

  KeyHll hll(call.database(), slot);
  if (merged->has_dense) {
    make_dense(hll);
    store_registers(hll, merged->registers);
  } else {
    for (std::size_t i = 0; i < kHllRegisters; ++i) {
      const unsigned rank = merged->registers[i];
      if (rank > 0) raise_hll(hll, {i, rank}, sparse_bytes_max(call));
    }
  }
  invalidate_estimate(hll);
  report_hll(call, key, 1);
  call.reply().ok();
}

}  // namespace

char* KeyHll::resize(std::size_t size) {
  constexpr std::size_t kRoomMost = 300;
  const KeyNode& node = database_.node(slot_);
  const std::size_t room = node_bytes(&node) - sizeof(KeyNode) - node.key_size;
  if (size > room) {
    std::string roomy(bytes());
    roomy.resize(size + std::min(size, kRoomMost));
    database_.set_string(slot_, roomy);
  }
  return database_.resize_string(slot_, size);
}

void KeyHll::assign(std::string_view bytes) {
  database_.set_string(slot_, bytes);
  database_.resize_string(slot_, bytes.size());  // from now on it is changed in place
}

bool check_is_hll(Call& call, Slot slot) {
  if (!call.is_string(slot)) {
    call.fail_wrong_type();
    return false;
  }
  if (is_hll(call.database().string(slot))) return true;
  call.fail("WRONGTYPE Key is not a valid HyperLogLog string value.");
  return false;
}

void fail_damaged_hll(Call& call) { call.fail("INVALIDOBJ Corrupted HLL object detected"); }

std::span<const Command> hyperloglog_commands() {
  static constexpr std::uint64_t kWrite = flag::write | flag::denyoom;
  static constexpr KeyRange kMerged = {
      2, -1, 1, access::ro | access::access, 0, 1, access::rw | access::access | access::insert};
  static constexpr KeyRange kDebugged = {2, 2, 1, access::rw | access::access};
  // clang-format off
  static constexpr Command kRows[] = {
      {"pfadd", pfadd, -2, kWrite | flag::fast, one_key(access::rw | access::insert),
       "hyperloglog", "2.8.9", "key [element...]",
       "Adds elements to a HyperLogLog. Creates it if it does not exist."},
      {"pfcount", pfcount, -2, flag::readonly | flag::may_replicate,
       all_keys(access::rw | access::access), "hyperloglog", "2.8.9", "key...",
       "Returns about how many distinct elements were added to any of the HyperLogLogs."},
      {"pfmerge", pfmerge, -2, kWrite, kMerged, "hyperloglog", "2.8.9",
       "destkey:key [sourcekey:key...]", "Merges HyperLogLogs into one."},
      {"pfdebug", pfdebug, 3, kWrite | flag::admin, kDebugged, "hyperloglog", "2.8.9",
       "subcommand key", "Shows how a HyperLogLog is stored, for tests."},
      {"pfselftest", pfselftest, 1, flag::admin, {}, "hyperloglog", "2.8.9", "",
       "Checks the implementation of HyperLogLogs."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
