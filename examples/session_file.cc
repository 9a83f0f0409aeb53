// SPDX-License-Identifier: Apache-2.0
// Sessions that survive a restart: the ten lines of README.md, complete.

#include <filesystem>
#include <iostream>

#include "mayfly/store.h"

using namespace std::chrono_literals;

int main() {
  const auto path = std::filesystem::temp_directory_path() / "mayfly-example-sessions.db";
  std::filesystem::remove(path);
  mayfly::ManualClock clock;  // in a program of yours: mayfly::SystemClock
  auto store = mayfly::Store::open(path, clock);
  if (!store) {
    std::cerr << store.error().message << '\n';
    return 1;
  }
  auto txn = store->write();
  if (!txn) return 1;
  txn->put("session:42", "alice", 30min);  // gone in half an hour, to the millisecond
  txn->put("motd", "hello");               // never
  if (!txn->commit()) return 1;            // both or neither, and a crash does not undo it

  clock.advance(30min);  // instead of waiting
  const auto session = store->get("session:42");
  const auto purged = store->purge_expired();
  std::cout << "live: " << store->count()->live << ", purged: " << purged.removed << '\n';
  const bool gone = session.ok() && !session->has_value();
  const bool one_left = store->count()->live == 1;
  const bool closed = store->close().ok();
  for (const char* const suffix : {"", "-lock", "-shm", "-undo"}) {
    std::filesystem::remove(path.string() + suffix);
  }
  return gone && one_left && closed ? 0 : 1;
}
