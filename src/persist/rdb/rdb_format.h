// SPDX-License-Identifier: Apache-2.0
// Numbers of the RDB format, as Redis and Valkey write it. docs/formats.md has the whole picture.
//
// Version 10 is what Redis 7.0 and everything since reads; 80 is Valkey's, for members with
// deadlines. Types of 200 and above are our own, and only in files of version 80.

#pragma once

#include <cstdint>
#include <string_view>

namespace mayfly::rdb {

inline constexpr int kRedis5Version = 9;      // only of payloads with streams
inline constexpr int kPlainVersion = 10;      // "REDIS0010"
inline constexpr int kDeadlinesVersion = 80;  // "VALKEY080"

// Versions 12 to 79 are Redis's: there type 22 means something else.
inline constexpr int kFirstForeign = 12;
inline constexpr int kLastForeign = 79;

enum class Opcode : std::uint8_t {
  slot_info = 244,
  function2 = 245,
  function_pre_ga = 246,
  module_aux = 247,
  idle = 248,
  freq = 249,
  aux = 250,
  resize_db = 251,
  expire_ms = 252,
  expire_seconds = 253,
  select_db = 254,
  eof = 255,
};

enum class Type : std::uint8_t {
  string = 0,
  list = 1,
  set = 2,
  zset = 3,
  hash = 4,
  zset2 = 5,
  module_pre_ga = 6,
  module2 = 7,
  hash_zipmap = 9,
  list_ziplist = 10,
  set_intset = 11,
  zset_ziplist = 12,
  hash_ziplist = 13,
  list_quicklist = 14,
  stream = 15,
  hash_listpack = 16,
  zset_listpack = 17,
  list_quicklist2 = 18,
  stream2 = 19,
  set_listpack = 20,
  stream3 = 21,
  hash2 = 22,              // Valkey's: a deadline of 8 bytes after each value
  hash_metadata_pre = 22,  // Redis 7.4 release candidates, in versions 12 to 79
  hash_listpackex_pre = 23,
  hash_metadata = 24,    // Redis 7.4: least deadline, then deadlines relative to it
  hash_listpackex = 25,  // Redis 7.4: triples in a listpack
  set_deadlines = 200,   // ours: a deadline of 8 bytes after each member
  zset_deadlines = 201,  // ours: a score and a deadline of 8 bytes each after each member
};

// An auxiliary field of ours, before the opcodes of a key: for how many milliseconds before its
// deadline the key is stale. Other servers skip it.
inline constexpr std::string_view kStaleField = "mayfly-stale-ms";

// The first two bits of a length, and what the other six say when they are 11.
inline constexpr unsigned kLength6 = 0;
inline constexpr unsigned kLength14 = 1;
inline constexpr unsigned kLengthLong = 2;  // the byte 0x80: 32 bits, 0x81: 64 bits, big end first
inline constexpr unsigned kSpecial = 3;
inline constexpr unsigned kInt8 = 0;
inline constexpr unsigned kInt16 = 1;
inline constexpr unsigned kInt32 = 2;
inline constexpr unsigned kLzf = 3;

// What a node of a list is, in type 18: one text, or a listpack of some.
inline constexpr std::uint64_t kPlainNode = 1;
inline constexpr std::uint64_t kPackedNode = 2;

}  // namespace mayfly::rdb
