// SPDX-License-Identifier: Apache-2.0
#include "cli/ttl_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

namespace mayfly {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

constexpr std::int64_t kDaysOf400Years = 146'097;

struct TimeUnit {
  std::string_view name;
  std::int64_t ms;
  std::string_view long_names[5];  // without the s of a plural
};
// Longest first, the order in which they must be written.
constexpr TimeUnit kTimeUnits[] = {
    {"w", 604'800'000, {"wk", "week"}}, {"d", 86'400'000, {"day"}},
    {"h", 3'600'000, {"hr", "hour"}},   {"m", 60'000, {"min", "minute"}},
    {"s", 1'000, {"sec", "second"}},    {"ms", 1, {"msec", "milli", "millisec", "millisecond"}}};

Error not_a_time(std::string_view text) {
  return {Code::invalid,
          fmt::format("invalid time '{}' (use 90s, 15m, 2h30m, 7d or 2099-12-31T23:59Z)", text)};
}

// Takes a number off the front.
std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc() || text.front() == '-' || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

bool is_unit_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

// Whether `word`, in lower case, is a name of the unit: "h", "hr", "hours".
bool names_unit(const TimeUnit& unit, std::string_view word) {
  if (word == unit.name) return true;
  const bool is_plural = word.size() > 2 && word.ends_with('s');
  const std::string_view one = is_plural ? word.substr(0, word.size() - 1) : word;
  return std::ranges::any_of(unit.long_names, [&](std::string_view name) {
    return !name.empty() && (word == name || one == name);
  });
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// Takes a unit off the front; null if there is none smaller than `last`. Spaces before and after it
// are allowed. A single capital letter is not a unit: M could mean months.
const TimeUnit* take_unit(std::string_view& text, const TimeUnit* last) {
  skip_blanks(text);
  std::string word;
  while (word.size() < text.size() && is_unit_letter(text[word.size()])) word += text[word.size()];
  const std::size_t letters = word.size();
  if (letters > 1) {
    for (char& letter : word) letter = static_cast<char>(letter | 0x20);
  }
  for (const TimeUnit& unit : kTimeUnits) {
    if (!names_unit(unit, word) || (last != nullptr && &unit <= last)) continue;
    text.remove_prefix(letters);
    if (text.find_first_not_of(' ') != text.npos) skip_blanks(text);
    return &unit;
  }
  return nullptr;
}

// Takes numbers off the front as in `pattern`: "dddd-dd-dd".
bool take_digits(std::string_view& text, std::string_view pattern, int* numbers) {
  if (text.size() < pattern.size()) return false;
  bool in_number = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != 'd') {
      if (text[i] != pattern[i]) return false;
      in_number = false;
      ++numbers;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return false;
    *numbers = (in_number ? *numbers * 10 : 0) + (text[i] - '0');
    in_number = true;
  }
  text.remove_prefix(pattern.size());
  return true;
}

// The offset from UTC: "Z", "+01:00", or nothing for local time.
std::optional<std::chrono::seconds> zone_offset(std::string_view text, Time written) {
  if (text == "Z" || text == "z") return std::chrono::seconds(0);
  if (text.empty()) {
    std::tm local{};
    const std::time_t guess =
        std::chrono::floor<std::chrono::seconds>(written).time_since_epoch().count();
    gmtime_r(&guess, &local);
    local.tm_isdst = -1;
    return std::chrono::seconds(guess - std::mktime(&local));
  }
  const int sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  int numbers[2] = {0, 0};
  const bool is_short = text.size() == 2 && take_digits(text, "dd", numbers);
  if (!is_short && !take_digits(text, "dd:dd", numbers)) return std::nullopt;
  if (!text.empty() || numbers[0] > 23 || numbers[1] > 59) return std::nullopt;
  return sign * (std::chrono::hours(numbers[0]) + std::chrono::minutes(numbers[1]));
}

std::optional<Time> parse_date(std::string_view text) {
  int date[3] = {0, 0, 0};
  int clock[3] = {0, 0, 0};
  if (!take_digits(text, "dddd-dd-dd", date)) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(date[0]),
                                        std::chrono::month(static_cast<unsigned>(date[1])),
                                        std::chrono::day(static_cast<unsigned>(date[2]))};
  if (!day.ok()) return std::nullopt;
  if (!text.empty() && (text.front() == 'T' || text.front() == ' ')) {
    text.remove_prefix(1);
    if (!take_digits(text, "dd:dd", clock)) return std::nullopt;
    if (text.starts_with(':') && !take_digits(text, ":dd", clock + 1)) return std::nullopt;
  }
  double fraction = 0;
  if (text.starts_with('.')) {
    const auto taken = take_number(text);
    if (!taken) return std::nullopt;
    fraction = *taken;
  }
  if (clock[0] > 23 || clock[1] > 59 || clock[2] > 59) return std::nullopt;
  const Time written = sys_days(day) + std::chrono::hours(clock[0]) +
                       std::chrono::minutes(clock[1]) + std::chrono::seconds(clock[2]) +
                       Millis(std::llround(fraction * 1000));
  const auto offset = zone_offset(text, written);
  if (!offset) return std::nullopt;
  return written - *offset;
}

}  // namespace

Result<Millis> parse_duration(std::string_view text) {
  const Error wrong = not_a_time(text);
  if (text.empty()) return wrong;
  double ms = 0;
  const TimeUnit* last = nullptr;
  while (!text.empty()) {
    const auto number = take_number(text);
    if (!number) return wrong;
    if (text.empty() && last == nullptr) {  // a number alone: seconds
      ms = *number * 1000;
      break;
    }
    last = take_unit(text, last);
    if (last == nullptr) return wrong;
    ms += *number * static_cast<double>(last->ms);
  }
  return to_millis(std::chrono::duration<double, std::milli>(ms));
}

Result<Time> parse_moment(std::string_view text, Time now) {
  if (const auto date = parse_date(text)) return *date;
  const Result<Millis> duration = parse_duration(text);
  if (!duration) return duration.error();
  return deadline_after(now, *duration);
}

Result<Expiry> parse_expires(std::string_view text, Time now) {
  if (const auto date = parse_date(text)) {
    if (!is_due(*date, now)) return Expiry(*date);
    return Error{Code::invalid,
                 fmt::format("time '{}' is in the past (now is {})", text, moment_text(now))};
  }
  const Result<Millis> duration = parse_duration(text);
  if (!duration) return duration.error();
  if (*duration > Millis::zero()) return Expiry(*duration);
  return Error{Code::invalid, fmt::format("TTL must be greater than 0, not '{}'", text)};
}

std::string time_left_text(Millis duration) {
  const std::int64_t ms = duration.count();
  if (ms < 60'000) return fmt::format("{}.{:03}s", ms / 1000, ms % 1000);
  for (std::size_t i = 0;; ++i) {
    if (ms < kTimeUnits[i].ms) continue;
    const std::int64_t rest = ms % kTimeUnits[i].ms / kTimeUnits[i + 1].ms;
    std::string text = fmt::format("{}{}", ms / kTimeUnits[i].ms, kTimeUnits[i].name);
    if (rest > 0) text += fmt::format(" {}{}", rest, kTimeUnits[i + 1].name);
    return text;
  }
}

std::string moment_text(Time moment) {
  if (moment == kNever) return "never";
  const sys_days day = std::chrono::floor<days>(moment);
  // The calendar repeats after 400 years; <chrono> ends at 32767.
  const std::int64_t cycles = day.time_since_epoch().count() / kDaysOf400Years;
  const std::chrono::year_month_day date(day - days(cycles * kDaysOf400Years));
  const std::chrono::hh_mm_ss<Millis> clock(moment - day);
  return fmt::format(
      "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()) + cycles * 400,
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
      clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

}  // namespace mayfly
