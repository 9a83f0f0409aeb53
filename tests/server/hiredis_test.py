#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's hiredis against the real program: a small C program, compiled here.

Its version, 0.14, has no RESP3, so pushes are tested by other clients.
"""

import os
import subprocess
import tempfile
import unittest

from mayfly_server import Mayfly

SOURCE = r"""
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(what)                                               \
  do {                                                              \
    if (!(what)) {                                                  \
      fprintf(stderr, "line %d: not %s: %s\n", __LINE__, #what,     \
              reply && reply->str ? reply->str : "(no text)");      \
      exit(1);                                                      \
    }                                                               \
  } while (0)
#define ASK(...)                                   \
  do {                                             \
    if (reply) freeReplyObject(reply);             \
    reply = redisCommand(context, __VA_ARGS__);    \
    REQUIRE(reply);                                \
  } while (0)

static redisReply *reply;

static void single_commands(redisContext *context) {
  ASK("SET %s %b", "key", "a\0b", (size_t)3);
  REQUIRE(reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0);
  ASK("GET key");
  REQUIRE(reply->type == REDIS_REPLY_STRING && reply->len == 3);
  REQUIRE(memcmp(reply->str, "a\0b", 3) == 0);
  ASK("GET nothing");
  REQUIRE(reply->type == REDIS_REPLY_NIL);
  ASK("HGET key field");
  REQUIRE(reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", 9) == 0);
  ASK("HSETEX h EX 100 FIELDS 2 a 1 b 2");
  REQUIRE(reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
  ASK("HTTL h FIELDS 3 a b c");
  REQUIRE(reply->type == REDIS_REPLY_ARRAY && reply->elements == 3);
  REQUIRE(reply->element[0]->integer == 100 && reply->element[2]->integer == -2);
  ASK("HGETALL h");
  REQUIRE(reply->type == REDIS_REPLY_ARRAY && reply->elements == 4);
}

static void pipeline(redisContext *context) {
  const int count = 10000;
  for (int i = 0; i < count; ++i) redisAppendCommand(context, "INCR counter");
  for (int i = 0; i < count; ++i) {
    freeReplyObject(reply);
    reply = NULL;
    REQUIRE(redisGetReply(context, (void **)&reply) == REDIS_OK);
    REQUIRE(reply->type == REDIS_REPLY_INTEGER && reply->integer == i + 1);
  }
}

static void transaction(redisContext *context) {
  ASK("MULTI");
  ASK("INCR n");
  REQUIRE(strcmp(reply->str, "QUEUED") == 0);
  ASK("HGETALL nothing");
  ASK("EXEC");
  REQUIRE(reply->elements == 2 && reply->element[1]->elements == 0);
}

static void messages(redisContext *context, int port) {
  redisContext *other = redisConnect("127.0.0.1", port);
  ASK("SUBSCRIBE news");
  REQUIRE(reply->elements == 3 && reply->element[2]->integer == 1);
  freeReplyObject(redisCommand(other, "PUBLISH news hello"));
  freeReplyObject(reply);
  reply = NULL;
  REQUIRE(redisGetReply(context, (void **)&reply) == REDIS_OK);
  REQUIRE(reply->elements == 3 && strcmp(reply->element[2]->str, "hello") == 0);
  redisFree(other);
}

int main(int count, char **words) {
  const int port = count > 1 ? atoi(words[1]) : 0;
  redisContext *context = redisConnect("127.0.0.1", port);
  if (!context || context->err) return 2;
  single_commands(context);
  pipeline(context);
  transaction(context);
  messages(context, port);
  freeReplyObject(reply);
  redisFree(context);
  puts("all is well");
  return 0;
}
"""


class HiredisTest(unittest.TestCase):
    def test_the_program(self):
        with tempfile.TemporaryDirectory() as folder, Mayfly() as server:
            program = os.path.join(folder, "client")
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hiredis"], check=True,
                                   capture_output=True, text=True).stdout.split()
            subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-x", "c", "-", "-o", program,
                            *flags], input=SOURCE, text=True, check=True)
            done = subprocess.run([program, str(server.port)], capture_output=True, text=True,
                                  check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, "all is well\n")


if __name__ == "__main__":
    unittest.main()
