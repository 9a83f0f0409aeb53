// SPDX-License-Identifier: Apache-2.0
#include "persist/encodings/zipmap.h"

namespace mayfly {
namespace {

constexpr std::uint8_t kEnd = 0xFF;
constexpr std::uint8_t kLong = 0xFE;  // as a size: four bytes follow; as a count: not counted

}  // namespace

Zipmap::Zipmap(std::string_view blob, TextArena&) : bytes_(blob), claimed_(bytes_.byte()) {
  if (bytes_.left() == 0) wrong_ = "an empty zipmap";
}

std::optional<std::size_t> Zipmap::claimed() const {
  return claimed_ >= kLong ? std::nullopt : std::optional<std::size_t>(2u * claimed_);
}

std::optional<std::string_view> Zipmap::stop(std::string_view wrong) {
  wrong_ = wrong;
  return std::nullopt;
}

std::optional<std::string_view> Zipmap::next() {
  if (!wrong_.empty() || bytes_.left() == 0) return std::nullopt;
  const bool is_value = seen_ % 2 == 1;
  const std::uint8_t first = bytes_.byte();
  if (first == kEnd && !is_value) {
    if (bytes_.left() != 0) return stop("a zipmap that goes on after its end");
    if (claimed() && *claimed() != seen_) return stop("a zipmap of another count");
    return std::nullopt;
  }
  if (first == kEnd) return stop("a zipmap that ends after a field");
  const std::size_t size = first == kLong ? bytes_.fixed<std::uint32_t>() : first;
  const std::size_t unused = is_value ? bytes_.byte() : 0;
  const std::string_view content = bytes_.take(size);
  bytes_.take(unused);
  if (bytes_.is_short() || bytes_.left() == 0) return stop("a zipmap without an end");
  ++seen_;
  return content;
}

}  // namespace mayfly
