// SPDX-License-Identifier: Apache-2.0
// For tests: RDB files written byte by byte, sources that give a few bytes at a time, and a handler
// that writes down what it hears.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/value.h"
#include "persist/crc64.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_parser.h"
#include "resp/numbers.h"

namespace mayfly {

class TestFile {
 public:
  explicit TestFile(std::string_view magic = "REDIS0010") : bytes_(magic) {}

  TestFile& byte(unsigned value) {
    bytes_ += static_cast<char>(value);
    return *this;
  }
  TestFile& op(rdb::Opcode code) { return byte(static_cast<unsigned>(code)); }
  TestFile& type(rdb::Type type) { return byte(static_cast<unsigned>(type)); }
  TestFile& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  TestFile& length(std::uint64_t length) {
    if (length < 64) return byte(static_cast<unsigned>(length));
    byte(0x81);
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<unsigned>(length >> shift));
    return *this;
  }
  TestFile& text(std::string_view text) { return length(text.size()).raw(text); }
  TestFile& number(std::int64_t value) {
    return raw({reinterpret_cast<const char*>(&value), sizeof value});
  }
  TestFile& string_key(std::string_view key, std::string_view value) {
    return type(rdb::Type::string).text(key).text(value);
  }

  // Ids of streams: as two lengths, and as bytes that sort.
  TestFile& id(StreamId id) { return length(id.ms).length(id.seq); }
  TestFile& id_key(StreamId id) {
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<unsigned>(id.ms >> shift));
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<unsigned>(id.seq >> shift));
    return *this;
  }
  // The number of a stream's blocks, and the blocks.
  TestFile& blocks(const Stream& stream) {
    length(stream.blocks());
    stream.each_block([this](StreamId first, std::string_view listpack) {
      length(16).id_key(first).text(listpack);
    });
    return *this;
  }

  std::string_view so_far() const { return bytes_; }

  // With its end and its checksum.
  std::string end() const {
    std::string file = bytes_;
    file += static_cast<char>(rdb::Opcode::eof);
    const std::uint64_t crc = crc64(0, file);
    file.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    return file;
  }

  // The bytes as a DUMP payload of this version. REQUIRES: made with an empty magic.
  std::string payload(std::uint16_t version = 10) const {
    std::string bytes = bytes_;
    bytes.append(reinterpret_cast<const char*>(&version), sizeof version);
    const std::uint64_t crc = crc64(0, bytes);
    bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    return bytes;
  }

 private:
  std::string bytes_;
};

// Gives at most `piece` bytes at a time and does not tell its size.
class PieceSource final : public ByteSource {
 public:
  PieceSource(std::string_view bytes, std::size_t piece) : rest_(bytes), piece_(piece) {}

  Result<std::size_t> read(std::span<char> room) override {
    const std::size_t count = std::min({room.size(), piece_, rest_.size()});
    std::copy_n(rest_.data(), count, room.data());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
  const std::size_t piece_;
};

// All that a stream holds, line by line.
inline std::vector<std::string> stream_lines(const Stream& stream) {
  std::vector<std::string> lines;
  const auto ms = [](Time moment) { return std::to_string(moment.time_since_epoch().count()); };
  stream.each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
    std::string line = entry.id.text();
    for (const std::string_view word : entry.words) line.append(" ").append(word);
    lines.push_back(line);
    return true;
  });
  lines.push_back("last " + stream.last_id().text() + " deleted " + stream.max_deleted_id().text() +
                  " added " + std::to_string(stream.entries_added()));
  for (const auto& [name, group] : stream.groups()) {
    const auto& read = group->entries_read;
    lines.push_back("group " + name + " last " + group->last_id.text() + " read " +
                    (read ? std::to_string(*read) : "?"));
    for (const auto& [consumer_name, consumer] : group->consumers()) {
      lines.push_back("consumer " + consumer->name + " seen " + ms(consumer->seen) + " active " +
                      (consumer->active ? ms(*consumer->active) : "never"));
    }
    for (const auto& [id, pending] : group->pending()) {
      lines.push_back("pending " + id.text() + " for " + pending.consumer->name + " since " +
                      ms(pending.delivered) + " times " + std::to_string(pending.deliveries));
    }
  }
  return lines;
}

// Each thing it hears as a line.
class RdbNotes final : public RdbHandler {
 public:
  void aux(std::string_view name, std::string_view value) override {
    note("aux ", name, " ", value);
  }
  void database(int number, std::uint64_t keys, std::uint64_t deadlines) override {
    note("database ", std::to_string(number), " ",
         std::to_string(keys) + " " + std::to_string(deadlines));
  }
  Status function(std::string_view code) override { return note("function ", code); }
  Status string(const RdbKey& key, std::string_view value) override {
    return note("string ", about(key), " ", value);
  }
  Status members_begin(const RdbKey& key, std::uint64_t count) override {
    type_ = key.value_type();
    return note(std::string(type_name(type_)) + " ", about(key), " ", std::to_string(count));
  }
  Status members(std::span<const Member> members) override {
    for (const Member& member : members) {
      const std::string value =
          type_ == ValueType::zset ? format_double(member.score()) : std::string(member.value);
      note(member.name, type_ == ValueType::set ? "" : "=", value, moment(member.deadline));
    }
    return Done{};
  }
  Status members_end() override { return note("end"); }
  Status list_begin(const RdbKey& key) override { return note("list ", about(key)); }
  Status list_elements(std::span<const std::string_view> elements) override {
    for (const std::string_view element : elements) note(element);
    return Done{};
  }
  Status list_end() override { return note("end"); }
  Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) override {
    note("stream ", about(key));
    for (std::string& line : stream_lines(*stream)) lines.push_back(std::move(line));
    return note("end");
  }

  // All of a file; an error is the last line.
  static std::vector<std::string> of(ByteSource& source, const RdbChecks& checks = {}) {
    RdbNotes notes;
    RdbParser parser(source, notes, checks);
    Result<bool> ended = false;
    while (ended && !*ended) ended = parser.step();
    if (!ended) notes.lines.push_back("error: " + ended.error().message);
    return notes.lines;
  }
  static std::vector<std::string> of(std::string_view bytes, const RdbChecks& checks = {}) {
    StringSource source(bytes);
    return of(source, checks);
  }

  std::vector<std::string> lines;

 private:
  static std::string moment(Time deadline) {
    return deadline == kNever ? "" : " @" + std::to_string(deadline.time_since_epoch().count());
  }
  static std::string about(const RdbKey& key) {
    std::string text = std::to_string(key.database) + ":" + std::string(key.name);
    if (key.idle_seconds) text += " idle " + std::to_string(*key.idle_seconds);
    if (key.frequency) text += " frequency " + std::to_string(*key.frequency);
    return text + moment(key.deadline);
  }
  Done note(std::string_view a, std::string_view b = "", std::string_view c = "",
            std::string_view d = "") {
    lines.push_back(std::string(a).append(b).append(c).append(d));
    return Done{};
  }

  ValueType type_ = ValueType::string;  // of the key under way
};

}  // namespace mayfly
