// SPDX-License-Identifier: Apache-2.0
// ServerAddress: where a server is and how to get in, as people write it.
//
//   redis://[[user]:password@]host[:port][/database]     also valkey://
//   host    host:port    :port    [::1]:port             without the scheme
//   unix:///path/of/the.sock[?db=3]                      a socket on this machine
//
// Letters of users and passwords that would mean something else are written %40 for @, and so on.

#pragma once

#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

struct ServerAddress {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string path;  // of a unix socket; then host and port mean nothing
  std::string user;  // empty: the password alone, as before Redis 6
  std::string password;
  int database = 0;
  bool has_database = false;  // it was given

  // Without what is secret: "redis://127.0.0.1:6379/0"; and without the database.
  std::string text() const;
  std::string server_text() const;
};

// Code::invalid for what is none.
Result<ServerAddress> parse_server_address(std::string_view text);

}  // namespace mayfly
