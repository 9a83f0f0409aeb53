// SPDX-License-Identifier: Apache-2.0
// The costs of commands that headers and documents of the server promise: see costs.cc.
//
// The server, or the one key, has the size. It is reached by overwrites, erasures and expiries.

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/forecast/expiry_forecast.h"
#include "keyspace/keyspace_fixture.h"
#include "mayfly/random.h"
#include "promises.h"
#include "resp/glob.h"
#include "resp/request.h"
#include "server/core/server_fixture.h"
#include "server/expiry/expiry_log.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

using Lines = std::vector<std::string>;

// Requests of words without spaces, as bytes.
std::string bytes_of(const Lines& lines) {
  std::string bytes;
  for (const std::string& line : lines) bytes += line + "\r\n";
  return bytes;
}

std::string number(std::size_t i) { return std::to_string(i); }

// Sends the requests of each number from `first` on, many at once.
void send_each(TestClient& client, std::size_t first, std::size_t count,
               const std::function<Lines(std::size_t)>& requests) {
  constexpr std::size_t kAtOnce = 32 * 1024;
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += bytes_of(requests(first + i));
    if (bytes.size() < kAtOnce && i + 1 < count) continue;
    client.send(bytes);
    bytes.clear();
  }
}

class UsedServer : public ServerFixture {
 public:
  explicit UsedServer(const Config& config = plain()) : ServerFixture(config), client(connect()) {}

  static Config plain() {
    Config config;
    config.save.clear();
    return config;
  }

  // `count` times the requests of each number from `first` on.
  void each(std::size_t first, std::size_t count,
            const std::function<Lines(std::size_t)>& requests) {
    send_each(client, first, count, requests);
    propagated.clear();
  }

  // Keys that were put, overwritten, erased and have expired; then `size` of them, every second
  // with a deadline.
  void use_keys(std::size_t size) {
    each(0, size, [&](std::size_t i) {
      return Lines{"SET key:" + number(i % (size + size / 2)) + " v PX " + number(1 + i % 5'000),
                   "DEL key:" + number(i / 2)};
    });
    expire();
    each(0, size, [](std::size_t i) {
      return Lines{"SET key:" + number(i) + (i % 2 == 0 ? " v" : " v PX 90000000")};
    });
  }

  void expire() {
    advance(Millis(10'000));
    sweep();
  }

  // Counts the requests of the first kOperations numbers.
  void count(const std::string& name, const std::function<Lines(std::size_t)>& requests) {
    std::string bytes;
    for (std::size_t i = 0; i < kOperations; ++i) bytes += bytes_of(requests(i));
    Counted counted;
    const std::string replies = client.send(bytes);
    counted.end(name);
    const std::size_t at = ("\r\n" + replies).find("\r\n-");
    if (at == std::string::npos) return;
    std::fprintf(stderr, "%s: %.200s\n", name.c_str(), replies.c_str() + at);
    std::exit(1);
  }

  TestClient& client;
};

// A server that `use` has used, and then the lines again and again.
void add_lines(const std::string& name, const std::string& growth, const std::string& place,
               const std::function<void(UsedServer&, std::size_t)>& use,
               const std::function<Lines(std::size_t)>& lines) {
  add(name, growth, place, [use, lines](std::size_t size, const std::string& of) {
    UsedServer server;
    use(server, size);
    server.count(of, lines);
  });
}

void use_keys(UsedServer& server, std::size_t size) { server.use_keys(size); }

// ---- Keys ----

void add_keys() {
  add_lines("GET, SET, EXPIRE, TTL, RENAME and DEL", "constant", "docs/server.md", use_keys,
            [](std::size_t i) {
              const std::string key = "new:" + number(i);
              return Lines{"SET " + key + " v", "GET key:" + number(i), "EXPIRE " + key + " 100",
                           "TTL " + key,        "RENAME " + key + " x", "DEL x"};
            });
  add_lines("DBSIZE, RANDOMKEY and SCAN", "constant", "table.h", use_keys, [](std::size_t) {
    return Lines{"DBSIZE", "RANDOMKEY", "SCAN 0"};
  });
  add_lines("EXPIRESCAN by its cursor", "constant", "docs/server.md", use_keys, [](std::size_t i) {
    return Lines{"EXPIRESCAN " + number(i % 2 == 0 ? 0 : i * 31) + " FROM 0 TO 9999999999"};
  });
  add_lines("SWAPDB", "constant", "docs/server.md", use_keys,
            [](std::size_t) { return Lines{"SWAPDB 0 1"}; });
}

void add_forecasts() {
  add("forecast beside large hashes", "constant", "expiry_forecast.h",
      [](std::size_t size, const std::string& of) {
        KeyspaceFixture fixture;
        for (std::size_t i = 0; i < size / 2; ++i) {
          const Slot slot =
              fixture.database.make_members(fixture.context, ValueType::hash, number(i));
          MembersRef hash = fixture.database.members(fixture.context, slot);
          for (std::size_t k = 0; k < 150; ++k) {
            hash.put(number(k), "v", fixture.in(static_cast<std::int64_t>(60'000 + i)));
          }
        }
        const std::vector<Time> until = {fixture.in(60'000), fixture.in(3'600'000)};
        Counted counted;
        for (int i = 0; i < 10; ++i) (void)forecast(fixture.keyspace, fixture.context.now, until);
        counted.end(of);
      });
  add("forecast of TTLSTATS", "constant", "expiry_forecast.h",
      [](std::size_t size, const std::string& of) {
        KeyspaceFixture fixture;
        Random random(1);
        for (std::size_t i = 0; i < 10 * size; ++i) {  // the samples are complete from 16,384 on
          const Slot slot = fixture.database.put_string(fixture.context, number(i), "v");
          const auto ms = static_cast<std::int64_t>(1 + random.below(900'000));
          fixture.database.set_deadline(slot, fixture.in(ms));
        }
        const std::vector<Time> until = {fixture.in(60'000), fixture.in(3'600'000)};
        Counted counted;
        for (int i = 0; i < 10; ++i) (void)forecast(fixture.keyspace, fixture.context.now, until);
        counted.end(of);
      });
}

void add_sweeps() {
  add("sweep of due keys with the expiry log", "constant", "docs/expiry_log.md",
      [](std::size_t size, const std::string& of) {
        Config config = UsedServer::plain();
        config.expiry_log = true;
        UsedServer server(config);
        server.use_keys(size);
        server.each(0, kOperations,
                    [](std::size_t i) { return Lines{"SET due:" + number(i) + " v PX 5"}; });
        server.advance(Millis(5));
        Counted counted;
        server.sweep();
        counted.end(of);
      });
  add("keys of a hash slot", "constant", "hash_slot_counts.h",
      [](std::size_t size, const std::string& of) {
        KeyspaceOptions options;
        options.hash_slot_of = &hash_slot;
        KeyspaceFixture fixture(options);
        for (std::size_t i = 0; i < size; ++i) {
          fixture.database.put_string(fixture.context, "{t}" + number(i), "v");
        }
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          (void)fixture.database.stored_in_hash_slot(hash_slot("t"));
          const Slot slot = fixture.database.put_string(fixture.context, "{t}x", "v");
          fixture.database.erase(slot);
        }
        counted.end(of);
      });
}

// ---- Values ----

// A list that was pushed and popped at both ends, and changed inside.
void use_list(UsedServer& server, std::size_t size) {
  server.each(0, 3 * size, [&](std::size_t i) {
    Lines lines = {"RPUSH list element:" + number(i)};
    if (i % 3 == 0) lines.emplace_back("LPOP list");
    if (i % 5 == 0) lines.push_back("LPUSH list other:" + number(i));
    if (i % 7 == 0) lines.emplace_back("RPOP list");
    return lines;
  });
  server.each(0, 100, [](std::size_t i) { return Lines{"LSET list " + number(i * 7) + " new"}; });
  server.client.send(bytes_of({"LTRIM list 0 " + number(size - 1)}));
}

void use_stream(UsedServer& server, std::size_t size) {
  server.each(1, 3 * size, [](std::size_t i) {
    Lines lines = {"XADD stream " + number(i) + "-0 f v"};
    if (i % 3 == 0) lines.push_back("XDEL stream " + number(i - 1) + "-0");
    return lines;
  });
  server.client.send(bytes_of({"XTRIM stream MAXLEN = " + number(size)}));
}

// Members that were put, overwritten, erased and have expired.
std::function<void(UsedServer&, std::size_t)> use_members(const std::string& put,
                                                          const std::string& expire,
                                                          const std::string& remove) {
  return [put, expire, remove](UsedServer& server, std::size_t size) {
    const auto filled = [](std::string line, std::size_t i) {
      for (std::size_t at = 0; (at = line.find('%', at)) != std::string::npos;) {
        line.replace(at, 1, number(i));
      }
      return line;
    };
    server.each(0, size, [&](std::size_t i) {
      return Lines{filled(put, i), filled(expire, i), filled(remove, i / 2)};
    });
    server.expire();
    server.each(0, size, [&](std::size_t i) { return Lines{filled(put, i)}; });
  };
}

void add_lists_and_streams() {
  add_lines("LPUSH, RPUSH, LPOP, RPOP, LLEN and LINDEX at the ends", "constant", "chunked_list.h",
            use_list, [](std::size_t) {
              return Lines{"LPUSH list a b", "RPUSH list c d", "LPOP list",     "RPOP list",
                           "LPOP list",      "RPOP list",      "LINDEX list 5", "LLEN list"};
            });
  add_lines("LINDEX in the middle", "linear", "chunked_list.h", use_list,
            [](std::size_t i) { return Lines{"LINDEX list " + number(900 + i % 100)}; });
  add_lines("XADD, XTRIM, XLEN and the first entries", "constant", "stream.h", use_stream,
            [](std::size_t) {
              return Lines{"XADD stream * f v", "XTRIM stream MAXLEN ~ 1000000000", "XLEN stream",
                           "XRANGE stream - + COUNT 2"};
            });
  add_lines("XRANGE and XREAD from an id", "log", "stream.h", use_stream, [](std::size_t i) {
    return Lines{"XRANGE stream " + number(5 * i) + " + COUNT 2",
                 "XREAD COUNT 2 STREAMS stream " + number(7 * i)};
  });
}

void add_sets() {
  add_lines("commands of a hash", "constant", "members_ref.h",
            use_members("HSET h f:% v", "HPEXPIRE h 5000 FIELDS 1 f:%", "HDEL h f:%"),
            [](std::size_t i) {
              const std::string field = "new:" + number(i);
              return Lines{"HSET h " + field + " v",
                           "HGET h " + field,
                           "HEXPIRE h 100 FIELDS 1 " + field,
                           "HLEN h",
                           "HSCAN h 0",
                           "HRANDFIELD h",
                           "HDEL h " + field};
            });
  add_lines(
      "commands of a set", "constant", "members_ref.h",
      use_members("SADD s m:%", "SPEXPIRE s 5000 MEMBERS 1 m:%", "SREM s m:%"), [](std::size_t i) {
        const std::string member = "new:" + number(i);
        return Lines{"SADD s " + member, "SISMEMBER s " + member, "SCARD s",      "SRANDMEMBER s 3",
                     "SSCAN s 0",        "SREM s " + member,      "SADD s again", "SPOP s",
                     "SADD s again"};
      });
  add_lines("commands of a sorted set", "log", "members_order.h",
            use_members("ZADD z % m:%", "ZPEXPIRE z 5000 MEMBERS 1 m:%", "ZREM z m:%"),
            [](std::size_t i) {
              const std::string member = "new:" + number(i);
              const std::string score = number(i * 3);
              return Lines{"ZADD z " + score + " " + member,
                           "ZRANK z " + member,
                           "ZCOUNT z 0 " + score,
                           "ZRANGE z " + score + " " + score,
                           "ZRANGEBYSCORE z " + score + " +inf LIMIT 0 2",
                           "ZREM z " + member,
                           "ZCARD z",
                           "ZRANDMEMBER z"};
            });
}

void add_values() {
  add_lines(
      "XREADGROUP and XACK beside many pending entries", "log", "id_order.h",
      [](UsedServer& server, std::size_t size) {
        use_stream(server, size);
        const std::string read = "XREADGROUP GROUP g c COUNT ";
        server.client.send(bytes_of(
            {"XGROUP CREATE stream g 0", read + number(size - kOperations) + " STREAMS stream >"}));
      },
      [](std::size_t i) {
        return Lines{"XREADGROUP GROUP g c COUNT 1 STREAMS stream >",
                     "XACK stream g " + number(3 * i) + "-0", "XPENDING stream g"};
      });
  add_lines(
      "GEOSEARCH of a few members among many", "log", "geo_scan.h",
      [](UsedServer& server, std::size_t size) {
        server.each(0, size, [](std::size_t i) {
          return Lines{"GEOADD g " + number(i % 90) + "." + number(i) + " " + number(i * 7 % 80) +
                       " m:" + number(i)};
        });
        server.client.send(bytes_of({"GEOADD g -120 10 a -120.001 10 b -120 10.001 c"}));
      },
      [](std::size_t) { return Lines{"GEOSEARCH g FROMLONLAT -120 10 BYRADIUS 5 km ASC"}; });
  add_lines(
      "a page of HEXPIRESCAN", "log", "docs/server.md",
      [](UsedServer& server, std::size_t size) {
        server.each(0, size, [](std::size_t i) {
          return Lines{"HSETEX h PX " + number(100'000 + i * 37 % 50'000) +
                       " FIELDS 1 f:" + number(i) + " v"};
        });
      },
      [](std::size_t) { return Lines{"HEXPIRESCAN h 0 FROM 0 TO 99999999999999"}; });
}

// ---- Clients ----

// Each of `count` clients runs the line of its number.
void connect_many(UsedServer& server, std::size_t count,
                  const std::function<std::string(std::size_t)>& line) {
  for (std::size_t i = 0; i < count; ++i) server.connect().run(line(i));
}

void add_clients() {
  const auto use = [](const std::function<std::string(std::size_t)>& line) {
    return [line](UsedServer& server, std::size_t size) {
      connect_many(server, size / 10, line);
      server.use_keys(1'000);
    };
  };
  add_lines("SET beside clients that watch other keys", "constant", "watches.h",
            use([](std::size_t i) { return "WATCH w:" + number(i); }),
            [](std::size_t i) { return Lines{"SET w:" + number(i % 100) + " v"}; });
  add_lines("RPUSH to one of many blocked clients", "constant", "key_waiters.h",
            use([](std::size_t i) { return "BLPOP b:" + number(i) + " 0"; }), [](std::size_t i) {
              return Lines{"RPUSH b:" + number(i % 100) + " v", "DEL b:" + number(i % 100)};
            });
  add_lines("PUBLISH to one of many channels", "constant", "pubsub.h",
            use([](std::size_t i) { return "SUBSCRIBE c:" + number(i); }),
            [](std::size_t i) { return Lines{"PUBLISH c:" + number(i % 100) + " v"}; });
  add_lines(
      "SET of a tracked key among many", "constant", "tracked_keys.h",
      [](UsedServer& server, std::size_t size) {
        server.use_keys(size);
        TestClient& reader = server.connect();
        reader.run("HELLO 3");
        reader.run("CLIENT TRACKING ON");
        send_each(reader, 0, size, [](std::size_t i) { return Lines{"GET key:" + number(i)}; });
      },
      [](std::size_t i) { return Lines{"SET key:" + number(i) + " w"}; });
  add_lines(
      "SET beside many broadcast prefixes", "log", "broadcasts.h",
      [](UsedServer& server, std::size_t size) {
        server.use_keys(1'000);
        TestClient& reader = server.connect();
        reader.run("HELLO 3");
        Lines words = {"CLIENT", "TRACKING", "ON", "BCAST"};
        for (std::size_t i = 0; i < size / 10; ++i) {
          words.emplace_back("PREFIX");
          words.push_back("prefix:" + number(100'000 + i));
        }
        reader.run(words);
      },
      [](std::size_t i) { return Lines{"SET prefix:" + number(100'000 + i) + " w"}; });
  add("a turn of the loop beside idle clients", "constant", "server.h",
      [](std::size_t size, const std::string& of) {
        UsedServer server;
        connect_many(server, size / 10, [](std::size_t) { return "PING"; });
        server.server().begin_turn();
        server.server().before_sleep();
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          server.server().begin_turn();
          server.server().before_sleep();
        }
        counted.end(of);
      });
}

// ---- Requests ----

void add_requests() {
  add("a request that arrives in pieces", "linear", "request.h",
      [](std::size_t size, const std::string& of) {
        const std::string text(10 * size, 'x');
        const std::string request = "*1\r\n$" + number(text.size()) + "\r\n" + text + "\r\n";
        RequestParser parser;
        Counted counted;
        for (std::size_t end = 100; end < request.size(); end += 100) {
          (void)parser.parse(std::string_view(request).substr(0, end));
        }
        (void)parser.parse(request);
        counted.end(of);
      });
  add("a pattern with many stars", "linear", "glob.h", [](std::size_t size, const std::string& of) {
    const std::string text(size, 'a');
    Counted counted;
    (void)glob_match("a*a*a*a*a*a*b", text);
    counted.end(of);
  });
  add_lines(
      "SET beside many rules for TTLs", "log", "ttl_policy.h",
      [](UsedServer& server, std::size_t size) {
        server.each(0, size / 10, [](std::size_t i) {
          return Lines{"TTLPOLICY SET rule:" + number(i) + ": MAX 100"};
        });
      },
      [](std::size_t i) { return Lines{"SET rule:" + number(i % 200) + ":x v EX 50"}; });
}

// ---- The replication log ----

void add_log() {
  add("replication log: append, read and trim", "constant", "replication_stream.h",
      [](std::size_t size, const std::string& of) {
        ReplicationLog log;
        const std::string bytes(1'000, 'x');
        for (std::size_t i = 0; i < size; ++i) log.append(bytes);
        Counted counted;
        for (std::size_t i = 0; i < kOperations; ++i) {
          log.append(bytes);
          (void)log.read(log.end() - 10);
          (void)log.read(log.begin() + 10);
          log.trim(size * 1'000, log.end());
        }
        counted.end(of);
      });
}

}  // namespace
}  // namespace mayfly

int main(int argc, char** argv) {
  mayfly::add_keys();
  mayfly::add_forecasts();
  mayfly::add_sweeps();
  mayfly::add_lists_and_streams();
  mayfly::add_sets();
  mayfly::add_values();
  mayfly::add_clients();
  mayfly::add_requests();
  mayfly::add_log();
  return mayfly::run_promises(argc, argv);
}
