// SPDX-License-Identifier: Apache-2.0
// LastRole: the role that a server had when it stopped, if a command gave it that role.
//
// REPLICAOF, FAILOVER and Sentinel change the role of a process, not the configuration that it was
// started with. If both servers of a pair are started again as they were first, the former primary
// leads with its old data, and the present one follows it. The file
// `replication-role` in `dir` remembers, so that this is seen:
//
//   primary                       it led
//   replica 10.0.0.1 6379         it followed
//
// A node of a cluster has no such file, as etcd knows the primary.

#pragma once

#include <string>

#include "server/core/server_host.h"

namespace mayfly {

class LastRole {
 public:
  explicit LastRole(const ServerContext& context) : context_(context) {}

  // At the start, before the server has the role that its configuration names: a warning if it had
  // another one.
  void compare();

  // The server led when it stopped, and its configuration names a primary, which it
  // has not followed yet.
  bool has_led() const { return has_led_; }

  // The role was changed by a command, or has become true: it is written.
  void note();

 private:
  std::string path() const;
  std::string present() const;
  std::string read() const;

  const ServerContext context_;
  bool has_led_ = false;
};

}  // namespace mayfly
