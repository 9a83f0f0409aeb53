// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_origin.h"

#include <arpa/inet.h>

#include <algorithm>

#include "commands/words.h"

namespace mayfly {
namespace {

bool is_port(std::string_view text) {
  return text.empty() || (text.starts_with(':') && text.size() <= 6 &&
                          text.find_first_not_of("0123456789", 1) == text.npos);
}

bool is_address(int family, std::string_view text) {
  unsigned char bytes[16];
  return ::inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

}  // namespace

bool is_known_host(std::string_view host, std::span<const std::string> names) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end != host.npos && is_port(host.substr(end + 1)) &&
           is_address(AF_INET6, host.substr(1, end - 1));
  }
  const std::size_t colon = std::min(host.find(':'), host.size());
  if (!is_port(host.substr(colon))) return false;
  const std::string_view name = host.substr(0, colon);
  if (equals(name, "localhost") || is_address(AF_INET, name)) return true;
  const std::string lower = lowered(name);
  return std::ranges::any_of(
      names, [&](const std::string& each) { return !lower.empty() && lowered(each) == lower; });
}

Status check_same_origin(const HttpRequest& request) {
  if (request.header("x-mayfly") != "console") {
    return Error{Code::denied, "the header 'X-Mayfly: console' is missing"};
  }
  if (request.has_header("origin")) {
    const std::string_view origin = request.header("origin");
    const std::size_t scheme = origin.find("://");
    const bool is_http = origin.starts_with("http://") || origin.starts_with("https://");
    if (!is_http || origin.substr(scheme + 3) != request.header("host")) {
      return Error{Code::denied, "the request comes from a page of another origin"};
    }
  }
  if (request.has_header("sec-fetch-site")) {
    const std::string_view site = request.header("sec-fetch-site");
    if (site != "same-origin" && site != "none") {
      return Error{Code::denied, "the request comes from a page of another site"};
    }
  }
  return Done{};
}

}  // namespace mayfly
