// SPDX-License-Identifier: Apache-2.0
#include "persist/encodings/listpack.h"

namespace mayfly {
namespace {

constexpr std::uint8_t kEnd = 0xFF;
constexpr std::uint8_t kLongSize = 0xFE;  // four bytes of size follow; as a count: not counted
constexpr std::size_t kZiplistHeader = 10;

// The bytes of the size after a text of `size` bytes.
std::size_t back_size(std::size_t size) {
  std::size_t bytes = 1;
  for (; size >= 0x80; size >>= 7) ++bytes;
  return bytes;
}

// Most significant part first.
std::size_t back_value(std::string_view bytes) {
  std::size_t value = 0;
  for (const char byte : bytes) value = value << 7 | (static_cast<unsigned char>(byte) & 0x7F);
  return value;
}

}  // namespace

std::optional<std::size_t> BlobReader::claimed() const {
  return claimed_ == kNotCounted ? std::nullopt : std::optional<std::size_t>(claimed_);
}

std::optional<std::string_view> BlobReader::stop(std::string_view wrong) {
  wrong_ = wrong;
  return std::nullopt;
}

// ---- Listpack ----

Listpack::Listpack(std::string_view blob, TextArena& numbers)
    : BlobReader(blob), numbers_(numbers) {
  const auto size = bytes_.fixed<std::uint32_t>();
  claimed_ = bytes_.fixed<std::uint16_t>();
  if (bytes_.is_short() || bytes_.left() == 0 || size != blob.size()) {
    wrong_ = "a listpack of another size than it says";
  }
}

std::string_view Listpack::text(std::uint8_t first) {
  if (first < 0x80) return numbers_.text(first);
  if (first < 0xC0) return bytes_.take(first & 0x3F);
  if (first < 0xE0) {
    const unsigned number = (first & 0x1Fu) << 8 | bytes_.byte();  // 13 bits, the first a sign
    return numbers_.text(number < 0x1000 ? static_cast<int>(number)
                                         : static_cast<int>(number) - 0x2000);
  }
  if (first < 0xF0) return bytes_.take((first & 0x0Fu) << 8 | bytes_.byte());
  switch (first) {
    case 0xF0:
      return bytes_.take(bytes_.fixed<std::uint32_t>());
    case 0xF1:
      return numbers_.text(bytes_.fixed<std::int16_t>());
    case 0xF2:
      return numbers_.text(bytes_.fixed24());
    case 0xF3:
      return numbers_.text(bytes_.fixed<std::int32_t>());
    case 0xF4:
      return numbers_.text(bytes_.fixed<std::int64_t>());
    default:
      is_unknown_ = true;
      return {};
  }
}

std::optional<std::string_view> Listpack::next() {
  if (!wrong_.empty()) return std::nullopt;
  const std::size_t before = bytes_.left();
  if (before == 0) return std::nullopt;  // the end was seen
  const std::uint8_t first = bytes_.byte();
  if (first == kEnd) {
    if (bytes_.left() != 0) return stop("a listpack with bytes after its end");
    if (claimed_ != kNotCounted && claimed_ != seen_) return stop("a listpack of another count");
    return std::nullopt;
  }
  const std::string_view content = text(first);
  if (is_unknown_) return stop("an unknown encoding in a listpack");
  const std::size_t size = before - bytes_.left();
  const std::string_view back = bytes_.take(back_size(size));
  if (bytes_.is_short() || bytes_.left() == 0) return stop("a listpack without an end");
  if (back_value(back) != size) return stop("a wrong size behind a text of a listpack");
  ++seen_;
  return content;
}

// ---- Ziplist ----

Ziplist::Ziplist(std::string_view blob, TextArena& numbers)
    : BlobReader(blob), numbers_(numbers), size_(blob.size()), last_(kZiplistHeader) {
  const auto size = bytes_.fixed<std::uint32_t>();
  tail_ = bytes_.fixed<std::uint32_t>();
  claimed_ = bytes_.fixed<std::uint16_t>();
  if (bytes_.is_short() || bytes_.left() == 0 || size != blob.size()) {
    wrong_ = "a ziplist of another size than it says";
  }
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
    if (bytes_.left() != 0) return stop("a ziplist with bytes after its end");
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

// ---- Zipmap ----

Zipmap::Zipmap(std::string_view blob, TextArena&) : BlobReader(blob), fields_(bytes_.byte()) {
  if (bytes_.left() == 0) wrong_ = "an empty zipmap";
}

std::optional<std::size_t> Zipmap::claimed() const {
  return fields_ >= kLongSize ? std::nullopt : std::optional<std::size_t>(2u * fields_);
}

std::optional<std::string_view> Zipmap::next() {
  if (!wrong_.empty() || bytes_.left() == 0) return std::nullopt;
  const bool is_value = seen_ % 2 == 1;
  const std::uint8_t first = bytes_.byte();
  if (first == kEnd && !is_value) {
    if (bytes_.left() != 0) return stop("a zipmap with bytes after its end");
    if (claimed() && *claimed() != seen_) return stop("a zipmap of another count");
    return std::nullopt;
  }
  if (first == kEnd) return stop("a zipmap that ends after a field");
  const std::size_t size = first == kLongSize ? bytes_.fixed<std::uint32_t>() : first;
  if (first == kLongSize && size < kLongSize)
    return stop("a short size in a long form in a zipmap");
  const std::size_t unused = is_value ? bytes_.byte() : 0;
  const std::string_view content = bytes_.take(size);
  bytes_.take(unused);
  if (bytes_.is_short() || bytes_.left() == 0) return stop("a zipmap without an end");
  ++seen_;
  return content;
}

}  // namespace mayfly
