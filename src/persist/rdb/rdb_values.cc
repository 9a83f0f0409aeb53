// SPDX-License-Identifier: Apache-2.0
// Reading strings and hashes, with the deadlines of fields, from their RDB encodings.

#include <fmt/format.h>

#include <limits>

#include "persist/encodings/listpack.h"
#include "persist/rdb/rdb_parser.h"
#include "persist/rdb/rdb_values.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// What is handed over at once. More fields than a packed hash has, so that such a one comes whole.
constexpr std::size_t kBatchFields = 4096;
constexpr std::size_t kBatchBytes = 1 << 20;  // 1 MiB

constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

// A field and its value have at least a byte each for their sizes.
constexpr std::uint64_t kFieldBytes = 2;

Time time_of(std::int64_t ms) { return Time(Millis(ms)); }

}  // namespace

Status RdbValues::begin(const RdbKey& key, int version) {
  using enum rdb::Type;
  const bool is_valkeys = version >= rdb::kFieldsVersion;
  switch (key.type) {
    case string: {
      const std::string_view value = reader_.string();
      if (reader_.failed()) return Done{};
      return handler_.string(key, value);
    }
    case hash:
      return begin_hash(key);
    case hash_zipmap:
      return read_blob<Zipmap>(key, 2);
    case hash_ziplist:
      return read_blob<Ziplist>(key, 2);
    case hash_listpack:
      return read_blob<Listpack>(key, 2);
    case hash2:  // the same number as hash_metadata_pre
      if (is_valkeys) return begin_hash(key);
      [[fallthrough]];
    case hash_listpackex_pre:
      return Error{Code::unsupported,
                   "the format of hashes of a release candidate of Redis 7.4 is not supported"};
    case hash_metadata:
    case hash_listpackex:
      if (is_valkeys) break;
      least_deadline_ = reader_.fixed<std::int64_t>();
      if (least_deadline_ < 0) damaged("a negative deadline");
      return key.type == hash_metadata ? begin_hash(key) : read_blob<Listpack>(key, 3);
    default:
      return skip(key);
  }
  return Error{Code::unsupported, fmt::format("the type {} is unknown in files of version {}",
                                              static_cast<unsigned>(key.type), version)};
}

void RdbValues::damaged(std::string_view what) { reader_.fail(Code::corrupt, what); }

Status RdbValues::begin_hash(const RdbKey& key) {
  type_ = key.type;
  const std::uint64_t fields = reader_.count(kFieldBytes);
  if (fields == 0 && type_ != rdb::Type::hash) damaged("a hash without fields");
  if (reader_.failed()) return Done{};
  if (Status status = handler_.hash_begin(key, fields); !status) return status;
  fields_left_ = fields;
  return fields == 0 ? end_hash() : go_on();
}

Time RdbValues::deadline_after_least(std::uint64_t distance) {
  if (distance == 0) return kNever;
  if (distance - 1 > static_cast<std::uint64_t>(kLatest - least_deadline_)) {
    damaged("a deadline beyond the end of time");
    return kNever;
  }
  return time_of(least_deadline_ + static_cast<std::int64_t>(distance - 1));
}

Member RdbValues::read_field() {
  Member field;
  if (type_ == rdb::Type::hash_metadata) field.deadline = deadline_after_least(reader_.length());
  field.name = reader_.string();
  field.value = reader_.string();
  if (type_ == rdb::Type::hash2) {
    const auto ms = reader_.fixed<std::int64_t>();
    if (ms < -1) damaged(fmt::format("a deadline of {}", ms));
    if (ms != -1) field.deadline = time_of(ms);
  }
  return field;
}

Status RdbValues::go_on() {
  while (fields_left_ > 0 && batch_.size() < kBatchFields && reader_.held() < kBatchBytes) {
    const Member field = read_field();
    if (reader_.failed()) {
      fields_left_ = 0;
      batch_.clear();
      return Done{};
    }
    batch_.push_back(field);
    --fields_left_;
  }
  Status status = hand_over();
  reader_.release();
  if (status && fields_left_ == 0) return end_hash();
  if (!status) fields_left_ = 0;
  return status;
}

Status RdbValues::hand_over() {
  Status status = Done{};
  if (!batch_.empty()) status = handler_.hash_fields(batch_);
  batch_.clear();
  return status;
}

Status RdbValues::end_hash() { return handler_.hash_end(); }

template <class Blob>
std::optional<Member> RdbValues::blob_field(Blob& blob, std::size_t texts) {
  const std::optional<std::string_view> name = blob.next();
  if (!name) return std::nullopt;
  Member field{.name = *name, .value = {}};
  const std::optional<std::string_view> value = blob.next();
  if (value) field.value = *value;
  bool is_whole = value.has_value();
  if (texts == 3 && is_whole) {
    const std::optional<std::string_view> deadline = blob.next();
    const std::optional<std::int64_t> ms = parse_integer(deadline.value_or("none"));
    is_whole = ms.has_value();
    if (is_whole && *ms < 0) damaged(fmt::format("a deadline of {}", *ms));
    if (is_whole && *ms > 0) field.deadline = time_of(*ms);
  }
  if (!is_whole && blob.wrong().empty()) damaged("a field without its value or its deadline");
  return field;
}

template <class Blob>
Status RdbValues::read_blob(const RdbKey& key, std::size_t texts_a_field) {
  const std::string_view bytes = reader_.string();
  if (reader_.failed()) return Done{};
  Blob blob(bytes, numbers_);
  if (!blob.wrong().empty()) {
    damaged(blob.wrong());
    return Done{};
  }
  if (Status status = handler_.hash_begin(key, blob.claimed().value_or(0) / texts_a_field);
      !status) {
    return status;
  }
  std::size_t fields = 0;
  for (;;) {
    const std::optional<Member> field = blob_field(blob, texts_a_field);
    if (!blob.wrong().empty()) damaged(blob.wrong());
    if (reader_.failed()) break;
    if (field) batch_.push_back(*field);
    if (!field || batch_.size() == kBatchFields) {
      fields += batch_.size();
      if (Status status = hand_over(); !status) return status;
      numbers_.clear();
    }
    if (!field) break;
  }
  batch_.clear();
  numbers_.clear();
  if (fields == 0 && texts_a_field == 3) damaged("a hash without fields");
  return reader_.failed() ? Status(Done{}) : end_hash();
}

}  // namespace mayfly
