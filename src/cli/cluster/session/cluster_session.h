// SPDX-License-Identifier: Apache-2.0
// What the commands of `mayfly cluster` work with: the records in etcd, the nodes, and the person
// at the terminal. Each is a small interface, so that tests of commands need none of them.
//
//   Result<ClusterView> view = read_view(session);
//   if (!session.talk.confirm("Shall it be done?")) return Exit::failed;
//   return change_records(session, [&](const ClusterView& now) { ... return commit; });

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"
#include "cluster/plan/cluster_view.h"
#include "cluster/register.h"
#include "etcd/etcd_status.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "resp/reply_parser.h"

namespace mayfly {

struct NodeAddress {
  std::string host;
  int port = 0;

  auto operator<=>(const NodeAddress&) const = default;
  std::string text() const;
};

// HOST:PORT
Result<NodeAddress> parse_node_address(std::string_view text);

class ClusterRecords {
 public:
  virtual ~ClusterRecords() = default;

  virtual Result<RegisterSnapshot> read() = 0;
  // The records that any one member has, perhaps not the latest ones. For people, while there is no
  // majority.
  virtual Result<RegisterSnapshot> read_one() = 0;

  virtual CommitAnswer commit(const RegisterCommit& commit) = 0;

  // Until something changes, or the time is over.
  virtual void wait_change(Millis timeout) = 0;

  virtual Result<std::vector<EtcdEndpointStatus>> members() = 0;
};

class ClusterNodes {
 public:
  using Request = std::vector<std::string>;

  virtual ~ClusterNodes() = default;

  // Sends all requests and returns a reply to each, of which some may be errors. Fails if the node
  // cannot be reached, or has not answered all of them in time: Code::not_found if no process is
  // there (the connection is refused), busy if there is no answer, denied if it wants a password,
  // unsupported in protected mode, full if it takes no more clients.
  // May be called by several threads.
  virtual Result<std::vector<ReplyValue>> call(const NodeAddress& node,
                                               const std::vector<Request>& requests,
                                               Millis patience) = 0;
};

class ClusterTalk {
 public:
  virtual ~ClusterTalk() = default;

  virtual void print(std::string_view text) = 0;  // a result: to standard output
  virtual void note(std::string_view line) = 0;   // what goes on: to standard error
  virtual bool confirm(std::string_view question) = 0;
  virtual void progress(double done, std::string_view what) = 0;  // 0 to 1; drawn over itself
  virtual bool is_stopped() = 0;                                  // Ctrl-C

  // A report that is shown again and again: over itself on a terminal.
  virtual void show(const std::vector<std::string>& lines) = 0;

  // False if the person wants to end it.
  virtual bool pause(Millis time) = 0;
  virtual bool has_colours() = 0;
};

struct ClusterSession {
  ClusterRecords& records;
  ClusterNodes& nodes;
  ClusterTalk& talk;
  const Clock& clock;
  std::string name = "main";
  bool is_json = false;
  bool is_sure = false;  // --yes
};

// All records. If etcd does not answer, it is asked again for some seconds.
Result<ClusterView> read_view(ClusterSession& session);

// The same without patience, for what is shown again and again.
Result<ClusterView> read_view_once(ClusterSession& session);

// The same, and there must be a cluster.
Result<ClusterView> read_cluster(ClusterSession& session);

// Makes a commit from the records and commits it; again, from newer records, if somebody else was
// faster. Nothing: there is nothing to do.
using MakeCommit = std::function<Result<std::optional<RegisterCommit>>(const ClusterView& view)>;
Status change_records(ClusterSession& session, const MakeCommit& make);

// One commit, as it is; again for some seconds if there is no answer. Code::busy if a record has
// another version than it compares, and not because an earlier attempt was done after all.
Status commit_once(ClusterSession& session, const RegisterCommit& commit);

// Pieces of a commit: that a record is as it is in the view; the same, and its new text; and that
// the config has not changed, with a new version of it, so that changes of slots come one by one.
void compare(RegisterCommit& commit, const ClusterView& view, const std::string& key);
void replace(RegisterCommit& commit, const ClusterView& view, const std::string& key,
             std::optional<std::string> text);
void serialise(RegisterCommit& commit, const ClusterView& view);

// Looks again and again, until `is_done` says yes or the time is over. False: it is over, or
// somebody has pressed Ctrl-C.
bool wait_until(ClusterSession& session, Millis longest, const std::function<bool()>& is_done);

// Asks, unless --yes was given. An error says that nothing was changed.
Status ask(ClusterSession& session, std::string_view question);

// A node by its address, its id, or the beginning of its id. Code::not_found says which there are.
Result<std::string> find_node(const ClusterView& view, std::string_view words);
Result<const ClusterShard*> find_shard(const ClusterView& view, std::string_view id);

// Where a node is; Code::not_found if it has no record.
Result<NodeAddress> address_of(const ClusterView& view, std::string_view node);

std::string plural(std::size_t count, std::string_view noun);  // "1 slot", "2 slots"

}  // namespace mayfly
