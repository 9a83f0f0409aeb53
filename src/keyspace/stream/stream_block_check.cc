// SPDX-License-Identifier: Apache-2.0
// Checks bytes from outside before they become a StreamBlock. All other code trusts the bytes.

#include <optional>

#include "keyspace/listpack/listpack_entry.h"
#include "keyspace/stream/stream_block.h"

namespace mayfly {
namespace {

// Reads the entries of a listpack that may be damaged. After an error it gives nothing more.
class BlockChecker {
 public:
  explicit BlockChecker(std::string_view listpack) {
    std::uint32_t bytes = 0;
    is_wrong_ = listpack.size() < kListpackEmpty;
    if (is_wrong_) return;
    std::memcpy(&bytes, listpack.data(), sizeof bytes);
    std::memcpy(&claimed_, listpack.data() + sizeof bytes, sizeof claimed_);
    is_wrong_ = bytes != listpack.size() || listpack.back() != kListpackEnd;
    rest_ = listpack.substr(kListpackHeader);
  }

  bool is_wrong() const { return is_wrong_; }

  // Whether the end was reached, and the number of entries is the one of the header.
  bool is_at_end() const {
    const bool is_counted = claimed_ == kListpackCountUnknown || claimed_ == seen_;
    return !is_wrong_ && rest_.size() == 1 && is_counted;
  }
  bool has_more() const { return !is_wrong_ && rest_.size() > 1; }

  void skip(std::uint64_t entries) {
    while (entries-- > 0 && !is_wrong_) value();
  }

  std::int64_t number() {
    const ListpackValue found = value();
    if (!found.is_number) fail();
    return found.number;
  }

  // A number that counts something of which each takes some bytes of the listpack.
  std::uint64_t count() {
    const std::int64_t found = number();
    if (found < 0 || static_cast<std::uint64_t>(found) > UINT32_MAX) fail();
    return is_wrong_ ? 0 : static_cast<std::uint64_t>(found);
  }

  // Flags are a number that can be changed in place.
  unsigned flags() {
    if (!has_more() || static_cast<unsigned char>(rest_[0]) > kStreamEntryFlags) fail();
    return static_cast<unsigned>(number());
  }

 private:
  void fail() { is_wrong_ = true; }

  // The bytes of the first entry without `back`, which may be more than there are.
  std::size_t content() const {
    const auto byte = [this](std::size_t i) {
      return i < rest_.size() ? static_cast<unsigned char>(rest_[i]) : std::size_t{0};
    };
    const std::size_t first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC0) return 1 + (first & 0x3F);
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 2 + ((first & 0x0F) << 8 | byte(1));
    if (first == 0xF0) return 5 + (byte(1) | byte(2) << 8 | byte(3) << 16 | byte(4) << 24);
    if (first > 0xF4) return SIZE_MAX;  // there is no such encoding
    return first == 0xF4 ? 9 : first - 0xF1 + 3;
  }

  ListpackValue value() {
    if (!has_more()) {
      fail();
      return {};
    }
    const std::size_t size = content();
    std::size_t back = 1;
    for (std::size_t left = size; left > 127; left >>= 7) ++back;
    if (size >= rest_.size() || back >= rest_.size() - size) {  // the end is behind it, too
      fail();
      return {};
    }
    std::size_t back_size = 0;
    for (std::size_t i = size; i < size + back; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      if ((byte > 127) != (i > size)) fail();
      back_size = back_size << 7 | (byte & 127);
    }
    if (back_size != size) fail();
    if (is_wrong_) return {};
    ListpackValue found;
    read_entry(rest_.data(), found);
    rest_.remove_prefix(size + back);
    ++seen_;
    return found;
  }

  std::string_view rest_;
  std::uint16_t claimed_ = 0;
  std::size_t seen_ = 0;
  bool is_wrong_ = false;
};

}  // namespace

std::string check_stream_block(StreamId first, std::string_view listpack) {
  BlockChecker pieces(listpack);
  const std::uint64_t claimed_live = pieces.count();
  const std::uint64_t claimed_deleted = pieces.count();
  const std::uint64_t fields = pieces.count();
  pieces.skip(fields);
  if (pieces.number() != 0) return "a stream block without an end of its fields";
  std::uint64_t live = 0;
  std::uint64_t deleted = 0;
  StreamId last;
  while (pieces.has_more()) {
    const unsigned flags = pieces.flags();
    StreamId id = first;
    id.ms += static_cast<std::uint64_t>(pieces.number());
    id.seq += static_cast<std::uint64_t>(pieces.number());
    const bool has_same_fields = (flags & kStreamEntrySameFields) != 0;
    const std::uint64_t words = has_same_fields ? fields : 2 * pieces.count();
    pieces.skip(words);
    const std::uint64_t size = words + (has_same_fields ? 3 : 4);
    if (pieces.count() != size || pieces.is_wrong()) return "a damaged entry in a stream block";
    if (id <= last || id < first) return "a stream block whose ids do not ascend";
    last = id;
    ++((flags & kStreamEntryDeleted) != 0 ? deleted : live);
  }
  if (!pieces.is_at_end()) return "a damaged listpack in a stream";
  if (live + deleted == 0) return "a stream block without entries";
  if (live != claimed_live || deleted != claimed_deleted) return "a stream block of another count";
  return "";
}

}  // namespace mayfly
