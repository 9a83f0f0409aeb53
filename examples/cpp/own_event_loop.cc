// SPDX-License-Identifier: Apache-2.0
// A cache cleaned by the program's own event loop: it wakes when something expires, does a bounded
// piece of the work each turn, and is idle in between.
//
// The loop here is simulated. A real one calls epoll_wait or the like where this one moves the
// clock, and then sets the ManualClock to the time it read: one reading for all of a turn.

#include <algorithm>
#include <deque>
#include <iostream>
#include <string>

#include "mayfly/cache.h"

using namespace std::chrono_literals;

namespace {

using mayfly::Millis;
using mayfly::Time;

constexpr std::size_t kPurgeLimit = 128;  // entries a turn: no turn takes long

class Loop {
 public:
  Loop() : tokens_(clock_, {.cleanup = mayfly::Cleanup::manual}) {}

  // When a request comes in, it is answered; here, by a token that lives for a minute.
  void add_requests(int count, Time when) { requests_.insert(requests_.end(), count, when); }

  // Runs until nothing is left to wait for.
  void run() {
    while (!requests_.empty() || tokens_.next_deadline() != mayfly::kNever) {
      wait();
      ++turns_;
      answer();
      const std::size_t purged = tokens_.purge(kPurgeLimit);
      most_purged_ = std::max(most_purged_, purged);
      std::cout << "  " << clock_.now().time_since_epoch() / 1s << " s: purged " << purged
                << ", live " << tokens_.size() << ", stored " << tokens_.stored() << '\n';
    }
  }

  int turns() const { return turns_; }
  std::size_t most_purged() const { return most_purged_; }
  std::size_t stored() const { return tokens_.stored(); }

 private:
  // Until the next request or the next deadline. What is due already makes the wait zero: that is
  // how a purge that stopped at its limit goes on in the next turn.
  void wait() {
    Time next = tokens_.next_deadline();
    if (!requests_.empty()) next = std::min(next, requests_.front());
    clock_.advance(mayfly::remaining(next, clock_.now()));
  }

  void answer() {
    while (!requests_.empty() && mayfly::is_due(requests_.front(), clock_.now())) {
      tokens_.put(last_token_++, "token", 60s);
      requests_.pop_front();
    }
  }

  mayfly::ManualClock clock_;
  mayfly::Cache<int, std::string> tokens_;
  std::deque<Time> requests_;
  int last_token_ = 0;
  int turns_ = 0;
  std::size_t most_purged_ = 0;
};

}  // namespace

int main() {
  Loop loop;
  loop.add_requests(1'000, Time(5s));  // all of their tokens expire together, at 65 s
  loop.add_requests(1, Time(30s));     // and this one at 90 s
  loop.run();

  // Two turns for the requests, eight for a thousand tokens, one for the last.
  std::cout << loop.turns() << " turns in 90 s, at most " << loop.most_purged()
            << " entries purged in one\n";
  return loop.turns() == 11 && loop.most_purged() == kPurgeLimit && loop.stored() == 0 ? 0 : 1;
}
