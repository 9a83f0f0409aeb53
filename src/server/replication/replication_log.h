// SPDX-License-Identifier: Apache-2.0
// ReplicationLog: the stream of commands that replicas follow, by the number of each byte.
//
//   begin()                  a replica's cursor                 end()
//     | kept for those who come back |   not sent to all yet    |
//
// All replicas share the one copy: each has a cursor, and what none of them needs any more is
// dropped, but for the last `repl-backlog-size` bytes. So memory is that of the backlog plus what
// the slowest replica has not taken yet, which its output limit bounds.
//
//   append, read   O(bytes), in blocks of 64 KiB that are never moved
//   trim           O(blocks dropped)

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace mayfly {

class ReplicationLog {
 public:
  static constexpr std::size_t kBlockBytes = 64 * 1024;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }  // the number of the next byte
  bool contains(std::uint64_t from) const { return from >= begin_ && from <= end_; }

  void append(std::string_view bytes);

  // Bytes from there on, as many as lie together; empty at the end. Good until the next change.
  // REQUIRES: contains(from).
  std::string_view read(std::uint64_t from) const;

  // Keeps the last `kept` bytes, and those from `needed` on. Whole blocks go.
  void trim(std::uint64_t kept, std::uint64_t needed);

  // Forgets all; the next byte has this number.
  void restart(std::uint64_t next);

  std::size_t memory() const { return blocks_.size() * kBlockBytes; }
  std::string check_invariants() const;

 private:
  std::deque<std::string> blocks_;  // all but the last are full
  std::uint64_t begin_ = 0;         // of the first block
  std::uint64_t end_ = 0;
};

}  // namespace mayfly
