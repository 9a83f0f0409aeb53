// SPDX-License-Identifier: Apache-2.0
// ClusterOptions: the options that all commands of `mayfly cluster` share, and the session that
// they describe.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/cluster/session/cluster_session.h"
#include "cli/program.h"
#include "etcd/etcd_options.h"

namespace mayfly {

struct ClusterOptions {
  std::string etcd;  // or MAYFLY_ETCD
  std::string name = "main";
  std::string password;  // of nodes, or MAYFLY_PASSWORD
  std::string etcd_user;
  std::string etcd_password;
  std::string etcd_ca;
  std::string etcd_cert;
  std::string etcd_key;
  bool is_json = false;
  bool is_sure = false;

  void add_to(CliCommand command, bool changes);

  Result<EtcdOptions> etcd_options() const;
};

// Opens what the options name, and runs the command with it.
using ClusterRun = std::function<Result<Exit>(ClusterSession& session)>;
Result<Exit> run_in_session(const ClusterOptions& options, const ClusterRun& run);

// A command below `mayfly cluster`, with the options of all.
template <class Args>
CliCommand add_cluster_command(Program& program, CliCommand above, const char* name,
                               const char* what, const char* examples, const Args* args,
                               Result<Exit> (*run)(const Args&, ClusterSession&), bool changes) {
  ClusterOptions* const options = program.keep<ClusterOptions>();
  const CliCommand command = program.add(above, name, what, examples);
  options->add_to(command, changes);
  program.on(command, [=] {
    return run_in_session(*options, [&](ClusterSession& session) { return run(*args, session); });
  });
  return command;
}

}  // namespace mayfly
