// SPDX-License-Identifier: Apache-2.0
#include "resp/request_peek.h"

namespace mayfly {
namespace {

constexpr std::size_t kWordsMost = 16;      // a longer request takes long anyway
constexpr std::size_t kBulkMost = 1 << 20;  // so that sizes cannot overflow

// Reads `letter`, a number and the end of a line. Returns what follows, or null.
const char* read_number(const char* at, const char* end, char letter, std::size_t& number) {
  if (at == end || *at++ != letter) return nullptr;
  number = 0;
  const char* const digits = at;
  for (; at != end && *at >= '0' && *at <= '9' && number < kBulkMost; ++at) {
    number = number * 10 + static_cast<std::size_t>(*at - '0');
  }
  if (at == digits || end - at < 2 || *at != '\r') return nullptr;
  return at + 2;
}

// Reads one request. Returns what follows, or null.
const char* read_request(const char* at, const char* end, PeekedRequest& request) {
  std::size_t words = 0;
  at = read_number(at, end, '*', words);
  if (at == nullptr || words > kWordsMost) return nullptr;
  for (std::size_t i = 0; i < words; ++i) {
    std::size_t size = 0;
    at = read_number(at, end, '$', size);
    if (at == nullptr || static_cast<std::size_t>(end - at) < size + 2) return nullptr;
    const std::size_t left_out = words > 4 ? words - 4 : 0;  // between the first and the last two
    if (i == 1) request.words[0] = {at, size};
    if (i > 1 + left_out) request.words[i - 1 - left_out] = {at, size};
    at += size + 2;
  }
  return at;
}

}  // namespace

std::size_t peek_requests(std::string_view bytes, std::span<PeekedRequest> requests) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i] = {};
    at = read_request(at, end, requests[i]);
    if (at == nullptr) return i;
  }
  return requests.size();
}

}  // namespace mayfly
