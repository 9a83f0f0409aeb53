#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random commands of every kind, sense and nonsense: what a primary tells its replica and its log
makes the same data of it, deadlines included. Redis understands it, too, and we understand Redis.

    MAYFLY=build/release/mayfly python3 tests/replication/propagation_test.py [--seed N]
"""

import os
import random
import sys
import unittest

from replicas import HERE, ReplicationCase, ask, await_same, held_by
from contents import difference, now_ms
from mayfly_server import Mayfly, Redis
from random_options import take_options
from resp_client import await_that, request

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))

from differential_test import FAMILIES, LISTS, in_scripts, templates, words_for  # noqa: E402

ROUNDS, LENGTH, CLIENTS = 10, 150, 3
NEAR_MS = 150
LONGEST_TTL_MS = 120  # of the short ones in the commands, with the stale time behind it
LONGEST_STALE_MS = 50  # behind a moment
# In the words of differential_test.py. @h is a hash, @s a set, @z a sorted set, @l a list, @t a
# stream, @p a HyperLogLog; @x and @y are a longitude and a latitude, @m is a moment near or far.
MEMBER_COMMANDS = """
HSETEX @h PXAT @m FIELDS 1 F V|HSETEX @h PXAT @m FIELDS 2 F V F V|HSETEX @h FNX PXAT @m FIELDS 1 F V
HSETEX @h FXX KEEPTTL FIELDS 1 F V|HSETEX @h PX 100 FIELDS 1 F V|HSETEX @h NX EX 1000 FIELDS 1 F V
HPEXPIREAT @h @m FIELDS 1 F|HPEXPIREAT @h @m FIELDS 2 F F|HPEXPIREAT @h @m P FIELDS 1 F
HEXPIRE @h 1000 FIELDS 1 F|HEXPIRE @h 0 FIELDS 1 F|HPEXPIRE @h 100 P FIELDS 2 F F
HPERSIST @h FIELDS 1 F|HPERSIST @h FIELDS 2 F F|HGETEX @h PXAT @m FIELDS 2 F F
HGETEX @h PERSIST FIELDS 1 F|HGETEX @h EX 1000 FIELDS 1 F|HGETDEL @h FIELDS 1 F
HGETDEL @h FIELDS 2 F F|HINCRBY @h F 3|HINCRBYFLOAT @h F 1.5|HSET @h F 1|HSET @h F 1 F 2|HDEL @h F F
SET K V PXAT @m|PEXPIREAT K @m|PEXPIREAT K @m P|GETEX K PXAT @m|SET K V PX 100|EXPIRE K 1000
PERSIST K
SET K V PX 60 JITTER 50|SET K V EX 1000 JITTER 20|PEXPIRE K 60 JITTER 50
MSETEX 2 K V K V PX 60 JITTER 50
SET K V PX 60 PSTALE 60|SET K V EX 1000 STALE 50 JITTER 5|SET K V PXAT @m PSTALE 50|SET K V KEEPTTL
MSETEX 2 K V K V KEEPTTL|COPY K K REPLACE|RENAME K K
GETEX K EX 1000 JITTER 5|PSETEX K 60 V JITTER 50|HSETEX @h PX 60 JITTER 50 FIELDS 2 F V F V
HPEXPIRE @h 60 JITTER 50 FIELDS 2 F F|HEXPIRE @h 1000 P JITTER 5 FIELDS 2 F F
HGETEX @h EX 1000 JITTER 5 FIELDS 2 F F|SADDEX @s PX 60 JITTER 50 MEMBERS 2 F F
ZADDEX @z GT PX 60 JITTER 50 MEMBERS 2 W F W F|EXPIREMEMBER @s F 1000 JITTER 5
COPY @h @h REPLACE|RENAME @h @h|MOVE @h D|COPY @h @h DB D REPLACE|DEL @h|PEXPIREAT @h @m|PERSIST @h
HSETNX @h F V|HGETALL @h
SADDEX @s PXAT @m MEMBERS 1 F|SADDEX @s PXAT @m MEMBERS 2 F F|SADDEX @s KEEPTTL MEMBERS 2 F F
SADDEX @s FNX PX 100 MEMBERS 1 F|SADDEX @s 1000 F F|SPEXPIREAT @s @m MEMBERS 2 F F|SADD @s F F
SPEXPIREAT @s @m P MEMBERS 1 F|SEXPIRE @s 0 MEMBERS 1 F|SPERSIST @s MEMBERS 1 F|SREM @s F F|SPOP @s
SPOP @s 2|SMOVE @s @s F|SINTERSTORE @s @s @s|SUNIONSTORE @s @s @s|SDIFFSTORE @s @s @s
COPY @s @s REPLACE
RENAME @s @s|MOVE @s D|PEXPIREAT @s @m|EXPIREMEMBER @s F 1000|SMEMBERS @s|SADD @s 1 2 3
ZADDEX @z PXAT @m MEMBERS 1 W F|ZADDEX @z PXAT @m MEMBERS 2 W F W F|ZADDEX @z KEEPTTL MEMBERS 1 W F
ZADDEX @z GT CH PX 100 MEMBERS 2 W F W F|ZPEXPIREAT @z @m MEMBERS 2 F F|ZEXPIRE @z 0 MEMBERS 1 F
ZPEXPIREAT @z @m P MEMBERS 1 F|ZPERSIST @z MEMBERS 1 F|ZADD @z W F W F|ZADD @z GT W F|ZINCRBY @z W F
ZADD @z NX W F|ZREM @z F F|ZPOPMIN @z|ZPOPMAX @z 2|ZMPOP 2 @z @z MIN COUNT 2|ZREMRANGEBYRANK @z R R
ZREMRANGEBYSCORE @z Q Q|ZUNIONSTORE @z 2 @z @z|ZINTERSTORE @z 2 @z @s|ZDIFFSTORE @z 2 @z @z
ZRANGESTORE @z @z R R|COPY @z @z REPLACE|RENAME @z @z|MOVE @z D|FIELDEXPIRE @z 1000 F|ZRANGE @z 0 -1
BZPOPMIN @z 0.001|BZMPOP 0.001 2 @z @z MAX
GEOADD @z @x @y F @x @y F|GEOADD @z NX @x @y F|GEOADD @z XX CH @x @y F
GEOSEARCHSTORE @z @z FROMLONLAT @x @y BYRADIUS 3000 km
GEOSEARCHSTORE @z @z FROMMEMBER F BYBOX 9000 9000 km STOREDIST
GEOSEARCHSTORE @z @z FROMLONLAT @x @y BYRADIUS 9000 km COUNT 2|GEORADIUS @z @x @y 3000 km STORE @z
GEOSEARCHSTORE @z @z BYPOLYGON 3 0 -50 20 -50 20 85|GEORADIUSBYMEMBER @z F 3000 km STOREDIST @z
LPUSH @l V V|RPUSH @l V F|RPUSH @l F F F F|LPUSHX @l F|LPOP @l|RPOP @l 2|LSET @l R V
LINSERT @l AFTER F V|LREM @l R F|LTRIM @l R R|LMOVE @l @l @end @end|RPOPLPUSH @l @l
LMPOP 2 @l @l @end COUNT 2|BLPOP @l @l 0.001|BRPOP @l 0.001|BLMPOP 0.001 2 @l @l @end
BLMOVE @l @l @end @end 0.001|BRPOPLPUSH @l @l 0.001|SORT @l ALPHA STORE @l|SORT @s ALPHA STORE @l
SORT @z BY nosort LIMIT 0 3 STORE @l|COPY @l @l REPLACE|RENAME @l @l|MOVE @l D|PEXPIREAT @l @m
PERSIST @l|LRANGE @l 0 -1
XADD @t 3-* F V|XADD @t 3-* F V F V|XADD @t * F V|XADD @t MAXLEN ~ 5 3-* F V
XADD @t MAXLEN 7 3-* F V|XADD @t 3-* F V|XADD @t 3-* F V F V|XADD @t 3-* F V
XADD @t MINID ~ @id LIMIT 4 3-* F V|XDEL @t @id @id|XTRIM @t MAXLEN ~ 6|XTRIM @t MINID @id
XSETID @t 3-15 MAXDELETEDID @id|XREAD BLOCK 1 STREAMS @t $|XGROUP CREATE @t @g @id MKSTREAM
XGROUP CREATE @t @g $|XGROUP SETID @t @g @id|XGROUP DESTROY @t @g
XGROUP CREATE @t @g 0 MKSTREAM ENTRIESREAD 2|XGROUP CREATECONSUMER @t @g @c
XGROUP DELCONSUMER @t @g @c|XREADGROUP GROUP @g @c COUNT 2 STREAMS @t >
XREADGROUP GROUP @g @c COUNT 1 NOACK STREAMS @t >|XREADGROUP GROUP @g @c STREAMS @t >
XREADGROUP GROUP @g @c BLOCK 1 STREAMS @t >|XACK @t @g @id @id|XREADGROUP GROUP @g @c STREAMS @t 0
XREADGROUP GROUP g @c STREAMS @t @t > @id|XACK @t @g @id @id @id|XCLAIM @t @g @c 0 @id @id @id
XCLAIM @t @g @c 2 @id FORCE JUSTID|XCLAIM @t @g @c 0 @id IDLE 5 LASTID @id
XCLAIM @t @g @c 0 @id @id RETRYCOUNT 7 TIME 1000|XAUTOCLAIM @t @g @c 0 @id
XAUTOCLAIM @t @g @c 1 0 COUNT 2|COPY @t @t REPLACE|RENAME @t @t|MOVE @t D|PEXPIREAT @t @m|PERSIST @t
XRANGE @t - +
PFADD @p F|PFADD @p V V F|PFMERGE @p @p @p|PFCOUNT @p|COPY @p @p REPLACE
"""
MEMBER_TEMPLATES = templates(MEMBER_COMMANDS)
TEMPLATES = FAMILIES[0]
# Two commands in a unit, and scripts that fail in the middle or propagate a part.
LIBRARY = ("#!lua name=propagation\n"
           "redis.register_function('twice', function(keys, args)\n"
           "  redis.pcall('INCR', 'twice') local reply = redis.pcall(unpack(args))\n"
           "  redis.pcall('RPUSH', 'twice-list', math.random()) return reply end)\n"
           "redis.register_function('fails', function(keys, args)\n"
           "  redis.pcall(unpack(args)) redis.call('INCR', 'fails') error('in the middle') end)\n")
OTHER = "#!lua name=NAME\nredis.register_function('NAME', function() return 'NAME' end)\n"
SCRIPTS = [["EVAL", "redis.call('SELECT', 2) redis.pcall('INCR', 'n') redis.call('SELECT', 0) "
            "redis.pcall('HSET', 'hash', 'f', redis.call('TIME')[2]) "
            "redis.pcall('PEXPIRE', 'hash', 50)", "0"],
           ["EVAL", "for i = 1, 3 do redis.call('SET', 'r' .. i, math.random(), 'PX', ARGV[1]) end",
            "0", "C"],
           ["EVAL", "redis.pcall('SPOP', KEYS[1]) redis.pcall('ZPOPMIN', KEYS[2]) error('x')", "2",
            "@s", "@z"]]
SCRIPTS += [["FUNCTION", "LOAD", "REPLACE", OTHER.replace("NAME", name)] for name in "xyz"]
SCRIPTS += [["FUNCTION", "DELETE", "x"], ["FCALL", "x", "0"]]


def in_functions(some):
    """Commands, as the functions of the library call them."""
    return [["FCALL", name, *template[2:]] for template in in_scripts(some)
            for name in ("twice", "fails")]


SCRIPT_TEMPLATES = SCRIPTS * 20 + in_scripts(TEMPLATES) + in_functions(TEMPLATES)
SCRIPT_MEMBER_TEMPLATES = (SCRIPTS * 20 + in_scripts(MEMBER_TEMPLATES) * 2 +
                           in_functions(MEMBER_TEMPLATES) + MEMBER_TEMPLATES)

seed = None


class PropagationTest(ReplicationCase):
    def round(self, chance, primary, templates):
        """Sends random commands of several clients, and waits until near deadlines have passed."""
        near = now_ms() + NEAR_MS
        LISTS["@m"] = [str(near - chance.randrange(NEAR_MS)) for _ in range(3)]
        LISTS["@m"] += ["33177117420123", "33177117420124", "33177117420125", "1"]
        LISTS["@h"] = ["h", "i", "j", "l", "m"]
        LISTS["@s"] = ["s1", "s2", "s3"]
        LISTS["@z"] = ["z1", "z2", "z3"]
        LISTS["@l"] = ["l1", "l2", "l3"]
        LISTS["@t"] = ["t1", "t1", "t2"]
        LISTS["@p"] = ["p1", "p2", "p3"]
        LISTS["@x"] = ["0", "10", "10.5", "-179.9", "179.9"]
        LISTS["@y"] = ["0", "5", "-40", "80"]
        clients = [primary.client() for _ in range(CLIENTS)]
        lines = [[words_for(chance, chance.choice(templates)) for _ in range(LENGTH)] +
                 [["DISCARD"], ["UNWATCH"]] for _ in clients]
        for first in range(0, LENGTH + 2, 10):
            for client, mine in zip(clients, lines):
                client.write(b"".join(request(*words) for words in mine[first:first + 10]))
        for client, mine in zip(clients, lines):
            for _ in mine:
                client.receive()
            client.close()
        primary.clients.clear()
        near = max(near + LONGEST_STALE_MS, now_ms() + LONGEST_TTL_MS)
        await_that(lambda: now_ms() > near + 10, "time passes")

    def test_a_replica_and_a_log_of_ours(self):
        primary = self.start(Mayfly, "--appendonly", "yes", "--hash-max-listpack-entries", "3",
                             "--set-max-listpack-entries", "3", "--zset-max-listpack-entries", "3",
                             "--list-max-listpack-size", "3", "--stream-node-max-entries", "3")
        ask(primary, "FUNCTION", "LOAD", LIBRARY)
        replica = self.start(Mayfly, primary=primary)
        for number in range(ROUNDS):
            chance = random.Random(f"{seed} {number}")
            ask(primary, "DEBUG", "SET-ACTIVE-EXPIRE", chance.randrange(2))
            self.round(chance, primary, chance.choice((MEMBER_TEMPLATES * 2 + TEMPLATES,
                                                       SCRIPT_MEMBER_TEMPLATES)))
            ask(primary, "DEBUG", "SET-ACTIVE-EXPIRE", 1)
            with self.subTest(seed=seed, round=number):
                await_same(primary, replica)
                libraries = ask(primary, "FUNCTION", "LIST", "WITHCODE")
                self.assertEqual(ask(replica, "FUNCTION", "LIST", "WITHCODE"), libraries)
                expected = held_by(primary)
                for words in (("DEBUG", "LOADAOF"), ("DEBUG", "RELOAD")):
                    ask(primary, *words)
                    self.assertEqual(difference(expected, held_by(primary)), "", words)
                    self.assertEqual(ask(primary, "FUNCTION", "LIST", "WITHCODE"), libraries)
                await_same(primary, replica)

    def test_redis_understands_us_and_we_understand_redis(self):
        for kinds in ((Mayfly, Redis), (Redis, Mayfly)):
            primary = self.start(kinds[0])
            ask(primary, "FUNCTION", "LOAD", LIBRARY)
            replica = self.start(kinds[1], primary=primary)
            for number in range(ROUNDS // 2):
                self.round(random.Random(f"{seed} {kinds} {number}"), primary,
                           SCRIPT_TEMPLATES if number % 2 else TEMPLATES)
                with self.subTest(kinds, seed=seed, round=number):
                    self.assert_same_contents(primary, replica)


if __name__ == "__main__":
    seed, _ = take_options()
    unittest.main()
