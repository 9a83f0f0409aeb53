// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_listeners.h"

#include <fmt/format.h>

#include <utility>

namespace mayfly {
namespace {

constexpr int kGroup = 1;  // of listeners; 0 are those for other clients
constexpr int kPortsTried = 100;

std::string_view without_mark(std::string_view host) {
  return host.starts_with('-') ? host.substr(1) : host;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool is_taken(const Status& status) { return !status && status.error().code == Code::busy; }

// The advice of a listener for clients names the options of clients.
Error with_name(const Error& error) {
  std::string text = error.message;
  for (const std::string_view option : {"--port", "--bind"}) {
    const std::size_t at = text.find(option);
    if (at != text.npos) text.insert(at + 2, "http-");
  }
  return {error.code, "HTTP: " + text};
}

}  // namespace

Status check_http_bind(const Config& config) {
  if (config.http_port == 0 || !config.requirepass.empty() || !config.protected_mode) return Done{};
  for (const std::string& host : config.http_bind) {
    if (is_loopback(without_mark(host))) continue;
    return Error{Code::denied,
                 fmt::format("HTTP: other machines could connect to '{}' (http-bind), and no "
                             "password is set (set requirepass, or protected-mode to 'no' if only "
                             "trusted machines can connect)",
                             host)};
  }
  return Done{};
}

Status HttpListeners::listen_everywhere(const Config& config, int port) {
  loop_.stop_listening_tcp(kGroup);
  port_ = 0;
  host_.clear();
  if (port == 0) return Done{};
  const ListenOptions options = {.backlog = static_cast<int>(config.tcp_backlog),
                                 .keepalive_seconds = static_cast<int>(config.tcp_keepalive),
                                 .permissions = 0,
                                 .group = kGroup};
  for (const std::string& host : config.http_bind) {
    const bool is_optional = host.starts_with('-');
    const Result<int> bound = loop_.listen_tcp(without_mark(host), port, options, acceptor_);
    if (!bound) {
      if (is_optional && bound.error().code != Code::busy) continue;
      loop_.stop_listening_tcp(kGroup);
      port_ = 0;
      return with_name(bound.error());
    }
    port_ = *bound;
    if (host_.empty()) host_ = without_mark(host);
  }
  if (port_ == 0)
    return Error{Code::invalid, "HTTP: none of the addresses in http-bind can be used"};
  return Done{};
}

Status HttpListeners::listen(const Config& config, bool any_port) {
  if (Status status = check_http_bind(config); !status) return status;
  const int first = static_cast<int>(config.http_port);
  Status status = listen_everywhere(config, first);
  for (int port = first + 1;
       any_port && is_taken(status) && port < first + kPortsTried && port < 65'536; ++port) {
    status = listen_everywhere(config, port);
  }
  return status;
}

Status HttpListeners::relisten(const Config& before, const Config& config) {
  if (config.http_port == before.http_port && config.http_bind == before.http_bind) return Done{};
  if (Status status = check_http_bind(config); !status) return status;
  const auto old_port = static_cast<int>(port_);
  // The port at the start may be another than was asked for (--any-port).
  const int port =
      config.http_port == before.http_port ? old_port : static_cast<int>(config.http_port);
  Status status = listen_everywhere(config, port);
  if (!status) (void)listen_everywhere(before, old_port);
  return status;
}

std::string HttpListeners::url() const {
  if (port_ == 0) return {};
  const bool is_any = host_ == "*" || host_ == "0.0.0.0" || host_ == "::" || host_ == "::*";
  const std::string host = is_any ? "127.0.0.1" : host_;
  const bool is_v6 = host.find(':') != host.npos;
  return fmt::format("http://{}:{}/", is_v6 ? "[" + host + "]" : host, port_);
}

}  // namespace mayfly
