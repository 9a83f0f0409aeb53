// SPDX-License-Identifier: Apache-2.0
// Session store: a session ends half an hour after its last request, and outlives the program.
//
// A session is a key with a TTL, and each request puts its deadline off (`touch`). So there is no
// "last seen" to compare with the time and no job that looks for dead sessions: from its deadline
// on, a session is not there. The deadline stands in the file as a moment, not as a duration, so
// that the time for which the program was down counts as well.
//
// Where sessions may be lost with the program, session_cache.cc does the same in memory.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "mayfly/store.h"

using namespace std::chrono_literals;

namespace {

constexpr mayfly::Millis kIdle = 30min;

class Sessions {
 public:
  explicit Sessions(mayfly::Store& store) : store_(store) {}

  bool log_in(const std::string& token, const std::string& user) {
    return store_.put(token, user, kIdle).ok();
  }

  // Whose session it is; nothing if it has ended. This is what keeps it alive.
  std::optional<std::string> request(const std::string& token) {
    auto txn = store_.write();
    if (!txn || !txn->touch(token, kIdle)) return std::nullopt;
    const auto user = txn->get(token);
    if (!user || !*user) return std::nullopt;
    std::string name(**user);  // a copy, since the view ends with the transaction
    return txn->commit() ? std::optional(std::move(name)) : std::nullopt;
  }

  bool log_out(const std::string& token) {
    const auto erased = store_.erase(token);
    return erased.ok() && *erased;
  }

  // Gives back the space of sessions that nobody asks for. For a timer of yours: nothing but the
  // size of the file depends on it.
  std::uint64_t clean_up() { return store_.purge_expired().removed; }

 private:
  mayfly::Store& store_;
};

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

bool before_the_restart(mayfly::Store& store, mayfly::ManualClock& clock) {
  Sessions sessions(store);
  bool right =
      sessions.log_in("t1", "ann") && sessions.log_in("t2", "bob") && sessions.log_in("t3", "eve");
  right &= claim("eve logs out", sessions.log_out("t3") && !sessions.request("t3"));
  clock.advance(20min);
  right &= claim("ann is here after 20 minutes", sessions.request("t1") == "ann");
  return right;
}

bool after_the_restart(mayfly::Store& store, mayfly::ManualClock& clock) {
  Sessions sessions(store);
  bool right = claim("bob, who made no request, is gone after 30", !sessions.request("t2"));
  right &= claim("ann is not", sessions.request("t1") == "ann");
  clock.advance(kIdle - 1ms);
  right &= claim("nor a millisecond before her time", sessions.request("t1") == "ann");
  clock.advance(kIdle);
  right &= claim("then she is idle for 30 minutes, and gone", !sessions.request("t1"));
  right &= sessions.log_in("t4", "joe");
  clock.advance(kIdle);
  const bool cleaned = sessions.clean_up() > 0;
  right &= claim("so is joe; one call cleans up", cleaned && store.count()->expired == 0);
  return right;
}

// Runs a part of the story on the store at `path`, and closes it.
template <class Part>
bool run(const std::filesystem::path& path, mayfly::ManualClock& clock, Part part) {
  auto store = mayfly::Store::open(path, clock);
  if (!store) return claim(store.error().message.c_str(), false);
  return part(*store, clock);
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "mayfly-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const auto path = std::filesystem::path(folder) / "sessions.db";
  mayfly::ManualClock clock(mayfly::Time(1000h));  // in a program of yours: mayfly::SystemClock

  const bool first = run(path, clock, before_the_restart);
  clock.advance(10min);  // for which the program is down
  const bool second = run(path, clock, after_the_restart);
  std::filesystem::remove_all(folder);
  return first && second ? 0 : 1;
}
