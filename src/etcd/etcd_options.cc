// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool is_endpoint(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view host = url.substr(scheme.size());
    const auto is_wrong = [](char letter) {
      return static_cast<unsigned char>(letter) <= ' ' ||
             std::string_view("/?#@\\\"<>").find(letter) != std::string_view::npos;
    };
    return !host.empty() && std::none_of(host.begin(), host.end(), is_wrong);
  }
  return false;
}

Error no_endpoint(std::string_view url) {
  return {Code::invalid,
          fmt::format("'{}' is no endpoint of etcd: it is no URL (write http://HOST:2379)", url)};
}

}  // namespace

Result<std::vector<std::string>> parse_etcd_endpoints(std::string_view list) {
  std::vector<std::string> endpoints;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view url = trimmed(list.substr(0, comma));
    while (url.ends_with('/')) url.remove_suffix(1);
    if (!is_endpoint(url)) return no_endpoint(url);
    endpoints.emplace_back(url);
    if (comma == list.size()) return endpoints;
    list.remove_prefix(comma + 1);
  }
}

Status check(const EtcdOptions& options) {
  if (options.endpoints.empty()) {
    return Error{Code::invalid, "no endpoint of etcd is given (set cluster-etcd)"};
  }
  for (const std::string& url : options.endpoints) {
    if (!is_endpoint(url)) return no_endpoint(url);
  }
  if (options.prefix.empty()) return Error{Code::invalid, "the prefix of the cluster is empty"};
  if (!is_utf8(options.user) || !is_utf8(options.password)) {
    return Error{Code::invalid, "the user or the password for etcd is no UTF-8"};
  }
  if (options.cert.empty() != options.key.empty()) {
    return Error{Code::invalid,
                 "a client certificate for etcd needs its key (set both cluster-etcd-cert and "
                 "cluster-etcd-key)"};
  }
  return Done{};
}

}  // namespace mayfly
