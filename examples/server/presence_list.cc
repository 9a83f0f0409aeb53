// SPDX-License-Identifier: Apache-2.0
// Presence list: who is online, by a server, for all web servers at once. With hiredis.
//
// The users who are online are one set, and each member has a deadline of its own (SADDEX). A
// browser sends a heartbeat every 20 seconds, which puts the deadline off to a minute from then. A
// user whose browser is closed, or whose network is gone, sends none, and a minute later is no
// member: nobody looks for silent users, and SCARD is exact. Since it is a set, it can be
// intersected with others.

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Answer = std::unique_ptr<redisReply, FreeReply>;

class Server {
 public:
  explicit Server(int port) : context_(redisConnect("127.0.0.1", port)) {
    if (!context_ || context_->err != 0) {
      throw std::runtime_error(context_ ? context_->errstr : "no memory");
    }
  }

  Answer ask(const std::vector<std::string>& words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Answer reply(static_cast<redisReply*>(redisCommandArgv(
        context_.get(), static_cast<int>(words.size()), starts.data(), sizes.data())));
    if (!reply) throw std::runtime_error(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
    return reply;
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  std::unique_ptr<redisContext, Free> context_;
};

class Presence {
 public:
  static constexpr std::chrono::seconds kOnline = 60s;

  explicit Presence(Server& server) : server_(server) {}

  // Whether the user has just come online.
  bool heartbeat(const std::string& user) {
    const std::string seconds = std::to_string(kOnline.count());
    return server_.ask({"SADDEX", kKey, "EX", seconds, "MEMBERS", "1", user})->integer == 1;
  }
  void log_out(const std::string& user) { server_.ask({"SREM", kKey, user}); }

  bool is_online(const std::string& user) {
    return server_.ask({"SISMEMBER", kKey, user})->integer == 1;
  }
  long long count() { return server_.ask({"SCARD", kKey})->integer; }

  std::set<std::string> friends_online(const std::string& user) {
    const Answer reply = server_.ask({"SINTER", kKey, "example:friends:" + user});
    std::set<std::string> names;
    for (std::size_t i = 0; i < reply->elements; ++i) names.insert(reply->element[i]->str);
    return names;
  }

  // Until the user counts as offline; -2 for one who is.
  long long seconds_left(const std::string& user) {
    return server_.ask({"STTL", kKey, "MEMBERS", "1", user})->element[0]->integer;
  }

  // Instead of waiting for a minute without a heartbeat: the deadline comes at once.
  void be_silent(const std::string& user) {
    server_.ask({"SPEXPIRE", kKey, "1", "MEMBERS", "1", user});
    while (is_online(user)) {
    }
  }

 private:
  static constexpr const char* kKey = "example:online";
  Server& server_;
};

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

bool run(Server& server) {
  Presence presence(server);
  server.ask({"DEL", "example:online"});
  server.ask({"SADD", "example:friends:ann", "bob", "cat", "dan"});
  bool right = true;
  for (const char* user : {"ann", "bob", "cat"}) right &= presence.heartbeat(user);
  right = claim("ann, bob and cat come online", right);
  right &= claim("ann's next heartbeat is no news", !presence.heartbeat("ann"));
  right &= claim("two of ann's friends are online",
                 presence.friends_online("ann") == std::set<std::string>{"bob", "cat"});
  presence.log_out("cat");
  right &= claim("cat logs out", !presence.is_online("cat"));
  const long long left = presence.seconds_left("bob");
  right &= claim("bob has a minute", left > 0 && left <= Presence::kOnline.count());
  presence.be_silent("bob");
  right &= claim("bob's browser is closed: a minute later he is gone",
                 presence.seconds_left("bob") == -2);
  right &= claim("one user is online, exactly", presence.count() == 1);
  right &= claim("none of ann's friends is online", presence.friends_online("ann").empty());
  presence.be_silent("ann");
  right &= claim("with the last member the key is gone",
                 server.ask({"EXISTS", "example:online"})->integer == 0);
  server.ask({"DEL", "example:friends:ann"});
  return right;
}

}  // namespace

int main() {
  try {
    const char* port = std::getenv("PORT");
    Server server(port != nullptr ? std::atoi(port) : 6379);
    return run(server) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
