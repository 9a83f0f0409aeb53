// SPDX-License-Identifier: Apache-2.0
// Idempotency keys: a request that is sent twice, since the answer was lost, is done once.
//
// The client names each request; the answer is kept under that name for a day, the longest that a
// client tries again. Its deadline is all the housekeeping there is: without it, either answers
// would pile up forever or a job would have to find the old ones.
//
// What the request changes and its answer are written in one transaction. So a crash leaves both or
// neither, and there is no moment at which a request is half done.

#include <cstdint>
#include <iostream>
#include <string>

#include "mayfly/store.h"

using namespace std::chrono_literals;

namespace {

constexpr mayfly::Millis kWindow = 24h;

// What is answered to the request: as the first time, if there was one within the window.
mayfly::Result<std::string> charge(mayfly::WriteTxn& txn, const std::string& request,
                                   std::int64_t amount) {
  const auto before = txn.get("answer:" + request);
  if (!before) return before.error();  // it may have been done: do nothing
  if (*before) return std::string(**before);

  const std::int64_t balance = txn.increment("balance", -amount);
  std::string answer = "charged " + std::to_string(amount) + ", left " + std::to_string(balance);
  txn.put("answer:" + request, answer, kWindow);
  return answer;
}

std::string serve(mayfly::Store& store, const std::string& request, std::int64_t amount) {
  auto txn = store.write();
  if (!txn) return "try again";
  const auto answer = charge(*txn, request, amount);
  if (!answer || !txn->commit()) return "try again";  // nothing was done
  return *answer;
}

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

bool tell(mayfly::Store& store, mayfly::ManualClock& clock) {
  const auto balance_is = [&](const std::string& text) {
    const auto found = store.get("balance");
    return found.ok() && *found == text;
  };

  bool right = store.put("balance", "100").ok();
  const std::string first = serve(store, "r1", 30);
  right &= claim("the first request is done", first == "charged 30, left 70");
  clock.advance(1min);
  right &= claim("another one, too", serve(store, "r2", 5) == "charged 5, left 65");
  right &= claim("the first, sent again, gets its answer", serve(store, "r1", 30) == first);
  right &= claim("and is not done again", balance_is("65"));

  if (auto txn = store.write()) {
    right &= charge(*txn, "r3", 30).ok();  // and then a crash, just before the commit
  }
  right &= claim("a crash undoes all of a request", balance_is("65"));
  right &= claim("so that it can be sent again", serve(store, "r3", 30) == "charged 30, left 35");

  clock.advance(kWindow - 1min);
  right &= claim("a day later the name means nothing", serve(store, "r1", 30) != first);
  clock.advance(kWindow);
  store.purge_expired();
  const auto count = store.count();
  right &= claim("and only the balance is left", count.ok() && count->live == 1);
  return right;
}

}  // namespace

int main() {
  mayfly::ManualClock clock(mayfly::Time(1000h));  // in a program of yours: mayfly::SystemClock
  auto store = mayfly::Store::open("", clock);     // a path, and a crash loses nothing
  if (!store) {
    std::cerr << store.error().message << '\n';
    return 1;
  }
  return tell(*store, clock) ? 0 : 1;
}
