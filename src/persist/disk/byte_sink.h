// SPDX-License-Identifier: Apache-2.0
// ByteSink and ByteSource: the target and the source of the bytes of a file or a connection.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Takes all of it or fails; after a failure it is unknown how much was taken.
  virtual Status write(std::string_view bytes) = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills the room from its front and returns how many bytes came; 0 is the end.
  virtual Result<std::size_t> read(std::span<char> room) = 0;

  // The total number of bytes; 0 if unknown.
  virtual std::uint64_t size() const { return 0; }
};

class StringSink final : public ByteSink {
 public:
  Status write(std::string_view piece) override {
    bytes.append(piece);
    return Done{};
  }

  std::string bytes;
};

// The bytes must outlive it.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : bytes_(bytes) {}

  Result<std::size_t> read(std::span<char> room) override {
    const std::size_t count = std::min(room.size(), bytes_.size() - at_);
    std::copy_n(bytes_.data() + at_, count, room.data());
    at_ += count;
    return count;
  }
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace mayfly
