// SPDX-License-Identifier: Apache-2.0
// FullSync: sends replicas the whole data set, by a child that saves it.
//
// From disk: the child writes a file, which is then sent to each of them. Diskless: the child
// writes to their connections itself, all at once, and this process has nothing to do with it. In
// both cases what happens after the fork is in the log, from `start` on; replicas that
// come while a file is being written share it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/persistence/storage_context.h"
#include "server/replication/replica_state.h"

namespace mayfly {

class Client;
class Replicas;

class FullSync {
 public:
  FullSync(const StorageContext& context, Replicas& replicas)
      : context_(context), replicas_(replicas) {}

  // The client waits for all data.
  void add(Client& client, Time now);

  // Starts a child when it is time.
  void before_sleep(Time now);

  // Puts more of its file into the client's output. Returns whether all of it is there.
  bool send_file(Client& client);

 private:
  std::vector<Client*> in_phase(ReplicaPhase phase) const;
  bool is_time(const std::vector<Client*>& waiting, Time now) const;
  void start(std::vector<Client*> waiting, Time now);
  std::string announcement() const;
  void announce(Client& client);
  static bool is_drained(Client& client);
  void saved(const Status& status);
  void streamed(const Status& status);
  void fail(ReplicaPhase phase, const Error& error);

  std::string file_name() const;
  SaveOptions options() const;
  Status start_child(const std::vector<int>& sockets, Time now);

  const StorageContext context_;
  Replicas& replicas_;
  std::uint64_t start_ = 0;  // of the log, at the fork
  bool is_diskless_ = false;
  RdbFilter filter_ = RdbFilter::all;  // of the child that runs, or was last
};

}  // namespace mayfly
