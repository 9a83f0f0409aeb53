// SPDX-License-Identifier: Apache-2.0
// Session store in memory: sessions that end after half an hour without a request, and after eight
// hours in any case. A listener learns of every session that ends, and why.
//
// The TTL slides: reading a session puts its deadline off, and the cache does it by itself. Where
// sessions have to outlive the program, see session_store.cc.

#include <iostream>
#include <string>
#include <vector>

#include "mayfly/cache.h"

using namespace std::chrono_literals;

namespace {

struct Session {
  std::string user;
  int requests = 0;
};

class Sessions {
 public:
  explicit Sessions(const mayfly::Clock& clock)
      : sessions_(clock, {.default_expiry = mayfly::Expiry::sliding(30min, 8h),
                          .listener = [this](auto& removal) { note(removal); }}) {}

  void log_in(const std::string& token, const std::string& user) {
    sessions_.put(token, Session{.user = user});
  }

  // Whether the session is alive. Reading it is what keeps it alive.
  bool request(const std::string& token) { return sessions_.get(token) != nullptr; }

  void log_out(const std::string& token) { sessions_.erase(token); }

  // For a timer of yours. Sessions that have ended are gone for request() without it.
  void clean_up() { sessions_.purge(1'000); }

  const std::vector<std::string>& journal() const { return journal_; }

 private:
  void note(const mayfly::Removal<std::string, Session>& removal) {
    journal_.push_back(removal.value.user + ' ' + to_string(removal.cause));
    std::cout << "  the session of " << journal_.back() << '\n';
  }

  std::vector<std::string> journal_;  // before the cache, which uses it
  mayfly::Cache<std::string, Session> sessions_;
};

}  // namespace

int main() {
  mayfly::ManualClock clock;
  Sessions sessions(clock);
  sessions.log_in("t1", "ann");  // makes a request every 20 minutes
  sessions.log_in("t2", "bob");  // makes none
  sessions.log_in("t3", "eve");  // logs out
  sessions.log_out("t3");

  int minutes = 0;
  while (sessions.request("t1")) {
    clock.advance(20min);
    minutes += 20;
    sessions.clean_up();
  }
  std::cout << "  ann was let in for " << minutes << " minutes\n";

  const std::vector<std::string> expected{"eve erased", "bob expired", "ann expired"};
  return minutes == 8 * 60 && sessions.journal() == expected ? 0 : 1;
}
