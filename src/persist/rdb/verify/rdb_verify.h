// SPDX-License-Identifier: Apache-2.0
// Whether an RDB file can be trusted, before it replaces data.
//
//   RdbSum sum;                                  // while the bytes arrive, at no further cost
//   if (Status known = sum.add(bytes); !known) return known;      // not an RDB file
//   const Result<bool> whole = sum.end();        // false: it has no checksum
//
//   RdbVerifier verifier(source, 16);            // reads all of a file, and stores nothing
//   for (Result<bool> ended = false; ended && !*ended;) ended = verifier.step(1000);

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "persist/disk/byte_sink.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {

// Header, end and checksum of a file, which is read in pieces.
class RdbSum {
 public:
  explicit RdbSum(const RdbChecks& checks = {}) : checks_(checks) {}

  // An error as soon as the header is wrong.
  Status add(std::string_view bytes);

  // True: the file is whole and its checksum right. False: it has none, or none is to be checked.
  Result<bool> end() const;

 private:
  static constexpr std::size_t kChecksumSize = 8;
  static constexpr std::size_t kEndSize = 1 + kChecksumSize;  // the opcode, and the checksum

  RdbChecks checks_;
  int version_ = 0;  // 0: the header is not complete
  std::string header_;
  std::string tail_;  // the last bytes, not summed
  std::uint64_t crc_ = 0;
};

// The structure of a file, its checksum, and that its databases exist.
class RdbVerifier {
 public:
  // The source must outlive it.
  RdbVerifier(ByteSource& source, int databases, const RdbChecks& checks = {})
      : handler_(databases), parser_(source, handler_, checks) {}

  // About this number of keys; true at the end of the file. After an error or true it must not be
  // called.
  Result<bool> step(std::size_t keys);

  std::uint64_t offset() const { return parser_.offset(); }

 private:
  class Handler final : public RdbHandler {
   public:
    explicit Handler(int databases) : databases_(databases) {}

    Status string(const RdbKey& key, std::string_view) override { return check(key); }
    Status members_begin(const RdbKey& key, std::uint64_t) override { return check(key); }
    Status members(std::span<const Member>) override { return Done{}; }
    Status members_end() override { return Done{}; }
    Status list_begin(const RdbKey& key) override { return check(key); }
    Status list_elements(std::span<const std::string_view>) override { return Done{}; }
    Status list_end() override { return Done{}; }
    Status stream(const RdbKey& key, std::unique_ptr<Stream>) override { return check(key); }

   private:
    Status check(const RdbKey& key) const { return check_database(key, databases_); }

    const int databases_;
  };

  Handler handler_;
  RdbParser parser_;
};

}  // namespace mayfly
