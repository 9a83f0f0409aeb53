// SPDX-License-Identifier: Apache-2.0
// The commands on strings: those that only read, and the rows of all of them.

#include <algorithm>
#include <optional>

#include "commands/call.h"
#include "commands/string/string_handlers.h"

namespace mayfly {
namespace {

void get(Call& call) {
  const Slot slot = call.string_to_read(call.word(1));
  if (call.has_failed()) return;
  reply_string(call, slot);
}

// What is no string counts as absent.
void mget(Call& call) {
  call.reply().array(call.count() - 1);
  for (const std::string_view key : call.words().subspan(1)) {
    const Slot slot = call.find_to_read(key);
    const bool is_string = slot != kNoSlot && call.database().is_string(slot);
    reply_string(call, is_string ? slot : kNoSlot);
  }
}

void string_length(Call& call) {
  const Slot slot = call.string_to_read(call.word(1));
  if (call.has_failed()) return;
  const std::size_t size = slot == kNoSlot ? 0 : call.database().string(slot).size();
  call.reply().integer(static_cast<std::int64_t>(size));
}

// The bytes from `first` to `last`, both included; negative numbers count from the end.
std::string_view range_of(std::string_view text, std::int64_t first, std::int64_t last) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (first < 0 && last < 0 && first > last) return {};
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last = std::max<std::int64_t>(last + size, 0);
  last = std::min(last, size - 1);
  if (first > last) return {};
  return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1));
}

// GETRANGE key first last
void getrange(Call& call) {
  const std::optional<std::int64_t> first = call.integer(2);
  if (!first) return;
  const std::optional<std::int64_t> last = call.integer(3);
  if (!last) return;
  const Slot slot = call.string_to_read(call.word(1));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().bulk({});
  call.reply().bulk(range_of(call.database().string(slot), *first, *last));
}

constexpr std::uint32_t kRead = flag::readonly;
constexpr std::uint32_t kQuickRead = flag::readonly | flag::fast;
constexpr std::uint32_t kWrite = flag::write | flag::denyoom;
constexpr std::uint32_t kQuickWrite = flag::write | flag::denyoom | flag::fast;
constexpr std::uint32_t kQuickChange = flag::write | flag::fast;  // needs no memory

constexpr KeyRange kLooked{1, 1, 1, access::ro};
constexpr KeyRange kGot{1, 1, 1, access::ro | access::access};
constexpr KeyRange kGotMany{1, -1, 1, access::ro | access::access};
constexpr KeyRange kGotTwo{1, 2, 1, access::ro | access::access};
constexpr KeyRange kChanged{1, 1, 1, access::rw | access::access | access::update};
constexpr KeyRange kExtended{1, 1, 1, access::rw | access::insert};
constexpr KeyRange kPatched{1, 1, 1, access::rw | access::update};
constexpr KeyRange kRemoved{1, 1, 1, access::rw | access::access | access::remove};
constexpr KeyRange kPut{1, 1, 1, access::ow | access::update};
constexpr KeyRange kAdded{1, 1, 1, access::ow | access::insert};
constexpr KeyRange kPutMany{1, -1, 2, access::ow | access::update};
constexpr KeyRange kAddedMany{1, -1, 2, access::ow | access::insert};
constexpr KeyRange kPutCounted{2, 0, 2, access::ow | access::update, 1};

constexpr std::string_view kString = "string";

// clang-format off
constexpr Command kCommands[] = {
    {"get", get, 2, kQuickRead, kGot, kString, "1.0.0",
     "key",
     "Returns the string at a key."},
    {"mget", mget, -2, kQuickRead, kGotMany, kString, "1.0.0",
     "key...",
     "Returns the strings at several keys, and null where there is none."},
    {"strlen", string_length, 2, kQuickRead, kLooked, kString, "2.2.0",
     "key",
     "Returns how many bytes a string has."},
    {"getrange", getrange, 4, kRead, kGot, kString, "2.4.0",
     "key start:int end:int",
     "Returns a part of a string, between two offsets."},
    {"substr", getrange, 4, kRead, kGot, kString, "1.0.0",
     "key start:int end:int",
     "The former name of GETRANGE."},
    {"lcs", lcs, -3, kRead, kGotTwo, kString, "7.0.0",
     "key1:key key2:key [LEN] [IDX] [MINMATCHLEN len:int] [WITHMATCHLEN]",
     "Finds the longest common subsequence of two strings."},

    {"set", set, -3, kWrite, {1, 1, 1, access::ow | access::update}, kString, "1.0.0",
     "key value [condition:(NX | XX | IFEQ comparison-value)] [GET] [expiration:(EX seconds:int "
     "| PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
     "KEEPTTL)]",
     "Sets a key to a string, with a deadline or under a condition if that is asked for."},
    {"setnx", setnx, 3, kQuickWrite, kAdded, kString, "1.0.0",
     "key value",
     "Sets a key to a string unless the key is there."},
    {"setex", setex, 4, kWrite, kPut, kString, "2.0.0",
     "key seconds:int value",
     "Sets a key to a string that lives for some seconds."},
    {"psetex", psetex, 4, kWrite, kPut, kString, "2.6.0",
     "key milliseconds:int value",
     "Sets a key to a string that lives for some milliseconds."},
    {"mset", mset, -3, kWrite, kPutMany, kString, "1.0.1",
     "(key value)...",
     "Sets several keys to strings."},
    {"msetnx", msetnx, -3, kWrite, kAddedMany, kString, "1.0.1",
     "(key value)...",
     "Sets several keys to strings unless one of the keys is there."},
    {"msetex", msetex, -4, kWrite | flag::movablekeys, kPutCounted, kString, "9.1.0",
     "numkeys:count (key value)... [condition:(NX | XX)] [expiration:(EX seconds:int | "
     "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
     "KEEPTTL)]",
     "Sets several keys to strings, with one deadline or under one condition."},

    {"getset", getset, 3, kQuickWrite, kChanged, kString, "1.0.0",
     "key value",
     "Sets a key to a string and returns the one before."},
    {"getex", getex, -2, kQuickChange, kChanged, kString, "6.2.0",
     "key [expiration:(EX seconds:int | PX milliseconds:int | EXAT unix-time-seconds:time | "
     "PXAT unix-time-milliseconds:time | PERSIST)]",
     "Returns a string and sets or removes the deadline of its key."},
    {"getdel", getdel, 2, kQuickChange, kRemoved, kString, "6.2.0",
     "key",
     "Returns a string and removes its key."},
    {"delifeq", delifeq, 3, kQuickChange, kRemoved, kString, "9.0.0",
     "key value",
     "Removes a key if its string is the given one."},

    {"append", append, 3, kQuickWrite, kExtended, kString, "2.0.0",
     "key value",
     "Adds bytes at the end of a string, which is made if it is not there."},
    {"setrange", setrange, 4, kWrite, kPatched, kString, "2.2.0",
     "key offset:int value",
     "Overwrites a part of a string from an offset on."},

    {"incr", incr, 2, kQuickWrite, kChanged, kString, "1.0.0",
     "key",
     "Adds one to a whole number, which is 0 if it is not there."},
    {"decr", decr, 2, kQuickWrite, kChanged, kString, "1.0.0",
     "key",
     "Takes one from a whole number, which is 0 if it is not there."},
    {"incrby", incrby, 3, kQuickWrite, kChanged, kString, "1.0.0",
     "key increment:int",
     "Adds to a whole number, which is 0 if it is not there."},
    {"decrby", decrby, 3, kQuickWrite, kChanged, kString, "1.0.0",
     "key decrement:int",
     "Takes from a whole number, which is 0 if it is not there."},
    {"incrbyfloat", incrbyfloat, 3, kQuickWrite, kChanged, kString, "2.6.0",
     "key increment:double",
     "Adds to a number with a fraction, which is 0 if it is not there."},
};
// clang-format on

}  // namespace

void reply_string(Call& call, Slot slot) {
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().string(slot));
}

std::span<const Command> string_commands() { return kCommands; }

}  // namespace mayfly
