// SPDX-License-Identifier: Apache-2.0
// Which value follows, and reading strings, hashes, sets and sorted sets, with the deadlines of
// members, from their RDB encodings.

#include "persist/values/rdb_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "keyspace/value.h"
#include "persist/encodings/intset.h"
#include "persist/encodings/listpack.h"
#include "persist/rdb/rdb_parser.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// What is handed over at once. More members than a packed key has, so that such a one comes whole.
constexpr std::size_t kBatchMembers = 4096;
constexpr std::size_t kBatchBytes = 1 << 20;  // 1 MiB

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// In type 3 these sizes of a score's text stand for the score itself; 253 is not a number.
constexpr std::uint8_t kScoreNan = 253;
constexpr std::uint8_t kScoreInfinity = 254;
constexpr std::uint8_t kScoreMinusInfinity = 255;

// The bytes of a member that are there at least: one for the size of each text.
std::uint64_t least_bytes(rdb::Type type) {
  using enum rdb::Type;
  switch (type) {
    case set:
      return 1;
    case zset2:
    case set_deadlines:
      return 1 + sizeof(std::int64_t);
    case zset_deadlines:
      return 1 + sizeof(double) + sizeof(std::int64_t);
    default:
      return 2;
  }
}

bool has_absolute_deadlines(rdb::Type type) {
  using enum rdb::Type;
  return type == hash2 || type == set_deadlines || type == zset_deadlines;
}

Time time_of(std::int64_t ms) { return Time(Millis(ms)); }

}  // namespace

Status RdbValues::begin(const RdbKey& key, int version) {
  using enum rdb::Type;
  const bool is_valkeys = version >= rdb::kDeadlinesVersion;
  key_ = &key;
  type_ = key.type;
  value_type_ = value_type_of(key.type).value_or(ValueType::string);
  switch (key.type) {
    case string: {
      const std::string_view value = reader_.string();
      if (reader_.failed()) return Done{};
      return handler_.string(key, value);
    }
    case hash:
    case set:
    case zset:
    case zset2:
      return begin_members(key);
    case hash_zipmap:
      return read_blob<Zipmap>(key);
    case hash_ziplist:
    case zset_ziplist:
      return read_blob<Ziplist>(key);
    case hash_listpack:
    case set_listpack:
    case zset_listpack:
      return read_blob<Listpack>(key);
    case set_intset:
      return read_blob<Intset>(key);
    case hash2:  // the same number as hash_metadata_pre
      if (is_valkeys) return begin_members(key);
      [[fallthrough]];
    case hash_listpackex_pre:
      return Error{Code::unsupported,
                   "the format of hashes of a release candidate of Redis 7.4 is not supported"};
    case hash_metadata:
    case hash_listpackex:
      if (is_valkeys) break;
      least_deadline_ = reader_.fixed<std::int64_t>();
      if (least_deadline_ < 0) damaged("a negative deadline");
      return key.type == hash_metadata ? begin_members(key) : read_blob<Listpack>(key);
    case set_deadlines:
    case zset_deadlines:
      if (!is_valkeys) break;
      return begin_members(key);
    case list:
    case list_ziplist:
    case list_quicklist:
    case list_quicklist2:
      return begin_list(key);
    case stream:
    case stream2:
    case stream3:
      stream_.begin(key.type);
      return read_stream();
    case module_pre_ga:
    case module2:
      return Error{Code::unsupported, "modules cannot be loaded"};
  }
  return Error{Code::unsupported, fmt::format("the type {} is unknown in files of version {}",
                                              static_cast<unsigned>(key.type), version)};
}

Status RdbValues::go_on() {
  if (value_type_ == ValueType::stream) return read_stream();
  return value_type_ == ValueType::list ? read_elements() : read_members();
}

Status RdbValues::read_stream() {
  stream_.go_on();
  if (reader_.failed() || stream_.has_more()) return Done{};
  return handler_.stream(*key_, stream_.take());
}

void RdbValues::damaged(std::string_view what) { reader_.fail(Code::corrupt, what); }

// Old servers have written empty keys of the plain types. They are left out.
void RdbValues::damaged_if_empty(std::uint64_t members) {
  using enum rdb::Type;
  const bool has_deadlines =
      has_absolute_deadlines(type_) || type_ == hash_metadata || type_ == hash_listpackex;
  if (members > 0 || !has_deadlines) return;
  damaged(fmt::format("a {} without {}s", type_name(value_type_), member_word(value_type_)));
}

// ---- Members one by one ----

Status RdbValues::begin_members(const RdbKey& key) {
  const std::uint64_t members = reader_.count(least_bytes(type_));
  if (!reader_.failed()) damaged_if_empty(members);
  if (reader_.failed()) return Done{};
  if (Status status = handler_.members_begin(key, members); !status) return status;
  left_ = members;
  return members == 0 ? handler_.members_end() : read_members();
}

Time RdbValues::deadline_after_least(std::uint64_t distance) {
  if (distance == 0) return kNever;
  if (distance - 1 > static_cast<std::uint64_t>(kLatest - least_deadline_)) {
    damaged("a deadline beyond the end of time");
    return kNever;
  }
  return time_of(least_deadline_ + static_cast<std::int64_t>(distance - 1));
}

std::string_view RdbValues::score_of(double score) {
  if (std::isnan(score)) damaged("a score that is not a number");
  const ScoreBytes bytes(score);
  return {static_cast<char*>(std::memcpy(numbers_.room(bytes.view().size()), bytes.view().data(),
                                         bytes.view().size())),
          bytes.view().size()};
}

std::string_view RdbValues::score_in(std::string_view text) {
  double score = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, score);
  if (read.ec != std::errc() || read.ptr != end) {
    damaged(fmt::format("a score of '{}'", printable(text)));
    return {};
  }
  return score_of(score);
}

std::string_view RdbValues::read_score() {
  if (type_ != rdb::Type::zset) return score_of(reader_.fixed<double>());
  const std::uint8_t size = reader_.byte();
  if (size == kScoreNan) return score_of(std::numeric_limits<double>::quiet_NaN());
  if (size == kScoreInfinity) return score_of(kInfinity);
  if (size == kScoreMinusInfinity) return score_of(-kInfinity);
  const std::string_view text = reader_.raw(size);
  return reader_.failed() ? std::string_view() : score_in(text);
}

Member RdbValues::read_member() {
  Member member;
  if (type_ == rdb::Type::hash_metadata) member.deadline = deadline_after_least(reader_.length());
  member.name = reader_.string();
  if (value_type_ == ValueType::hash) member.value = reader_.string();
  if (value_type_ == ValueType::zset) member.value = read_score();
  if (has_absolute_deadlines(type_)) {
    const auto ms = reader_.fixed<std::int64_t>();
    if (ms < -1) damaged(fmt::format("a deadline of {}", ms));
    if (ms != -1) member.deadline = time_of(ms);
  }
  return member;
}

Status RdbValues::read_members() {
  while (left_ > 0 && batch_.size() < kBatchMembers && reader_.held() < kBatchBytes) {
    const Member member = read_member();
    if (reader_.failed()) {
      left_ = 0;
      batch_.clear();
      return Done{};
    }
    batch_.push_back(member);
    --left_;
  }
  Status status = hand_over();
  reader_.release();
  if (status && left_ == 0) return handler_.members_end();
  if (!status) left_ = 0;
  return status;
}

Status RdbValues::hand_over() {
  Status status = Done{};
  if (!batch_.empty()) status = handler_.members(batch_);
  batch_.clear();
  numbers_.clear();
  return status;
}

// ---- Members in one string ----

template <class Blob>
std::optional<Member> RdbValues::blob_member(Blob& blob) {
  const std::optional<std::string_view> name = blob.next();
  if (!name) return std::nullopt;
  Member member{.name = *name, .value = {}};
  if (value_type_ == ValueType::set) return member;
  const std::optional<std::string_view> value = blob.next();
  bool is_whole = value.has_value();
  if (is_whole) member.value = value_type_ == ValueType::zset ? score_in(*value) : *value;
  if (type_ == rdb::Type::hash_listpackex && is_whole) {
    const std::optional<std::string_view> deadline = blob.next();
    const std::optional<std::int64_t> ms = parse_integer(deadline.value_or("none"));
    is_whole = ms.has_value();
    if (is_whole && *ms < 0) damaged(fmt::format("a deadline of {}", *ms));
    if (is_whole && *ms > 0) member.deadline = time_of(*ms);
  }
  if (!is_whole && blob.wrong().empty()) {
    damaged(value_type_ == ValueType::zset ? "a member without its score"
                                           : "a field without its value or its deadline");
  }
  return member;
}

template <class Blob>
Status RdbValues::read_blob(const RdbKey& key) {
  const std::string_view bytes = reader_.string();
  if (reader_.failed()) return Done{};
  Blob blob(bytes, numbers_);
  if (!blob.wrong().empty()) {
    damaged(blob.wrong());
    return Done{};
  }
  const std::size_t texts = value_type_ == ValueType::set         ? 1
                            : type_ == rdb::Type::hash_listpackex ? 3
                                                                  : 2;
  if (Status status = handler_.members_begin(key, blob.claimed().value_or(0) / texts); !status) {
    return status;
  }
  std::size_t members = 0;
  for (;;) {
    const std::optional<Member> member = blob_member(blob);
    if (!blob.wrong().empty()) damaged(blob.wrong());
    if (reader_.failed()) break;
    if (member) batch_.push_back(*member);
    if (!member || batch_.size() == kBatchMembers) {
      members += batch_.size();
      if (Status status = hand_over(); !status) return status;
    }
    if (!member) break;
  }
  batch_.clear();
  numbers_.clear();
  if (!reader_.failed()) damaged_if_empty(members);
  return reader_.failed() ? Status(Done{}) : handler_.members_end();
}

}  // namespace mayfly
