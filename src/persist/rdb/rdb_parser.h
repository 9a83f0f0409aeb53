// SPDX-License-Identifier: Apache-2.0
// RdbParser: parses an RDB file key by key and passes its content to a handler.
//
//   RdbParser parser(source, handler);
//   for (;;) {
//     Result<bool> ended = parser.step();
//     if (!ended) return ended.error();             // damaged; says where, and in which key
//     if (*ended) break;
//   }
//
// It reads the files of Redis 6 to 8 and Valkey 8 and 9. Damaged files neither crash it nor make it
// use much memory: a length is trusted only if as many bytes are there.
//
// Bytes after the end of the file are not looked at, but some may have been taken from the source:
// offset() says where they begin.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keyspace/members/member.h"
#include "keyspace/stream/stream.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_reader.h"
#include "persist/values/rdb_values.h"

namespace mayfly {

// A key as the file has it. The name is good until the handler was told of the whole key.
struct RdbKey {
  int database = 0;
  std::string_view name = {};
  Time deadline = kNever;
  Millis stale = Millis(0);  // for so long before its deadline it is stale
  std::optional<std::uint64_t> idle_seconds = {};
  std::optional<unsigned> frequency = {};
  rdb::Type type = rdb::Type::string;
  std::uint64_t offset = 0;  // of the byte that tells its type

  // REQUIRES: it is no module.
  ValueType value_type() const { return *value_type_of(type); }
};

// An error if there are fewer databases.
Status check_database(const RdbKey& key, int databases);

// Receives what is in a file. A key is string(); for hashes, sets and sorted sets members_begin(),
// members() some times and members_end(); for lists the same with list_; or stream(). An error that
// it returns about a key ends the parsing and is passed on, with the name and the offset of the key
// after its message. Views are good during the call.
class RdbHandler {
 public:
  virtual ~RdbHandler();

  virtual void aux(std::string_view name, std::string_view value);

  // A database begins; the numbers are a hint. Not told for a database that announces no numbers.
  virtual void database(int number, std::uint64_t keys, std::uint64_t deadlines);

  // The code of a library of functions.
  virtual Status function(std::string_view code);

  virtual Status string(const RdbKey& key, std::string_view value) = 0;

  // `count` is what the file claims; it is not to be trusted for an allocation.
  virtual Status members_begin(const RdbKey& key, std::uint64_t count) = 0;
  virtual Status members(std::span<const Member> members) = 0;  // at least one
  virtual Status members_end() = 0;

  virtual Status list_begin(const RdbKey& key) = 0;
  virtual Status list_elements(std::span<const std::string_view> elements) = 0;  // at least one
  virtual Status list_end() = 0;

  // Large ones are read in several steps, and then passed on as a whole.
  virtual Status stream(const RdbKey& key, std::unique_ptr<Stream> stream) = 0;
};

// What is checked of a file, or of a payload of DUMP, beside its structure.
struct RdbChecks {
  bool allows_newer = false;  // versions that we do not know are tried: rdb-version-check relaxed
  bool checksum = true;       // DEBUG SET-SKIP-CHECKSUM-VALIDATION turns it off
};

class RdbParser {
 public:
  // Both must outlive it.
  RdbParser(ByteSource& source, RdbHandler& handler, const RdbChecks& checks = {});
  RdbParser(const RdbParser&) = delete;
  RdbParser& operator=(const RdbParser&) = delete;

  // One key, a part of a large one, or one opcode; true when the file has ended well, its checksum
  // right. After an error or the end it must not be called again.
  Result<bool> step();

  std::uint64_t offset() const { return reader_.offset(); }
  int version() const { return version_; }  // 0 before the first step

 private:
  Status read_header();
  Result<bool> read_end();
  Status read_key(rdb::Type type);
  Status read_opcode(std::uint8_t code, std::uint64_t begin);
  Status read_stale(std::string_view value);
  Status select(std::uint64_t number);
  Status refuse(std::string_view what, std::uint64_t begin) const;
  Result<bool> end_part(const Status& status);
  Result<bool> after(const Status& status) const;
  std::string describe_key() const;

  RdbReader reader_;
  RdbHandler& handler_;
  const RdbChecks checks_;
  RdbValues values_;
  int version_ = 0;
  std::string name_;  // of the key under way
  RdbKey key_;        // that key, or what opcodes said about the next one
  bool is_in_key_ = false;
};

// Whether files and payloads of this version can be read: 1 to 12 of Redis, 80 of Valkey, and any
// between and above if newer ones are allowed.
bool is_readable_version(int version, const RdbChecks& checks = {});

// The version in the first kRdbMagicSize bytes of a file; an error if it is not an RDB file, or
// its version cannot be read.
inline constexpr std::size_t kRdbMagicSize = 9;
inline constexpr int kFirstWithChecksum = 5;  // of the versions
Result<int> rdb_version(std::string_view magic, const RdbChecks& checks);

// For messages: bytes that are not printable as \x and two digits, and at most so many of all.
std::string printable(std::string_view text, std::size_t most = 64);

}  // namespace mayfly
