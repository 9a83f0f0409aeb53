// SPDX-License-Identifier: Apache-2.0
// StreamId: the id of an entry of a stream, a time in milliseconds and a number within it.

#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly {

struct StreamId {
  std::uint64_t ms = 0;
  std::uint64_t seq = 0;

  bool operator==(const StreamId&) const = default;
  constexpr std::strong_ordering operator<=>(const StreamId& other) const {
    return ms != other.ms ? ms <=> other.ms : seq <=> other.seq;
  }

  // The id behind and before it; nothing at the end of all ids.
  std::optional<StreamId> next() const;
  std::optional<StreamId> previous() const;

  std::string text() const;  // "1526919030474-55"
};

inline constexpr StreamId kStreamIdMin = {0, 0};
inline constexpr StreamId kStreamIdMax = {std::numeric_limits<std::uint64_t>::max(),
                                          std::numeric_limits<std::uint64_t>::max()};

// "ms-seq", or "ms" with `missing_seq` as its number. Nothing if the text is no id.
std::optional<StreamId> parse_stream_id(std::string_view text, std::uint64_t missing_seq);

}  // namespace mayfly
