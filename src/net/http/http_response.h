// SPDX-License-Identifier: Apache-2.0
// HttpResponse: what is answered to a request of HTTP, and its bytes.
//
//   HttpResponse response = http_text(503, "loading\n");
//   response.headers.emplace_back("Retry-After", "1");
//   response.write(link.output(), request.method == "HEAD", true);

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly {

struct HttpResponse {
  int status = 200;
  std::string type;                                          // Content-Type; empty: no body
  std::vector<std::pair<std::string, std::string>> headers;  // others
  std::string body;

  // Appends the response. A HEAD request gets the headers only. Headers of safety that every
  // response has are added here: no sniffing, no framing, no referrer, a content security policy.
  void write(std::string& out, bool is_head, bool keeps_alive) const;
};

HttpResponse http_text(int status, std::string text);
HttpResponse http_json(int status, std::string json);

// {"error": "..."}
HttpResponse http_error(int status, std::string_view error);

// "Not Found"; for a status that is not used here "Unknown".
std::string_view http_reason(int status);

}  // namespace mayfly
