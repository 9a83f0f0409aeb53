// SPDX-License-Identifier: Apache-2.0
// Ids and offsets of the replication stream.

#include "server/replication/replication_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "resp/encode.h"

namespace mayfly {

std::string random_id() {
  std::random_device device;
  std::string id;
  while (id.size() < 40) id += fmt::format("{:08x}", device());
  return id;
}

void ReplicationStream::open() {
  if (is_open_) return;
  is_open_ = true;
  log_.restart(log_.end());
  selected_ = -1;
  propagation_.add_sink(*this);
}

void ReplicationStream::close() {
  if (!is_open_) return;
  is_open_ = false;
  log_.restart(log_.end());
  propagation_.remove_sink(*this);
  ids_ = {};
}

void ReplicationStream::adopt(const std::string& id, std::uint64_t next) {
  ids_ = {id, {}, 0};
  is_open_ = true;
  log_.restart(next);
  propagation_.add_sink(*this);
}

void ReplicationStream::take(int database, std::string_view command) {
  if (is_replica_) return;
  if (database != selected_) {
    std::string select;
    append_request(select,
                   std::initializer_list<std::string_view>{"SELECT", std::to_string(database)});
    log_.append(select);
    selected_ = database;
  }
  log_.append(command);
}

RdbAux ReplicationStream::aux() const {
  if (!is_open_) return {};
  return {{"repl-stream-db", std::to_string(std::max(selected_, 0))},
          {"repl-id", ids_.id},
          {"repl-offset", std::to_string(log_.end())}};
}

}  // namespace mayfly
