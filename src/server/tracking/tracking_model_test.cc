// SPDX-License-Identifier: Apache-2.0
// Random requests of clients in all modes, against a model of who must get which message.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mayfly/random.h"
#include "server/core/server_fixture.h"
#include "server/tracking/tracking.h"

namespace mayfly {
namespace tracking_model_test {

using namespace std::chrono_literals;

constexpr std::string_view kModes[] = {"",
                                       " NOLOOP",
                                       " OPTIN",
                                       " OPTOUT",
                                       " BCAST",
                                       " BCAST NOLOOP",
                                       " BCAST PREFIX a PREFIX b",
                                       " BCAST PREFIX b NOLOOP"};

// A client as the model knows it.
struct Modelled {
  TestClient* client = nullptr;
  bool is_on = false;
  std::string_view mode;
  bool caching = false;
  std::set<std::string> read;  // what it is to be told of
  std::vector<std::string> expected;

  bool is(std::string_view option) const {
    return is_on && mode.find(option) != std::string_view::npos;
  }
  bool has_prefix(const std::string& key, std::string_view prefix) const {
    const bool has_any = mode.find("PREFIX") != std::string_view::npos;
    if (prefix.empty()) return !has_any;
    return is("PREFIX " + std::string(prefix)) && key.starts_with(prefix);
  }
};

class TrackingModelTest : public ::testing::Test, protected ServerFixture {
 protected:
  static constexpr std::size_t kClients = 10;

  void SetUp() override {
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.push_back({&connect(), false, {}, false, {}, {}});
      clients.back().client->run("HELLO 3");
    }
  }

  std::string any_key() {
    return std::string(1, static_cast<char>('a' + random.below(3))) +
           std::to_string(random.below(5));
  }
  std::vector<std::string> some_keys() {
    std::set<std::string> keys;
    for (std::uint64_t i = random.below(3) + 1; i > 0; --i) keys.insert(any_key());
    return {keys.begin(), keys.end()};
  }

  // Keys that were changed in one turn, by this client or by none. The table forgets them even if
  // the client that made the change is not told.
  void changed(const std::vector<std::string>& keys, const Modelled* by) {
    for (Modelled& one : clients) {
      const bool is_mine = &one == by && one.is("NOLOOP");
      for (const std::string& key : keys) {
        if (one.read.erase(key) > 0 && one.is_on && !one.is("BCAST") && !is_mine) {
          one.expected.push_back(message("\"" + key + "\""));
        }
      }
      if (!one.is("BCAST") || is_mine) continue;
      for (const std::string_view prefix : {"", "a", "b"}) {
        std::string list;
        for (const std::string& key : keys) {
          if (one.has_prefix(key, prefix)) list += (list.empty() ? "\"" : ", \"") + key + "\"";
        }
        if (!list.empty()) one.expected.push_back(message(list));
      }
    }
  }

  static std::string message(const std::string& keys) {
    return "(push) [\"invalidate\", [" + keys + "]]";
  }

  void run(Modelled& one, const std::string& line) {
    const std::string out = one.client->run(line);
    const std::size_t messages = out.find("(push)");
    if (messages != std::string::npos) got[&one] += " " + out.substr(messages);
    if (!line.starts_with("CLIENT")) one.caching = false;
  }

  void read(Modelled& one) {
    const std::vector<std::string> keys = some_keys();
    const bool remembers = one.is_on && !one.is("BCAST") && (!one.is("OPTIN") || one.caching) &&
                           (!one.is("OPTOUT") || !one.caching);
    if (remembers) one.read.insert(keys.begin(), keys.end());
    std::string line = "MGET";
    for (const std::string& key : keys) line += " " + key;
    run(one, line);
  }

  void write(Modelled& one) {
    const std::vector<std::string> keys = some_keys();
    changed(keys, &one);
    std::string line = "MSET";
    for (const std::string& key : keys) {
      line += " " + key + " v";
      expiring.erase(key);
    }
    run(one, line);
  }

  void write_expiring(Modelled& one) {
    const std::string key = any_key();
    changed({key}, &one);
    expiring.insert(key);
    run(one, "SET " + key + " v PX 50");
  }

  void expire() {
    changed({expiring.begin(), expiring.end()}, nullptr);
    expiring.clear();
    advance(50ms);
  }

  void flush(Modelled& one) {
    for (Modelled& other : clients) {
      other.read.clear();
      if (other.is_on) other.expected.push_back("(push) [\"invalidate\", (nil)]");
    }
    expiring.clear();
    run(one, "FLUSHALL");
  }

  void switch_mode(Modelled& one) {
    if (one.is_on) {
      one.is_on = one.caching = false;
      run(one, "CLIENT TRACKING OFF");
      // Its id stays in the table, unless it was the last one.
      if (!server().parts().tracking.any()) {
        for (Modelled& other : clients) other.read.clear();
      }
    } else {
      one.mode = kModes[random.below(std::size(kModes))];
      one.is_on = true;
      run(one, "CLIENT TRACKING ON" + std::string(one.mode));
    }
  }

  void set_caching(Modelled& one) {
    if (!one.is("OPTIN") && !one.is("OPTOUT")) return;
    one.caching = true;
    run(one, one.is("OPTIN") ? "CLIENT CACHING YES" : "CLIENT CACHING NO");
  }

  // In the order of the alphabet: what expires at the same time may be told in any order.
  static std::vector<std::string> messages_in(const std::string& text) {
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(" (push)", at + 1), text.size());
      messages.push_back(text.substr(at + 1, end - at - 1));
      at = end;
    }
    std::ranges::sort(messages);
    return messages;
  }

  void check(int step) {
    sweep();
    for (Modelled& one : clients) {
      if (const std::string late = one.client->messages(); !late.empty()) got[&one] += " " + late;
      std::ranges::sort(one.expected);
      ASSERT_EQ(messages_in(got[&one]), one.expected)
          << "step " << step << ", client " << &one - clients.data();
      one.expected.clear();
    }
    got.clear();
    ASSERT_EQ(server().parts().tracking.table().check_invariants(), "");
  }

  Random random{20};
  std::vector<Modelled> clients;
  std::set<std::string> expiring;
  std::map<const Modelled*, std::string> got;
};

TEST_F(TrackingModelTest, EveryClientGetsTheMessagesThatItMustGet) {
  for (int step = 0; step < 20'000; ++step) {
    Modelled& one = clients[random.below(kClients)];
    const std::uint64_t roll = random.below(100);
    if (roll < 45) {
      read(one);
    } else if (roll < 65) {
      write(one);
    } else if (roll < 72) {
      write_expiring(one);
    } else if (roll < 75) {
      expire();
    } else if (roll < 77) {
      flush(one);
    } else if (roll < 85) {
      switch_mode(one);
    } else {
      set_caching(one);
    }
    ASSERT_NO_FATAL_FAILURE(check(step));
  }
}

}  // namespace tracking_model_test
}  // namespace mayfly
