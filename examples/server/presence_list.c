// SPDX-License-Identifier: Apache-2.0
// Presence list: who is online, by a server, for all web servers at once. With hiredis.
//
// The users who are online are one set, and each member has a deadline of its own (SADDEX). A
// browser sends a heartbeat every 20 seconds, which puts the deadline off to a minute from then. A
// user whose browser is closed, or whose network is gone, sends none, and a minute later is no
// member: nobody looks for silent users, and SCARD is exact. Since it is a set, it can be
// intersected with others.

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ONLINE "example:online"
static const int kOnlineSeconds = 60;

// The reply of a command: a number, or how many elements a list has. A failure ends the program.
static long long ask(redisContext* server, const char* format, ...) {
  va_list words;
  va_start(words, format);
  redisReply* reply = redisvCommand(server, format, words);
  va_end(words);
  if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
    fprintf(stderr, "%s\n", reply == NULL ? server->errstr : reply->str);
    exit(1);
  }
  const int is_list = reply->type == REDIS_REPLY_ARRAY;
  const int is_one =
      is_list && reply->elements == 1 && reply->element[0]->type == REDIS_REPLY_INTEGER;
  const long long value = is_one    ? reply->element[0]->integer
                          : is_list ? (long long)reply->elements
                                    : reply->integer;
  freeReplyObject(reply);
  return value;
}

// Whether the user has just come online.
static int heartbeat(redisContext* server, const char* user) {
  return ask(server, "SADDEX " ONLINE " EX %d MEMBERS 1 %s", kOnlineSeconds, user) == 1;
}

static int is_online(redisContext* server, const char* user) {
  return ask(server, "SISMEMBER " ONLINE " %s", user) == 1;
}

static long long friends_online(redisContext* server, const char* user) {
  return ask(server, "SINTERCARD 2 " ONLINE " example:friends:%s", user);
}

// Until the user counts as offline; -2 for one who is.
static long long seconds_left(redisContext* server, const char* user) {
  return ask(server, "STTL " ONLINE " MEMBERS 1 %s", user);
}

// Instead of waiting for a minute without a heartbeat: the deadline comes at once.
static void be_silent(redisContext* server, const char* user) {
  ask(server, "SPEXPIRE " ONLINE " 1 MEMBERS 1 %s", user);
  while (is_online(server, user)) {
  }
}

static int claim(const char* what, int holds) {
  printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
  return holds;
}

static int run(redisContext* server) {
  ask(server, "DEL " ONLINE);
  ask(server, "SADD example:friends:ann bob cat dan");
  int right =
      claim("ann, bob and cat come online",
            heartbeat(server, "ann") && heartbeat(server, "bob") && heartbeat(server, "cat"));
  right &= claim("ann's next heartbeat is no news", !heartbeat(server, "ann"));
  right &= claim("two of ann's friends are online", friends_online(server, "ann") == 2);
  ask(server, "SREM " ONLINE " cat");
  right &= claim("cat logs out", !is_online(server, "cat"));
  const long long left = seconds_left(server, "bob");
  right &= claim("bob has a minute", left > 0 && left <= kOnlineSeconds);
  be_silent(server, "bob");
  right &= claim("bob's browser is closed: a minute later he is gone",
                 seconds_left(server, "bob") == -2);
  right &= claim("one user is online, exactly", ask(server, "SCARD " ONLINE) == 1);
  right &= claim("none of ann's friends is online", friends_online(server, "ann") == 0);
  be_silent(server, "ann");
  right &= claim("with the last member the key is gone", ask(server, "EXISTS " ONLINE) == 0);
  ask(server, "DEL example:friends:ann");
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
