// SPDX-License-Identifier: Apache-2.0
// STALE, GETSTALE and DELLEASE. A token is 16 hexadecimal digits.

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>

#include "commands/command.h"
#include "commands/string/stale_option.h"

namespace mayfly {
namespace {

constexpr std::size_t kTokenSize = 16;

// 0, which is no token, if the text is none.
RefreshLeases::Token parse_token(std::string_view text) {
  RefreshLeases::Token token = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, token, 16);
  return text.size() == kTokenSize && read.ec == std::errc() && read.ptr == end ? token : 0;
}

// The lease time of GETSTALE in its options, or the configured one.
std::optional<Millis> lease_time(Call& call) {
  if (call.count() == 2) return call.keyspace().options().stale_lease;
  if (call.count() != 4 || !call.is(2, "lease")) {
    call.fail_syntax();
    return std::nullopt;
  }
  constexpr std::int64_t kMost = std::int64_t{24} * 3600 * 1000;
  const auto ms = call.integer(3, 0, kMost, "ERR LEASE must be 0 to 86400000 milliseconds");
  if (!ms) return std::nullopt;
  return Millis(*ms);
}

// Only a primary gives leases: what a client of a replica computes cannot be written there.
std::optional<RefreshLeases::Token> take_lease(Call& call, std::string_view key, Millis time) {
  if (call.context().policy != Policy::reclaim) return std::nullopt;
  return call.keyspace().leases().take(call.database().number(), key, call.now(),
                                       call.now() + time);
}

// GETSTALE key [LEASE milliseconds]
//
// The value or null; fresh, stale or missing; a token or null.
void getstale(Call& call) {
  const std::optional<Millis> time = lease_time(call);
  if (!time) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_read(key, ValueType::string);
  if (call.has_failed()) return;
  const bool is_missing = slot == kNoSlot;
  const bool is_fresh = !is_missing && !call.database().is_stale(slot, call.now());
  std::optional<RefreshLeases::Token> token;
  if (!is_fresh) token = take_lease(call, key, *time);

  call.reply().array(3);
  reply_string(call, slot);
  call.reply().bulk(is_missing ? "missing" : is_fresh ? "fresh" : "stale");
  if (!token) return call.reply().null();
  call.reply().bulk(fmt::format("{:016x}", *token));
}

// DELLEASE key token: 1 if the caller had the lease.
void dellease(Call& call) {
  const bool was_held = call.context().policy == Policy::reclaim &&
                        call.keyspace().leases().release(call.database().number(), call.word(1),
                                                         parse_token(call.word(2)), call.now());
  call.reply().integer(was_held);
}

}  // namespace

std::size_t StaleOption::read(const Call& call, std::size_t i) {
  const bool seconds = call.is(i, "stale");
  if (!seconds && !call.is(i, "pstale")) return 0;
  if (at != 0 || i + 1 >= call.count()) return 0;
  at = i + 1;
  is_seconds = seconds;
  return 2;
}

Millis StaleOption::time(Call& call, std::optional<Time> fresh_until) const {
  if (at == 0) return Millis(0);
  if (!fresh_until) {
    call.fail("ERR STALE needs a TTL: EX, PX, EXAT or PXAT");
    return Millis(0);
  }
  const std::int64_t unit = is_seconds ? 1000 : 1;
  const auto number = call.integer(at, 1, std::numeric_limits<std::int64_t>::max() / unit,
                                   "ERR invalid stale time in 'set' command");
  return Millis(number ? *number * unit : 0);
}

std::optional<KeyLife> stale_life(Call& call, Time fresh_until, Millis stale) {
  if (stale > Millis(0) && stale >= kNever - fresh_until) {
    call.fail("ERR invalid stale time in 'set' command");
    return std::nullopt;
  }
  return KeyLife{.deadline = fresh_until + stale, .stale = stale};
}

bool holds_lease(Call& call, std::string_view key, std::string_view token) {
  return call.context().policy == Policy::reclaim &&
         call.keyspace().leases().is_held(call.database().number(), key, parse_token(token),
                                          call.now());
}

std::span<const Command> string_stale_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"getstale", getstale, -2, flag::readonly | flag::fast, one_key(access::ro | access::access),
       "string", kOnlyHere,
       "key [LEASE milliseconds:int]",
       "Returns a string, whether it is fresh, and for one caller a token to replace it."},
      {"dellease", dellease, 3, flag::readonly | flag::fast, one_key(access::ro), "string",
       kOnlyHere,
       "key token",
       "Gives back the right to replace a stale or missing string."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
