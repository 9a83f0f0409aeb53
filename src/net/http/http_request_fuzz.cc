// SPDX-License-Identifier: Apache-2.0
// Fuzzes the parser of HTTP requests: byte by byte it finds the same as at once, and takes no more
// than there is.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/http/http_request.h"

namespace {

using mayfly::HttpParsed;
using mayfly::HttpRequestParser;

constexpr mayfly::HttpLimits kLimits = {.head_bytes = 512, .headers = 8, .body_bytes = 64};

// The result with all bytes, `head` or incomplete being the same here: there is more to come.
HttpParsed last(HttpRequestParser& parser, std::string_view bytes, std::size_t step) {
  HttpParsed parsed = HttpParsed::incomplete;
  for (std::size_t size = step;; size += step) {
    const std::string_view part = bytes.substr(0, size);
    parsed = parser.parse(part);
    if (parsed == HttpParsed::head) parsed = HttpParsed::incomplete;
    if (parsed != HttpParsed::incomplete || part.size() == bytes.size()) return parsed;
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  HttpRequestParser whole(kLimits);
  HttpRequestParser pieces(kLimits);
  const HttpParsed parsed = last(whole, bytes, size + 1);
  if (last(pieces, bytes, 1) != parsed) std::abort();
  if (parsed == HttpParsed::error && whole.status() < 400) std::abort();
  if (parsed != HttpParsed::request) return 0;
  if (whole.consumed() > size || whole.consumed() != pieces.consumed()) std::abort();
  if (whole.body(bytes).size() != whole.request().content_length) std::abort();
  if (whole.request().headers != pieces.request().headers) std::abort();
  (void)whole.request().parameter("since");
  return 0;
}
