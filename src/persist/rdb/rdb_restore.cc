// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_restore.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "keyspace/members/members_load.h"
#include "persist/crc64.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_parser.h"
#include "persist/rdb/rdb_reader.h"
#include "persist/values/rdb_values.h"

namespace mayfly {
namespace {

constexpr std::size_t kVersionSize = 2;

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

Error bad_format() { return {Code::corrupt, "Bad data format"}; }

// Stores the one value of a payload.
class OneValue final : public RdbHandler {
 public:
  OneValue(const ExecContext& context, Database& database, std::string_view key)
      : context_(context), database_(database), key_(key) {}

  Slot slot() const { return slot_; }

  Status string(const RdbKey&, std::string_view value) override {
    slot_ = database_.put_string(context_, key_, value);
    return Done{};
  }
  Status members_begin(const RdbKey& key, std::uint64_t) override {
    load_.begin(context_, database_, key.value_type(), key_);
    return Done{};
  }
  Status members(std::span<const Member> members) override {
    is_sound_ = is_sound_ && load_.add(members);
    return Done{};
  }
  Status members_end() override {
    slot_ = load_.end();
    return Done{};
  }
  Status list_begin(const RdbKey&) override { return Done{}; }
  Status list_elements(std::span<const std::string_view> elements) override {
    if (slot_ == kNoSlot) slot_ = database_.make_list(context_, key_);
    ListRef list = database_.list(slot_);
    for (const std::string_view element : elements) list.push(ListEnd::tail, element);
    return Done{};
  }
  Status list_end() override {
    if (slot_ != kNoSlot) database_.list(slot_).finish();
    return Done{};
  }
  Status stream(const RdbKey&, std::unique_ptr<Stream> stream) override {
    slot_ = database_.put_stream(context_, key_, std::move(stream));
    return Done{};
  }

  // Whether the value is valid; if not, removes what was stored.
  bool finish(bool is_whole) {
    if (slot_ == kNoSlot) slot_ = load_.end();  // the payload ended within a value
    const bool is_right = is_whole && is_sound_ && slot_ != kNoSlot;
    if (!is_right && slot_ != kNoSlot) database_.erase(slot_);
    return is_right;
  }

 private:
  const ExecContext& context_;
  Database& database_;
  const std::string_view key_;
  MembersLoad load_;
  Slot slot_ = kNoSlot;
  bool is_sound_ = true;
};

}  // namespace

void append_payload_footer(std::string& payload, unsigned version) {
  const auto append = [&](std::uint64_t number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) payload += static_cast<char>(number >> i * 8);
  };
  append(version, kVersionSize);
  append(crc64(0, payload), sizeof(std::uint64_t));
}

Status check_payload(std::string_view payload, const RdbChecks& checks) {
  const Error wrong{Code::corrupt, "DUMP payload version or checksum are wrong"};
  if (payload.size() < kPayloadFooterSize) return wrong;
  const std::string_view summed = payload.substr(0, payload.size() - sizeof(std::uint64_t));
  const auto version = number_at<std::uint16_t>(payload, summed.size() - kVersionSize);
  if (!is_readable_version(version, checks)) return wrong;
  if (checks.checksum && number_at<std::uint64_t>(payload, summed.size()) != crc64(0, summed))
    return wrong;
  return Done{};
}

Result<Slot> restore_value(const ExecContext& context, Database& database, std::string_view key,
                           std::string_view payload, const RdbChecks& checks) {
  if (const Status status = check_payload(payload, checks); !status) return status.error();
  const std::string_view body = payload.substr(0, payload.size() - kPayloadFooterSize);
  const int version = number_at<std::uint16_t>(payload, body.size());

  StringSource source(body);
  RdbReader reader(source);
  OneValue handler(context, database, key);
  RdbValues values(reader, handler);
  const RdbKey entry{.name = key, .type = static_cast<rdb::Type>(reader.byte())};
  Status status = values.begin(entry, version);
  while (status && values.has_more()) status = values.go_on();
  const bool is_whole = status && !reader.failed() && reader.offset() == body.size();
  if (handler.finish(is_whole)) return handler.slot();
  return status || reader.failed() ? bad_format() : status.error();
}

}  // namespace mayfly
