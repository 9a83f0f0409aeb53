// SPDX-License-Identifier: Apache-2.0
#include "server/monitoring/memory_overhead.h"

#include "server/admin/client_list.h"
#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {

std::size_t deadline_bytes(const Database& database) {
  return (database.deadline_count() + database.member_deadline_count()) * kDeadlineBytes;
}

MemoryOverhead memory_overhead(Server& server) {
  MemoryOverhead overhead;
  for (const auto& [id, client] : server.clients()) {
    (client->is_attached_replica() ? overhead.replica_clients : overhead.normal_clients) +=
        memory_of(*client);
  }
  overhead.backlog = server.replication().log().memory();
  const Aof* const log = server.persistence().aof().log();
  overhead.aof_buffer = log == nullptr ? 0 : log->buffered();
  for (int number = 0; number < server.keyspace().count(); ++number) {
    const Database& database = server.keyspace()[number];
    if (database.size(server.context()) == 0) continue;
    overhead.tables += database.table_bytes() + deadline_bytes(database);
  }
  return overhead;
}

}  // namespace mayfly
