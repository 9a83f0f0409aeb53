// SPDX-License-Identifier: Apache-2.0
// Member: what hashes, sets and sorted sets consist of. A member has a name, a payload that depends
// on the type of its key, and maybe a deadline. And how both forms of storage write sizes.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

// What a member has besides its name. The numbers are part of the packed form.
enum class Payload : std::uint8_t {
  value = 0,  // any bytes: a field of a hash
  none = 1,   // nothing: a member of a set
  score = 2,  // a double in eight bytes: a member of a sorted set
};

// The views are valid until the key is changed.
struct Member {
  std::string_view name;
  std::string_view value = {};  // the payload in bytes
  Time deadline = kNever;

  // REQUIRES: the payload is a score.
  double score() const {
    double score = 0;
    std::memcpy(&score, value.data(), sizeof score);
    return score;
  }
};

// Is shown members that are about to be removed; may be empty.
using SeeMember = std::function<void(const Member&)>;

// The order of a sorted set: by score, and by name where scores are equal.
inline bool is_before(const Member& a, const Member& b) {
  return a.score() != b.score() ? a.score() < b.score() : a.name < b.name;
}

// A score as the bytes of a payload. -0 is stored as 0, so that copies of a sorted set in other
// forms and files are the same: a listpack has no -0.
class ScoreBytes {
 public:
  explicit ScoreBytes(double score) {
    if (score == 0) score = 0;
    std::memcpy(bytes_.data(), &score, sizeof score);
  }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, sizeof(double)> bytes_;
};

// ---- Sizes: seven bits a byte, least significant first; bit 7 is set but in the last byte ----

inline std::size_t varint_size(std::size_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Returns the end of what was written.
inline char* write_varint(char* to, std::size_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

// Advances `from` to the end. REQUIRES: it was written by write_varint().
inline std::size_t read_varint(const char*& from) {
  std::size_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    value |= std::size_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

// Only a payload of any length is stored with its size.
inline bool has_size(Payload payload) { return payload == Payload::value; }
inline std::size_t fixed_size(Payload payload) {
  return payload == Payload::score ? sizeof(double) : 0;
}

inline std::size_t size_bytes(Payload payload, std::size_t size) {
  return has_size(payload) ? varint_size(size) : 0;
}
inline char* write_size(char* to, Payload payload, std::size_t size) {
  return has_size(payload) ? write_varint(to, size) : to;
}
inline std::size_t read_size(const char*& from, Payload payload) {
  return has_size(payload) ? read_varint(from) : fixed_size(payload);
}

// Copies bytes, of which there may be none. Returns the end.
inline char* write_bytes(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace mayfly
