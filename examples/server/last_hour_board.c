// SPDX-License-Identifier: Apache-2.0
// Leaderboard of the last hour: the best games that were finished in it. With hiredis.
//
// A game is a member of a sorted set, by its points, with a deadline an hour after its end
// (ZADDEX). An hour later it is gone, and those below it move up: nobody removes old games, and
// ranks and counts are exact at every moment. A member is a game and not a player, so that when a
// player's best game goes the next best is still there.

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOARD "example:board"
static const int kHourSeconds = 3600;

// The reply of a command, for freeReplyObject(). A failure ends the program.
static redisReply* ask(redisContext* server, const char* format, ...) {
  va_list words;
  va_start(words, format);
  redisReply* reply = redisvCommand(server, format, words);
  va_end(words);
  if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
    fprintf(stderr, "%s\n", reply == NULL ? server->errstr : reply->str);
    exit(1);
  }
  return reply;
}

// The number in a reply, which it frees: of the only element, if it is a list. -1 if it is none.
static long long number(redisReply* reply) {
  const redisReply* one = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : reply;
  const long long value = one->type == REDIS_REPLY_INTEGER ? one->integer : -1;
  freeReplyObject(reply);
  return value;
}

static void finish(redisContext* server, const char* game, int points) {
  number(ask(server, "ZADDEX " BOARD " EX %d MEMBERS 1 %d %s", kHourSeconds, points, game));
}

static int leads(redisContext* server, const char* game) {
  redisReply* reply = ask(server, "ZRANGE " BOARD " 0 0 REV");
  const int same = reply->elements == 1 && strcmp(reply->element[0]->str, game) == 0;
  freeReplyObject(reply);
  return same;
}

// 1 is the best; 0: the game is older than an hour.
static long long place(redisContext* server, const char* game) {
  return number(ask(server, "ZREVRANK " BOARD " %s", game)) + 1;
}

// How many games have at least so many points.
static long long games(redisContext* server, int least) {
  return number(ask(server, "ZCOUNT " BOARD " %d +inf", least));
}

// Instead of waiting: the deadline of this game comes at once.
static void pass_an_hour(redisContext* server, const char* game) {
  number(ask(server, "ZPEXPIRE " BOARD " 1 MEMBERS 1 %s", game));
  while (place(server, game) != 0) {
  }
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

static int run(redisContext* server) {
  number(ask(server, "DEL " BOARD));
  finish(server, "ann:1", 90);
  finish(server, "ann:2", 70);
  finish(server, "bob:1", 80);
  finish(server, "cat:1", 40);
  int right = claim("ann's first game leads", leads(server, "ann:1"));
  right &= claim("her second is third", place(server, "ann:2") == 3);
  right &= claim("three games have 50 points", games(server, 50) == 3);
  freeReplyObject(ask(server, "ZINCRBY " BOARD " 15 cat:1"));  // which keeps the deadline
  const long long left = number(ask(server, "ZTTL " BOARD " MEMBERS 1 cat:1"));
  right &= claim("cat gets 15 more, and no more time",
                 games(server, 50) == 4 && left > 0 && left <= kHourSeconds);
  pass_an_hour(server, "ann:1");
  right &= claim("an hour after it ann's first game is gone", place(server, "ann:1") == 0);
  right &= claim("bob leads", leads(server, "bob:1"));
  right &= claim("and ann's second game is second", place(server, "ann:2") == 2);
  right &= claim("three games are left, exactly", number(ask(server, "ZCARD " BOARD)) == 3);
  pass_an_hour(server, "ann:2");
  pass_an_hour(server, "bob:1");
  pass_an_hour(server, "cat:1");
  right &= claim("with the last game the key is gone", number(ask(server, "EXISTS " BOARD)) == 0);
  return right;
}

int main(void) {
  const char* port = getenv("PORT");
  redisContext* server = redisConnect("127.0.0.1", port != NULL ? atoi(port) : 6379);
  if (server == NULL || server->err != 0) {
    fprintf(stderr, "%s\n", server != NULL ? server->errstr : "no memory");
    redisFree(server);
    return 1;
  }
  const int right = run(server);
  redisFree(server);
  return right ? 0 : 1;
}
