// SPDX-License-Identifier: Apache-2.0
#include "tools/server_address.h"

#include <fmt/format.h>

#include <climits>

#include "text/byte_text.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr std::string_view kRight = "redis://[[user]:password@]host[:port][/database]";

// The password may be in `text`, so that it is not repeated.
Error wrong(std::string_view what) {
  return {Code::invalid, fmt::format("invalid server address: {} (use {})", what, kRight)};
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const Result<std::string> byte = from_hex(text.substr(i + 1, 2));
    if (!byte || byte->size() != 1) return wrong("% must be followed by two hexadecimal digits");
    out += *byte;
    i += 2;
  }
  return out;
}

Status take_credentials(std::string_view text, ServerAddress& address) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return wrong("user but no password before the @");
  }
  Result<std::string> user = percent_decoded(text.substr(0, colon));
  if (!user) return user.error();
  Result<std::string> password = percent_decoded(text.substr(colon + 1));
  if (!password) return password.error();
  if (password->empty()) return wrong("empty password before the @");
  address.user = std::move(*user);
  address.password = std::move(*password);
  return Done{};
}

Status take_database(std::string_view text, ServerAddress& address) {
  const Result<int> number = parse_number<int>("the database", text, 0, INT_MAX);
  if (!number) return wrong(number.error().message);
  address.database = *number;
  address.has_database = true;
  return Done{};
}

Status take_port(std::string_view text, ServerAddress& address) {
  const Result<int> number = parse_number<int>("the port", text, 1, 65'535);
  if (!number) return wrong(number.error().message);
  address.port = *number;
  return Done{};
}

Status take_host(std::string_view text, ServerAddress& address) {
  std::string_view port;
  if (text.starts_with('[')) {  // an address of IPv6, which has colons of its own
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("[ without ]");
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return wrong("unexpected text between ] and :");
  } else {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos) {
      return wrong(fmt::format("'{}' has too many colons (write IPv6 as [::1])", text));
    }
    if (colon != 0 && !text.empty()) address.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (address.host.empty()) return wrong("empty host");
  return port.empty() ? Status(Done{}) : take_port(port.substr(1), address);
}

Result<ServerAddress> parse_unix(std::string_view rest) {
  ServerAddress address;
  const std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos && rest.find('/') > at) {
    if (const Status status = take_credentials(rest.substr(0, at), address); !status) {
      return status.error();
    }
    rest.remove_prefix(at + 1);
  }
  if (const std::size_t query = rest.find("?db="); query != std::string_view::npos) {
    const Status status = take_database(rest.substr(query + 4), address);
    if (!status) return status.error();
    rest = rest.substr(0, query);
  }
  if (!rest.starts_with('/')) {
    return Error{Code::invalid, "invalid server address (use unix:///path/to/socket[?db=3])"};
  }
  address.path = rest;
  return address;
}

}  // namespace

std::string ServerAddress::text() const {
  return fmt::format("{}{}{}", server_text(), path.empty() ? "/" : "?db=", database);
}

std::string ServerAddress::server_text() const {
  if (!path.empty()) return fmt::format("unix://{}", path);
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

Result<ServerAddress> parse_server_address(std::string_view text) {
  if (text.empty()) return wrong("empty");
  const std::size_t end = text.find("://");
  if (end != std::string_view::npos) {
    const std::string_view scheme = text.substr(0, end);
    text.remove_prefix(end + 3);
    if (scheme == "unix") return parse_unix(text);
    if (scheme == "rediss" || scheme == "valkeys") {
      return Error{Code::unsupported,
                   fmt::format("{}:// is not supported: this program has no TLS (use a tunnel or a "
                               "port without TLS)",
                               scheme)};
    }
    if (scheme != "redis" && scheme != "valkey") {
      return wrong(fmt::format("unknown scheme '{}://'", scheme));
    }
  }
  ServerAddress address;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const Status status = take_credentials(text.substr(0, at), address);
    if (!status) return status.error();
    text.remove_prefix(at + 1);
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view number = text.substr(slash + 1);
    const Status status = number.empty() ? Status(Done{}) : take_database(number, address);
    if (!status) return status.error();
    text = text.substr(0, slash);
  }
  if (const Status status = take_host(text, address); !status) return status.error();
  return address;
}

}  // namespace mayfly
