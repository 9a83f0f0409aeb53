// SPDX-License-Identifier: Apache-2.0
// Locks with leases: only one process does the work, and a crash of that one stops nobody for long.
//
// A lock is a key with a TTL, put only if it is absent. A holder that lives renews it; one that
// crashed does not, and then the deadline opens the lock: nobody has to find out who died.
//
// A lease can end without its holder noticing: it was suspended, say. So each lease has a number,
// greater than all before it. It is the value of the lock, by which renew and release make sure
// that the lock is still theirs; and what the lock protects refuses a number that is out of date.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "mayfly/store.h"

using namespace std::chrono_literals;

namespace {

constexpr mayfly::Millis kLease = 10s;

using Number = std::int64_t;

// The number of the new lease; nothing while somebody else has the lock.
std::optional<Number> acquire(mayfly::Store& store, const std::string& name) {
  auto txn = store.write();
  if (!txn) return std::nullopt;
  const Number number = txn->increment("leases:" + name);
  if (!txn->put_if_absent("lock:" + name, std::to_string(number), kLease)) return std::nullopt;
  return txn->commit() ? std::optional(number) : std::nullopt;
}

// Whether the lease goes on. It does not if it has ended, even if no other client has the lock.
bool renew(mayfly::Store& store, const std::string& name, Number number) {
  const std::string mine = std::to_string(number);
  const auto renewed = store.compare_and_set("lock:" + name, mine, mine, kLease);
  return renewed.ok() && *renewed;
}

// Whether the lock was still held. Never takes it from somebody else.
bool release(mayfly::Store& store, const std::string& name, Number number) {
  auto txn = store.write();
  if (!txn) return false;
  const auto holder = txn->get("lock:" + name);
  if (!holder || *holder != std::to_string(number)) return false;
  txn->erase("lock:" + name);
  return txn->commit().ok();
}

// What the lock protects; on another machine, perhaps.
class Report {
 public:
  bool write(const std::string& text, Number number) {
    if (number < newest_) return false;
    newest_ = number;
    text_ = text;
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  Number newest_ = 0;
  std::string text_;
};

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

bool tell(mayfly::Store& store, mayfly::ManualClock& clock) {
  Report report;
  const auto ann = acquire(store, "report");
  bool right = claim("ann has the lock, bob has not", ann && !acquire(store, "report"));
  clock.advance(8s);
  right &= claim("ann renews her lease", renew(store, "report", *ann));
  clock.advance(8s);
  right &= claim("so she has it 16 s later, too", !acquire(store, "report"));

  clock.advance(2s);  // ann is suspended; ten seconds after she renewed it, her lease is over
  const auto bob = acquire(store, "report");
  right &= claim("bob gets the lock, with a greater number", bob && *bob > *ann);
  right &= report.write("by bob", *bob);
  right &= claim("ann wakes up: she can't renew", !renew(store, "report", *ann));
  right &= claim("nor release what is now bob's", !release(store, "report", *ann));
  right &= claim("nor write", !report.write("by ann", *ann) && report.text() == "by bob");
  right &= claim("bob releases the lock", release(store, "report", *bob));
  right &= claim("and it is free at once", acquire(store, "report").has_value());
  return right;
}

}  // namespace

int main() {
  mayfly::ManualClock clock(mayfly::Time(1000h));  // in a program of yours: mayfly::SystemClock
  auto store = mayfly::Store::open("", clock);     // a path, and all processes share the locks
  if (!store) {
    std::cerr << store.error().message << '\n';
    return 1;
  }
  return tell(*store, clock) ? 0 : 1;
}
