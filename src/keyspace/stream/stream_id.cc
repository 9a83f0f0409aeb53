// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stream/stream_id.h"

#include <charconv>

namespace mayfly {
namespace {

std::optional<std::uint64_t> parse_id_part(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<StreamId> StreamId::next() const {
  if (seq != kStreamIdMax.seq) return StreamId{ms, seq + 1};
  if (ms != kStreamIdMax.ms) return StreamId{ms + 1, 0};
  return std::nullopt;
}

std::optional<StreamId> StreamId::previous() const {
  if (seq != 0) return StreamId{ms, seq - 1};
  if (ms != 0) return StreamId{ms - 1, kStreamIdMax.seq};
  return std::nullopt;
}

std::string StreamId::text() const {
  std::string text = std::to_string(ms);
  text += '-';
  text += std::to_string(seq);
  return text;
}

std::optional<StreamId> parse_stream_id(std::string_view text, std::uint64_t missing_seq) {
  const std::size_t dash = text.find('-');
  const std::optional<std::uint64_t> ms = parse_id_part(text.substr(0, dash));
  if (!ms) return std::nullopt;
  if (dash == std::string_view::npos) return StreamId{*ms, missing_seq};
  const std::optional<std::uint64_t> seq = parse_id_part(text.substr(dash + 1));
  if (!seq) return std::nullopt;
  return StreamId{*ms, *seq};
}

}  // namespace mayfly
