// SPDX-License-Identifier: Apache-2.0
// LogEntryEncoder: an entry of the expiry log in the bytes in which a stream keeps it.
//
//   const EncodedStreamEntry encoded = encoder.encode(database.number(), expiring, false);
//   stream.append(id, encoded, limits);
//
// Mass expiry writes an entry for each key, so nothing is formatted that was formatted before: the
// names of fields, types and causes are encoded once, the number of the database and the time of
// removal once a batch.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"
#include "keyspace/stream/stream_block.h"

namespace mayfly {

class LogEntryEncoder {
 public:
  LogEntryEncoder();

  // Valid until the next call. A value that is too long (kLoggedValueMost) is left out.
  EncodedStreamEntry encode(int database, const ExpiringEntry& entry, bool with_value);

  // Gives back a large buffer.
  void shrink();

 private:
  // By whether there is a member, and a value.
  struct Fields {
    std::string names;
    std::size_t count = 0;
    std::size_t text_bytes = 0;
  };
  // A few encoded values. It is copied as a whole, which is faster than a copy of its size.
  struct Piece {
    std::array<char, 32> bytes{};
    std::size_t size = 0;
    std::size_t text_bytes = 0;

    void append(std::string_view text);
    void append(std::int64_t number);
    char* write(char* to) const {
      std::memcpy(to, bytes.data(), bytes.size());
      return to + size;
    }
  };

  std::array<std::array<Fields, 2>, 2> fields_;
  std::array<Piece, 6> types_;  // by ValueType

  // What it wrote last.
  int database_ = -1;
  Piece number_;
  Time at_ = kNever;
  std::array<Piece, 3> ends_;  // time of removal and cause, by FoundBy

  std::vector<char> values_;
};

// The same entry as words: field, value, field, value ...
void add_words(const EncodedStreamEntry& entry, std::vector<std::string>& words);

}  // namespace mayfly
