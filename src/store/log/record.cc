// SPDX-License-Identifier: Apache-2.0
#include "store/log/record.h"

#include <xxhash.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "store/log/test_hooks.h"

namespace mayfly::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they are");

struct RecordHeader {
  std::uint32_t length = 0;
  RecordType type{};
  std::uint8_t flags[3] = {};
  Position position = 0;
  std::int64_t moment = 0;
  std::uint64_t chain = 0;
  std::uint32_t operations = 0;
  std::uint32_t spare = 0;
};
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes);

struct OperationHeader {
  std::uint32_t family = 0;
  std::uint32_t kind_and_key = 0;  // 8 and 24 bits
  std::uint32_t value_bytes = 0;
  std::uint32_t flags = 0;
};
static_assert(sizeof(OperationHeader) == kOperationBytes);

constexpr std::uint32_t kWasThere = 1;
constexpr std::uint32_t kHadDeadline = 2;
constexpr std::uint32_t kHasDeadline = 4;
constexpr std::size_t kOperationDeadlineBytes = 8;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

bool writes_deadline(const Operation& operation) {
  return operation.kind != OperationKind::erase && operation.deadline != kNever;
}

std::string_view written_value(const Operation& operation) {
  return operation.kind == OperationKind::put ? operation.value : std::string_view();
}

template <class T>
std::string_view raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint64_t chain_of(const RecordHeader& header, std::string_view body, std::uint64_t before) {
  if (!rule_on(Rule::chain)) before = 0;
  constexpr std::size_t kFront = offsetof(RecordHeader, chain);
  constexpr std::size_t kBack = kFront + sizeof header.chain;
  std::array<char, kRecordHeaderBytes - sizeof header.chain> rest;
  std::memcpy(rest.data(), &header, kFront);
  std::memcpy(rest.data() + kFront, reinterpret_cast<const char*>(&header) + kBack,
              kRecordHeaderBytes - kBack);
  const std::uint64_t seed = XXH3_64bits_withSeed(rest.data(), rest.size(), before);
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

// The header is copied once: another process may overwrite what it was read from.
bool read_parts(std::string_view bytes, Position position, RecordHeader& header,
                std::string_view& body) {
  if (bytes.size() < kRecordHeaderBytes) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.position != position || header.length < kRecordHeaderBytes) return false;
  if (padded(header.length) > bytes.size()) return false;
  if (header.type < RecordType::transaction || header.type > RecordType::barrier) return false;
  body = bytes.substr(kRecordHeaderBytes, header.length - kRecordHeaderBytes);
  return header.type != RecordType::cut || body.size() == sizeof(Position);
}

RecordView to_view_of(const RecordHeader& header, std::string_view body) {
  return {.type = header.type,
          .position = header.position,
          .moment = Time(Millis(header.moment)),
          .chain = header.chain,
          .operations = header.operations,
          .bytes = padded(header.length),
          .body = body};
}

}  // namespace

std::size_t operation_bytes(const Operation& operation) {
  return kOperationBytes + (writes_deadline(operation) ? kOperationDeadlineBytes : 0) +
         operation.key.size() + written_value(operation).size();
}

bool take_operation(std::string_view& bytes, Operation& operation) {
  OperationHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto kind = static_cast<OperationKind>(header.kind_and_key & 0xff);
  const std::size_t key_bytes = header.kind_and_key >> 8;
  const bool has_deadline = (header.flags & kHasDeadline) != 0;
  if (kind < OperationKind::put || kind > OperationKind::deadline) return false;
  if (kind != OperationKind::put && header.value_bytes != 0) return false;
  if (kind == OperationKind::erase && has_deadline) return false;
  if (header.flags > (kWasThere | kHadDeadline | kHasDeadline)) return false;
  const std::size_t key_at = sizeof header + (has_deadline ? kOperationDeadlineBytes : 0);
  if (bytes.size() < key_at + key_bytes + header.value_bytes) return false;
  operation.deadline = kNever;
  if (has_deadline) {
    std::int64_t deadline = 0;
    std::memcpy(&deadline, bytes.data() + sizeof header, sizeof deadline);
    operation.deadline = Time(Millis(deadline));
  }
  operation.family = header.family;
  operation.kind = kind;
  operation.was_there = (header.flags & kWasThere) != 0;
  operation.had_deadline = (header.flags & kHadDeadline) != 0;
  operation.key = {bytes.data() + key_at, key_bytes};
  operation.value = {bytes.data() + key_at + key_bytes, header.value_bytes};
  bytes.remove_prefix(key_at + key_bytes + header.value_bytes);
  return true;
}

std::optional<RecordView> read_record(std::string_view bytes, Position position,
                                      std::uint64_t chain_before) {
  RecordHeader header;
  std::string_view body;
  if (!read_parts(bytes, position, header, body)) return std::nullopt;
  if (header.chain != chain_of(header, body, chain_before)) return std::nullopt;
  return to_view_of(header, body);
}

std::optional<RecordView> read_unchained(std::string_view bytes, Position position) {
  RecordHeader header;
  std::string_view body;
  if (!read_parts(bytes, position, header, body)) return std::nullopt;
  return to_view_of(header, body);
}

Position cut_range(const RecordView& cut) {
  Position position = 0;
  std::memcpy(&position, cut.body.data(), sizeof position);
  return position;
}

void RecordWriter::begin(RecordType type, Time moment) {
  type_ = type;
  moment_ = moment;
  operations_ = 0;
  bytes_.assign(kRecordHeaderBytes, '\0');
}

void RecordWriter::add(const Operation& operation) {
  assert(operation.key.size() < 1 << 24);
  const bool has_deadline = writes_deadline(operation);
  const std::string_view value = written_value(operation);
  OperationHeader header;
  header.family = operation.family;
  header.kind_and_key = static_cast<std::uint32_t>(operation.kind) |
                        static_cast<std::uint32_t>(operation.key.size()) << 8;
  header.value_bytes = static_cast<std::uint32_t>(value.size());
  header.flags = (operation.was_there ? kWasThere : 0) |
                 (operation.had_deadline ? kHadDeadline : 0) | (has_deadline ? kHasDeadline : 0);
  bytes_.append(raw_bytes(header));
  if (has_deadline) {
    const std::int64_t deadline = operation.deadline.time_since_epoch().count();
    bytes_.append(raw_bytes(deadline));
  }
  bytes_.append(operation.key).append(value);
  ++operations_;
}

void RecordWriter::add_bytes(std::string_view body) { bytes_.append(body); }

void RecordWriter::add_position(Position position) { bytes_.append(raw_bytes(position)); }

std::size_t RecordWriter::bytes() const { return padded(bytes_.size()); }

std::string_view RecordWriter::finish(Position position, std::uint64_t chain_before) {
  RecordHeader header;
  header.length = static_cast<std::uint32_t>(bytes_.size());
  header.type = type_;
  header.position = position;
  header.moment = moment_.time_since_epoch().count();
  header.operations = operations_;
  header.chain =
      chain_of(header, std::string_view(bytes_).substr(kRecordHeaderBytes), chain_before);
  std::memcpy(bytes_.data(), &header, sizeof header);
  chain_ = header.chain;
  bytes_.resize(bytes());
  return bytes_;
}

}  // namespace mayfly::internal
