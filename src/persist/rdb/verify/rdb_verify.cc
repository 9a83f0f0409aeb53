// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/verify/rdb_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "persist/crc64.h"

namespace mayfly {

Status RdbSum::add(std::string_view bytes) {
  if (version_ == 0) {
    header_ += bytes.substr(0, kRdbMagicSize - header_.size());
    if (header_.size() == kRdbMagicSize) {
      const Result<int> version = rdb_version(header_, checks_);
      if (!version) return version.error();
      version_ = *version;
    }
  }
  // All but the last bytes: first those that were the last before.
  const std::size_t size = tail_.size() + bytes.size();
  const std::size_t summed = size - std::min(size, kEndSize);
  const std::size_t from_tail = std::min(summed, tail_.size());
  crc_ = crc64(crc_, std::string_view(tail_).substr(0, from_tail));
  tail_.erase(0, from_tail);
  crc_ = crc64(crc_, bytes.substr(0, summed - from_tail));
  tail_ += bytes.substr(summed - from_tail);
  return Done{};
}

Result<bool> RdbSum::end() const {
  if (version_ == 0) return Error{Code::corrupt, "not an RDB file: it is too short for that"};
  const auto is_end = [this](std::size_t at) {
    return at < tail_.size() &&
           static_cast<std::uint8_t>(tail_[at]) == static_cast<std::uint8_t>(rdb::Opcode::eof);
  };
  const Error cut{Code::corrupt, "the file does not end as an RDB file does"};
  if (version_ < kFirstWithChecksum) return is_end(kEndSize - 1) ? Result<bool>(false) : cut;
  if (!is_end(0) || tail_.size() != kEndSize) return cut;
  std::uint64_t stored = 0;
  std::memcpy(&stored, tail_.data() + 1, sizeof stored);
  if (stored == 0 || !checks_.checksum) return false;
  const std::uint64_t computed = crc64(crc_, std::string_view(tail_).substr(0, 1));
  if (stored == computed) return true;
  return Error{Code::corrupt,
               fmt::format("the checksum is wrong: {:016x} in the file, but its bytes have {:016x}",
                           stored, computed)};
}

Result<bool> RdbVerifier::step(std::size_t keys) {
  Result<bool> ended = false;
  for (std::size_t i = 0; i < keys && ended && !*ended; ++i) ended = parser_.step();
  return ended;
}

}  // namespace mayfly
