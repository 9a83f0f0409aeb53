// SPDX-License-Identifier: Apache-2.0
#include "persist/encodings/ziplist.h"

namespace mayfly {
namespace {

constexpr std::uint8_t kEnd = 0xFF;
constexpr std::uint8_t kLongSize = 0xFE;
constexpr std::uint16_t kNotCounted = 0xFFFF;
constexpr std::size_t kHeader = 10;

}  // namespace

Ziplist::Ziplist(std::string_view blob, TextArena& numbers)
    : bytes_(blob), numbers_(numbers), size_(blob.size()), last_(kHeader) {
  const auto size = bytes_.fixed<std::uint32_t>();
  tail_ = bytes_.fixed<std::uint32_t>();
  claimed_ = bytes_.fixed<std::uint16_t>();
  if (bytes_.is_short() || bytes_.left() == 0 || size != blob.size()) {
    wrong_ = "a ziplist of another size than it says";
  }
}

std::optional<std::size_t> Ziplist::claimed() const {
  return claimed_ == kNotCounted ? std::nullopt : std::optional<std::size_t>(claimed_);
}

std::optional<std::string_view> Ziplist::stop(std::string_view wrong) {
  wrong_ = wrong;
  return std::nullopt;
}

std::string_view Ziplist::text(std::uint8_t first) {
  if (first < 0x40) return bytes_.take(first & 0x3F);
  if (first < 0x80) return bytes_.take((first & 0x3Fu) << 8 | bytes_.byte());
  switch (first) {
    case 0x80:
      return bytes_.take(__builtin_bswap32(bytes_.fixed<std::uint32_t>()));
    case 0xC0:
      return numbers_.text(bytes_.fixed<std::int16_t>());
    case 0xD0:
      return numbers_.text(bytes_.fixed<std::int32_t>());
    case 0xE0:
      return numbers_.text(bytes_.fixed<std::int64_t>());
    case 0xF0:
      return numbers_.text(bytes_.fixed24());
    case 0xFE:
      return numbers_.text(bytes_.fixed<std::int8_t>());
    default:
      break;
  }
  if (first >= 0xF1 && first <= 0xFD) return numbers_.text((first & 0x0F) - 1);
  is_unknown_ = true;
  return {};
}

std::optional<std::string_view> Ziplist::next() {
  if (!wrong_.empty()) return std::nullopt;
  const std::size_t before = bytes_.left();
  if (before == 0) return std::nullopt;  // the end was seen
  const std::uint8_t head = bytes_.byte();
  if (head == kEnd) {
    if (bytes_.left() != 0) return stop("a ziplist that goes on after its end");
    if (claimed_ != kNotCounted && claimed_ != seen_) return stop("a ziplist of another count");
    if (tail_ != last_) return stop("a ziplist whose last entry is elsewhere");
    return std::nullopt;
  }
  const std::size_t back = head == kLongSize ? bytes_.fixed<std::uint32_t>() : head;
  if (back != last_size_) return stop("a wrong size before an entry of a ziplist");
  const std::string_view content = text(bytes_.byte());
  if (is_unknown_) return stop("an unknown encoding in a ziplist");
  if (bytes_.is_short() || bytes_.left() == 0) return stop("a ziplist without an end");
  last_ = size_ - before;
  last_size_ = before - bytes_.left();
  ++seen_;
  return content;
}

}  // namespace mayfly
