// SPDX-License-Identifier: Apache-2.0
// Leaderboard of the last hour: the best games that were finished in it. With hiredis.
//
// A game is a member of a sorted set, by its points, with a deadline an hour after its end
// (ZADDEX). An hour later it is gone, and those below it move up: nobody removes old games, and
// ranks and counts are exact at every moment. A member is a game and not a player, so that when a
// player's best game goes the next best is still there.

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
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

class Board {
 public:
  static constexpr std::chrono::seconds kHour = 1h;

  explicit Board(Server& server) : server_(server) {}

  void finish(const std::string& game, int points) {
    const std::string seconds = std::to_string(kHour.count());
    server_.ask({"ZADDEX", kKey, "EX", seconds, "MEMBERS", "1", std::to_string(points), game});
  }

  // Adds to the points of a game. Its hour goes on: ZINCRBY keeps the deadline.
  void correct(const std::string& game, int points) {
    server_.ask({"ZINCRBY", kKey, std::to_string(points), game});
  }

  std::vector<std::string> best(int count) {
    const Answer reply = server_.ask({"ZRANGE", kKey, "0", std::to_string(count - 1), "REV"});
    std::vector<std::string> games;
    for (std::size_t i = 0; i < reply->elements; ++i) games.push_back(reply->element[i]->str);
    return games;
  }

  // 1 is the best; nothing if the game is older than an hour.
  std::optional<long long> place(const std::string& game) {
    const Answer reply = server_.ask({"ZREVRANK", kKey, game});
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    return reply->integer + 1;
  }

  // How many games have at least so many points.
  long long games(int least) {
    return server_.ask({"ZCOUNT", kKey, std::to_string(least), "+inf"})->integer;
  }

  long long seconds_left(const std::string& game) {
    return server_.ask({"ZTTL", kKey, "MEMBERS", "1", game})->element[0]->integer;
  }

  // Instead of waiting: the deadline of this game comes at once.
  void pass_an_hour(const std::string& game) {
    server_.ask({"ZPEXPIRE", kKey, "1", "MEMBERS", "1", game});
    while (place(game)) {
    }
  }

 private:
  static constexpr const char* kKey = "example:board";
  Server& server_;
};

bool claim(const char* what, bool holds) {
  std::cout << (holds ? "  yes: " : "  NO:  ") << what << '\n';
  return holds;
}

bool run(Server& server) {
  using Games = std::vector<std::string>;
  Board board(server);
  server.ask({"DEL", "example:board"});
  board.finish("ann:1", 90);
  board.finish("ann:2", 70);
  board.finish("bob:1", 80);
  board.finish("cat:1", 40);
  bool right = claim("ann's first game leads", board.best(2) == Games{"ann:1", "bob:1"});
  right &= claim("her second is third", board.place("ann:2") == 3);
  right &= claim("three games have 50 points", board.games(50) == 3);
  board.correct("cat:1", 15);
  const long long left = board.seconds_left("cat:1");
  right &= claim("cat gets 15 more, and no more time",
                 board.games(50) == 4 && left > 0 && left <= Board::kHour.count());
  board.pass_an_hour("ann:1");
  right &= claim("an hour after it ann's first game is gone", !board.place("ann:1"));
  right &= claim("bob leads", board.best(2) == Games{"bob:1", "ann:2"});
  right &= claim("and ann's second game is second", board.place("ann:2") == 2);
  right &= claim("three games are left, exactly", board.games(0) == 3);
  for (const char* game : {"ann:2", "bob:1", "cat:1"}) board.pass_an_hour(game);
  right &= claim("with the last game the key is gone",
                 server.ask({"EXISTS", "example:board"})->integer == 0);
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
