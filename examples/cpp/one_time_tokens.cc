// SPDX-License-Identifier: Apache-2.0
// One-time tokens: a code sent by mail is good for ten minutes, and for one use.
//
// A token is a key with a TTL whose value says whom it is for; to redeem it is to read and erase it
// in one transaction. Too old, used before and never issued are then the same thing, an absent key,
// and there is one test for all three. No table of used tokens grows, and none is cleaned.

#include <atomic>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mayfly/store.h"

using namespace std::chrono_literals;

namespace {

constexpr mayfly::Millis kGoodFor = 10min;

bool issue(mayfly::Store& store, const std::string& token, const std::string& user) {
  const auto issued = store.put_if_absent("token:" + token, user, kGoodFor);
  return issued.ok() && *issued;  // false: somebody has this very token now; make another
}

// Whom the token is for, if it is good. It is not a second time.
std::optional<std::string> redeem(mayfly::Store& store, const std::string& token) {
  const std::string key = "token:" + token;
  auto txn = store.write();  // there is one at a time, in all threads and processes
  if (!txn) return std::nullopt;
  const auto found = txn->get(key);
  if (!found || !*found) return std::nullopt;
  std::string user(**found);  // a copy, since a write ends the view
  txn->erase(key);
  if (!txn->commit()) return std::nullopt;  // perhaps not used up, so not honoured either
  return user;
}

// Of eight threads with the same token, how many get in.
int redeemed_by_eight(mayfly::Store& store, const std::string& token) {
  std::atomic<int> winners = 0;
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { winners += redeem(store, token) ? 1 : 0; });
  }
  threads.clear();  // waits for them
  return winners;
}

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

}  // namespace

int main() {
  mayfly::ManualClock clock(mayfly::Time(1000h));  // in a program of yours: mayfly::SystemClock
  auto store = mayfly::Store::open("", clock);     // a path, and tokens outlive the program
  if (!store) {
    std::cerr << store.error().message << '\n';
    return 1;
  }

  bool right = issue(*store, "7f3a", "ann");
  right &= claim("a token can't be issued twice", !issue(*store, "7f3a", "eve"));
  clock.advance(kGoodFor - 1ms);
  right &= claim("the last millisecond is early enough", redeem(*store, "7f3a") == "ann");
  right &= claim("the second use fails", !redeem(*store, "7f3a"));
  right &= claim("so does a token that nobody issued", !redeem(*store, "0000"));

  right &= issue(*store, "19c2", "bob");
  clock.advance(kGoodFor);
  right &= claim("so does one that is ten minutes old", !redeem(*store, "19c2"));

  right &= issue(*store, "e5d0", "joe");
  right &= claim("of eight at once, one gets in", redeemed_by_eight(*store, "e5d0") == 1);
  const auto count = store->count();
  right &= claim("nothing is left behind", count.ok() && count->live == 0);
  return right ? 0 : 1;
}
