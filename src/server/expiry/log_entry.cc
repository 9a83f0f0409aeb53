// SPDX-License-Identifier: Apache-2.0
#include "server/expiry/log_entry.h"

#include <cstdint>
#include <cstring>

#include "keyspace/listpack/listpack_entry.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kLoggedValueMost = 1 << 20;  // a longer value is left out
constexpr std::size_t kFixedMost = 128;            // of all values but names and the value
constexpr std::size_t kBufferKept = 64 * 1024;
constexpr std::array kTypes = {ValueType::string, ValueType::list, ValueType::set,
                               ValueType::zset,   ValueType::hash, ValueType::stream};
static_assert([] {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] != static_cast<ValueType>(i)) return false;
  }
  return true;
}());

constexpr std::array<std::string_view, 3> kCauses = {"access", "sweep", "past"};  // by FoundBy
static_assert(static_cast<int>(FoundBy::access) == 0 && static_cast<int>(FoundBy::sweep) == 1 &&
              static_cast<int>(FoundBy::past) == 2);

std::int64_t unix_ms(Time time) { return time.time_since_epoch().count(); }

// Inline for short texts that are no numbers.
char* write_text(char* to, std::string_view text) {
  if (text.empty() || text.size() >= 64 || text[0] <= '9') return ListpackText(text).write(to);
  *to = static_cast<char>(0x80 | text.size());
  std::memcpy(to + 1, text.data(), text.size());
  to += 1 + text.size();
  *to = static_cast<char>(1 + text.size());
  return to + 1;
}

std::size_t digits_of(std::int64_t number) {
  constexpr std::int64_t kOf13 = 1'000'000'000'000;  // times of today have 13
  return number >= kOf13 && number < 10 * kOf13 ? 13 : std::to_string(number).size();
}

// Inline for times of today.
char* write_time(char* to, Time time) {
  const std::int64_t ms = unix_ms(time);
  if (ms <= INT32_MAX) return ListpackText(ms).write(to);
  *to = static_cast<char>(0xF4);
  std::memcpy(to + 1, &ms, sizeof ms);
  to[9] = 9;
  return to + 10;
}

bool has_value(const ExpiringEntry& entry) {
  const bool is_one =
      entry.type == ValueType::string || (entry.member.has_value() && entry.type != ValueType::set);
  return is_one && entry.value.size() <= kLoggedValueMost;
}

}  // namespace

void LogEntryEncoder::Piece::append(std::string_view text) {
  text_bytes += text.size();
  size = static_cast<std::size_t>(ListpackText(text).write(bytes.data() + size) - bytes.data());
}

void LogEntryEncoder::Piece::append(std::int64_t number) {
  text_bytes += digits_of(number);
  size = static_cast<std::size_t>(ListpackText(number).write(bytes.data() + size) - bytes.data());
}

LogEntryEncoder::LogEntryEncoder() {
  for (const bool with_member : {false, true}) {
    for (const bool with_value : {false, true}) {
      Fields& fields = fields_[with_member][with_value];
      std::vector<std::string_view> names = {"db", "key"};
      if (with_member) names.emplace_back("member");
      names.insert(names.end(), {"type", "deadline", "at", "how"});
      if (with_value) names.emplace_back("value");
      for (const std::string_view name : names) {
        Piece piece;
        piece.append(name);
        fields.names.append(piece.bytes.data(), piece.size);
        fields.text_bytes += name.size();
      }
      fields.count = names.size();
    }
  }
  for (std::size_t i = 0; i < types_.size(); ++i) types_[i].append(type_name(kTypes[i]));
}

EncodedStreamEntry LogEntryEncoder::encode(int database, const ExpiringEntry& entry,
                                           bool with_value) {
  if (database != database_) {
    database_ = database;
    number_ = {};
    number_.append(std::int64_t{database});
  }
  if (entry.at != at_) {
    at_ = entry.at;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      ends_[i] = {};
      ends_[i].append(unix_ms(at_));
      ends_[i].append(kCauses[i]);
    }
  }
  with_value = with_value && has_value(entry);
  std::string score;
  std::string_view value = with_value ? entry.value : std::string_view();
  if (with_value && entry.type == ValueType::zset) {
    value = score = format_double(Member{.name = {}, .value = value}.score());
  }
  const std::string_view member = entry.member.value_or(std::string_view());
  const std::size_t most = kFixedMost + entry.key.size() + member.size() + value.size();
  if (values_.size() < most) values_.resize(most);

  const Piece& type = types_[static_cast<std::size_t>(entry.type)];
  const Piece& end = ends_[static_cast<std::size_t>(entry.by)];
  char* at = number_.write(values_.data());
  at = write_text(at, entry.key);
  if (entry.member) at = write_text(at, member);
  at = type.write(at);
  at = write_time(at, entry.deadline);
  at = end.write(at);
  if (with_value) at = write_text(at, value);
  const Fields& fields = fields_[entry.member.has_value()][with_value];
  const std::size_t text_bytes = fields.text_bytes + number_.text_bytes + entry.key.size() +
                                 member.size() + type.text_bytes +
                                 digits_of(unix_ms(entry.deadline)) + end.text_bytes + value.size();
  return {fields.names, {values_.data(), at}, fields.count, text_bytes};
}

void LogEntryEncoder::shrink() {
  if (values_.size() <= kBufferKept) return;
  values_.clear();
  values_.shrink_to_fit();
}

void add_words(const EncodedStreamEntry& entry, std::vector<std::string>& words) {
  const char* field = entry.fields.data();
  const char* value = entry.values.data();
  char digits[24];
  for (std::size_t i = 0; i < entry.count; ++i) {
    for (const char** const at : {&field, &value}) {
      ListpackValue read;
      *at = read_entry(*at, read);
      words.emplace_back(read.as_text(digits));
    }
  }
}

}  // namespace mayfly
