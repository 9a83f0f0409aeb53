// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster`: servers that share the slots of one keyspace, and what one does with them.

#include "cli/cluster/accept_command.h"
#include "cli/cluster/clock_command.h"
#include "cli/cluster/dev/dev_command.h"
#include "cli/cluster/failover_commands.h"
#include "cli/cluster/init_command.h"
#include "cli/cluster/member_commands.h"
#include "cli/cluster/moves/move_commands.h"
#include "cli/cluster/session/cluster_options.h"
#include "cli/cluster/watch/check_command.h"
#include "cli/cluster/watch/status_command.h"
#include "cli/commands.h"

namespace mayfly {
namespace {

constexpr const char* kClusterExamples =
    "A cluster is made of servers that were started with --cluster-enabled yes and\n"
    "--cluster-etcd URLS. What they must agree upon is kept in etcd, data never is.\n"
    "Changes show a plan and ask first; --yes does not ask. MAYFLY_ETCD may hold the URLs of "
    "etcd,\n"
    "MAYFLY_PASSWORD the password of the nodes.\n"
    "\n"
    "Examples:\n"
    "  mayfly cluster dev                            three etcd and six servers, to try it\n"
    "  export MAYFLY_ETCD=http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379\n"
    "  mayfly cluster init 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379 --replicas 1\n"
    "  mayfly cluster status --watch                 the picture, every second\n"
    "  mayfly cluster check                          is everything as it should be?\n"
    "Exit codes: 0 success, 1 error, 3 `check` found problems.";

constexpr const char* kClusterInitExamples =
    "Examples:\n"
    "  mayfly cluster init 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379 10.0.0.4:6379 \\\n"
    "      10.0.0.5:6379 10.0.0.6:6379          three shards with a replica each\n"
    "  mayfly cluster init 10.0.0.1:6379 --replicas 0        one node, to begin with\n"
    "Nodes must be empty, and their clocks within 500 ms. A primary and its replicas are put into\n"
    "different zones (see availability-zone) or onto different hosts, where there are such.";

constexpr const char* kClusterAddExamples =
    "Examples:\n"
    "  mayfly cluster add 10.0.0.7:6379                      a new shard, without slots\n"
    "  mayfly cluster add 10.0.0.8:6379 --replica-of d       a replica of it\n"
    "  mayfly cluster rebalance                              now it gets slots\n"
    "The node must be empty.";

constexpr const char* kClusterRemoveExamples =
    "Examples:\n"
    "  mayfly cluster remove 10.0.0.7:6379      by its address\n"
    "  mayfly cluster remove 4be0c1             by the beginning of its id\n"
    "A primary hands over to a replica first. If it is the last node of its shard, the slots move\n"
    "to the other shards, and the shard ends. The process goes on until you stop it.";

constexpr const char* kClusterReshardExamples =
    "Examples:\n"
    "  mayfly cluster reshard --from a --to b --slots 1000\n"
    "  mayfly cluster reshard --from a --to b --range 0-999 --range 4000-4099\n"
    "Keys that are written meanwhile are not lost; requests for the moving slots wait some\n"
    "milliseconds at the end. Ctrl-C ends the watching; the move goes on.";

constexpr const char* kClusterRebalanceExamples =
    "Examples:\n"
    "  mayfly cluster rebalance                      the same number of slots for all\n"
    "  mayfly cluster rebalance --weight b=2         twice as many for shard b\n"
    "  mayfly cluster rebalance --weight c=0         none for shard c\n"
    "  mayfly cluster rebalance --by keys            by the number of keys\n"
    "As few slots move as possible.";

constexpr const char* kClusterCancelExamples =
    "Examples:\n"
    "  mayfly cluster cancel                       all moves\n"
    "  mayfly cluster cancel 019a8f3be2c10000      one of them\n"
    "The slots stay where they are.";

constexpr const char* kClusterFailoverExamples =
    "Examples:\n"
    "  mayfly cluster failover a                         to the replica that is the least behind\n"
    "  mayfly cluster failover a --to 10.0.0.4:6379\n"
    "Nothing is lost: writes pause until the replica has all of them. Only a replica that is in\n"
    "sync can take over.";

constexpr const char* kClusterRecoverExamples =
    "Examples:\n"
    "  mayfly cluster recover a                      shows what there is, and what would be lost\n"
    "  mayfly cluster recover a --accept-loss        does it\n"
    "For a shard that waits for nodes that will not come back, or whose primary came back without\n"
    "its data while another node has it. The node with the latest data becomes the primary.";

constexpr const char* kClusterResetClockExamples =
    "Examples:\n"
    "  mayfly cluster reset-clock a\n"
    "For a shard whose record has a time that is ahead of all clocks, because the clock of a node\n"
    "was wrong; `mayfly cluster check` says so. Set the clocks first. No data is changed.";

constexpr const char* kClusterAcceptExamples =
    "Examples:\n"
    "  mayfly cluster accept                   asks first; --yes does not\n"
    "  mayfly cluster accept --ignore-silent   nodes that do not respond are switched off\n"
    "After etcd was restored from a snapshot: nodes do not use an etcd with another cluster id, "
    "or\n"
    "with a lower revision than before. Stop all nodes, restore etcd, accept it, and start the\n"
    "nodes. It is refused while a node runs.";

constexpr const char* kClusterStatusExamples =
    "Examples:\n"
    "  mayfly cluster status\n"
    "  mayfly cluster status --watch           every second; q or Ctrl-C quits\n"
    "  mayfly cluster status --json | jq .shards\n"
    "  mayfly cluster status --node 10.0.0.1:6379      also while no etcd answers\n"
    "The bar shows which shard has which slots; > are slots that move. 'in sync' names the "
    "replicas\n"
    "that may take over, how far they are behind and how far their clocks are ahead.";

constexpr const char* kClusterCheckExamples =
    "Examples:\n"
    "  mayfly cluster check && echo fine\n"
    "  mayfly cluster check --json\n"
    "  mayfly cluster check --cache            nodes without files are no problem\n"
    "Looks at all that can be looked at: that every slot has one owner, that nodes live and know\n"
    "the same map as etcd and take writes, replicas, clocks, files and disks, and the members of\n"
    "etcd. While etcd has no majority, --node HOST:PORT tells whom to ask.\n"
    "Exit codes: 0 everything is fine, 1 error, 3 problems were found.";

constexpr const char* kClusterDevExamples =
    "Examples:\n"
    "  mayfly cluster dev\n"
    "  mayfly cluster dev --nodes 3 --replicas 0\n"
    "Starts three etcd and some servers on free ports of this machine, makes a cluster of them "
    "and\n"
    "says what to try. Nothing is kept. Needs etcd (Debian: apt install etcd-server).";

void add_member_commands(Program& program, CliCommand above) {
  InitArgs* const init = program.keep<InitArgs>();
  const CliCommand init_command =
      add_cluster_command(program, above, "init", "Make a cluster of empty nodes",
                          kClusterInitExamples, init, run_init, true);
  init_command.add_option("HOST:PORT", init->nodes, "The nodes").required();
  init_command.add_option("--replicas", init->replicas, "Replicas of each primary (default 1)")
      .type_name("N")
      .range(0, 10);
  init_command
      .add_option("--lease", init->lease_ms, "How long a primary may serve unheard (default 2000)")
      .type_name("MS")
      .range(200, 60'000);

  AddArgs* const add = program.keep<AddArgs>();
  const CliCommand add_command = add_cluster_command(program, above, "add", "Bring a node in",
                                                     kClusterAddExamples, add, run_add, true);
  add_command.add_option("HOST:PORT", add->node, "The node").required();
  add_command.add_text("--replica-of", add->shard, "SHARD",
                       "The shard that it replicates (default: a new one)");

  RemoveArgs* const remove = program.keep<RemoveArgs>();
  add_cluster_command(program, above, "remove", "Take a node out", kClusterRemoveExamples, remove,
                      run_remove, true)
      .add_option("NODE", remove->node, "Address or id of the node")
      .required();
}

void add_move_commands(Program& program, CliCommand above) {
  ReshardArgs* const reshard = program.keep<ReshardArgs>();
  const CliCommand reshard_command =
      add_cluster_command(program, above, "reshard", "Move slots to another shard",
                          kClusterReshardExamples, reshard, run_reshard, true);
  reshard_command.add_text("--from", reshard->source, "SHARD", "The shard that has them")
      .required();
  reshard_command.add_text("--to", reshard->target, "SHARD", "The shard that gets them").required();
  reshard_command.add_option("--slots", reshard->slots, "How many")
      .type_name("N")
      .range(1, kHashSlots);
  reshard_command.add_option("--range", reshard->ranges, "Which: a-b, or one slot")
      .type_name("RANGE");

  RebalanceArgs* const rebalance = program.keep<RebalanceArgs>();
  const CliCommand rebalance_command =
      add_cluster_command(program, above, "rebalance", "Give each shard its share",
                          kClusterRebalanceExamples, rebalance, run_rebalance, true);
  rebalance_command.add_option("--weight", rebalance->weights, "The share of a shard (default 1)")
      .type_name("SHARD=N");
  rebalance_command.add_option("--by", rebalance->by, "Of what: slots (default) or keys")
      .type_name("WHAT")
      .one_of({"slots", "keys"});

  CancelArgs* const cancel = program.keep<CancelArgs>();
  add_cluster_command(program, above, "cancel", "Stop moves of slots", kClusterCancelExamples,
                      cancel, run_cancel, true)
      .add_option("JOB", cancel->jobs, "The move (default: all)");
}

void add_failover_commands(Program& program, CliCommand above) {
  FailoverArgs* const failover = program.keep<FailoverArgs>();
  const CliCommand failover_command =
      add_cluster_command(program, above, "failover", "Make a replica the primary",
                          kClusterFailoverExamples, failover, run_failover, true);
  failover_command.add_option("SHARD", failover->shard, "The shard").required();
  failover_command.add_text("--to", failover->node, "NODE", "The replica: address or id");

  RecoverArgs* const recover = program.keep<RecoverArgs>();
  const CliCommand recover_command =
      add_cluster_command(program, above, "recover", "Give up data of nodes that will not return",
                          kClusterRecoverExamples, recover, run_recover, true);
  recover_command.add_option("SHARD", recover->shard, "The shard").required();
  recover_command.add_flag("--accept-loss", recover->accepts_loss, "Accept what it says");

  ResetClockArgs* const reset = program.keep<ResetClockArgs>();
  add_cluster_command(program, above, "reset-clock", "Forget the time of a wrong clock",
                      kClusterResetClockExamples, reset, run_reset_clock, true)
      .add_option("SHARD", reset->shard, "The shard")
      .required();

  AcceptArgs* const accept = program.keep<AcceptArgs>();
  add_cluster_command(program, above, "accept", "Accept an etcd that was restored",
                      kClusterAcceptExamples, accept, run_accept, true)
      .add_flag("--ignore-silent", accept->ignores_silent,
                "Nodes that do not respond are switched off");
}

void add_picture_options(CliCommand command, PictureOptions& options) {
  command.add_text("--node", options.node, "HOST:PORT",
                   "A node to ask for the others if etcd cannot be read");
  command.add_flag("--cache", options.is_cache, "Nodes need not keep their data: it is a cache");
}

void add_watch_commands(Program& program, CliCommand above) {
  StatusArgs* const status = program.keep<StatusArgs>();
  const CliCommand status_command =
      add_cluster_command(program, above, "status", "Show the cluster", kClusterStatusExamples,
                          status, run_status, false);
  status_command.add_flag("--watch,-w", status->is_watching, "Show it again every second");
  add_picture_options(status_command, status->picture);

  ClusterCheckArgs* const check = program.keep<ClusterCheckArgs>();
  add_picture_options(add_cluster_command(program, above, "check", "Look for problems",
                                          kClusterCheckExamples, check, run_cluster_check, false),
                      check->picture);
}

void add_dev_command(Program& program, CliCommand above) {
  DevArgs* const args = program.keep<DevArgs>();
  const CliCommand command =
      program.add(above, "dev", "Run a cluster on this machine, to try it", kClusterDevExamples);
  command.add_option("--nodes", args->nodes, "How many servers (default 6)")
      .type_name("N")
      .range(1, 60);
  command.add_option("--replicas", args->replicas, "Replicas of each primary (default 1)")
      .type_name("N")
      .range(0, 10);
  command.add_option("--lease", args->lease_ms, "Lease of the cluster (default 2000)")
      .type_name("MS")
      .range(200, 60'000);
  command.add_text("--dir", args->directory, "DIR",
                   "An empty directory for logs and data (default: one that is removed)");
  program.on(command, [args] { return run_dev(*args); });
}

}  // namespace

void add_cluster_commands(Program& program) {
  const CliCommand cluster =
      program.add("cluster", "Make, change and watch a cluster of servers", kClusterExamples);
  add_member_commands(program, cluster);
  add_move_commands(program, cluster);
  add_failover_commands(program, cluster);
  add_watch_commands(program, cluster);
  add_dev_command(program, cluster);
}

}  // namespace mayfly
