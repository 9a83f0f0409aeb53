// SPDX-License-Identifier: Apache-2.0
// Random writes with deadlines, on keys and members of all types, alone, in transactions and in
// scripts; then time passes, and the sweep or a command finds what is due. The log has each expiry
// exactly once.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "mayfly/random.h"
#include "server/expiry/expiry_log_fixture.h"

namespace mayfly {
namespace expiry_log_model_test {

// A key whose members have deadlines gets one of its own only together with a member that has none:
// else it would depend on the sweep whether the key expires, or goes with its last member.
struct Value {
  std::string type;
  std::string text;                             // of a string
  std::optional<long> deadline;                 // of the key
  std::map<std::string, long> members;          // with deadlines; 0: none
  std::map<std::string, std::string> payloads;  // of members
};

class LogModel {
 public:
  explicit LogModel(std::uint64_t seed) : random_(seed), server_(config()) {}

  void step() {
    switch (random_.below(10)) {
      case 0:
        return pass(static_cast<long>(random_.below(40)));
      case 1:
        if (random_.below(2) == 0) sweep();
        return run("DEBUG SET-ACTIVE-EXPIRE " + std::to_string(random_.below(2)), false);
      case 2:
        return remove();
      case 3:
        return touch();
      case 4:
      case 5:
        return expire_past();
      case 6:
        return rename();
      default:
        return write();
    }
  }

  void finish() {
    run("DEBUG SET-ACTIVE-EXPIRE 1", false);
    pass(1'000);
    sweep();
    std::multiset<std::string> seen;
    std::string last_id;
    for (int db = 0; db < 2; ++db) {
      for (const LogEntry& entry : log_entries(server_.server(), db)) {
        EXPECT_EQ(entry.at("db"), std::to_string(db));
        const std::string how = entry.at("how") == "past" ? "past" : "time";
        const auto part = [&](const char* name) {
          return entry.contains(name) ? entry.at(name) : std::string("-");
        };
        seen.insert(line(db, part("key"), part("member"), part("type"), std::stol(part("deadline")),
                         how, part("value")));
      }
    }
    EXPECT_EQ(seen, expected_);
    EXPECT_GT(seen.size(), 20u) << "the test is about something";
    EXPECT_EQ(server_.server().parts().expiry_log.dropped(), 0u);
  }

 private:
  static Config config() {
    Config config = logging_config();
    config.expiry_log_values = true;
    config.hash_max_listpack_entries = 2;  // both forms of members
    config.set_max_listpack_entries = 2;
    config.zset_max_listpack_entries = 2;
    return config;
  }

  static std::string line(int db, const std::string& key, const std::string& member,
                          const std::string& type, long deadline, const std::string& how,
                          const std::string& value) {
    return fmt::format("{} {} {} {} {} {} {}", db, key, member, type, deadline, how, value);
  }

  long now() const { return server_.wall().now().time_since_epoch().count(); }
  long later() { return now() + 1 + static_cast<long>(random_.below(60)); }

  // By itself, in a transaction, or from a script.
  void run(const std::string& request, bool may_wrap = true) {
    client_.run("SELECT " + std::to_string(db_));
    const std::uint64_t way = may_wrap ? random_.below(3) : 0;
    std::string reply;
    if (way == 0) reply = client_.run(request);
    if (way == 1) {
      client_.run("MULTI");
      client_.run(request);
      reply = client_.run("EXEC");
    }
    if (way == 2) {
      std::vector<std::string> words = {"EVAL", "return redis.call(unpack(ARGV))", "0"};
      std::istringstream in(request);
      for (std::string word; in >> word;) words.push_back(word);
      reply = client_.run(words);
    }
    EXPECT_EQ(reply.find("ERR"), std::string::npos) << request << ": " << reply;
  }

  void pass(long ms) {
    server_.advance(Millis(ms));
    for (int db = 0; db < 2; ++db) {
      for (auto key = data_[db].begin(); key != data_[db].end();) {
        key = collect(db, key->first, key->second) ? data_[db].erase(key) : std::next(key);
      }
    }
    if (random_.below(2) == 0) sweep();
  }

  // What is due of this key. Returns whether the key is gone.
  bool collect(int db, const std::string& key, Value& value) {
    const bool is_due = value.deadline && *value.deadline <= now();
    if (is_due) expect(db, key, value, {}, *value.deadline, "time");
    const std::size_t before = value.members.size();
    std::erase_if(value.members, [&](const auto& member) {
      const bool is_gone = member.second != 0 && member.second <= now();
      if (is_gone) expect(db, key, value, member.first, member.second, "time");
      return is_gone;
    });
    return is_due || (before > 0 && value.members.empty());
  }

  void expect(int db, const std::string& key, const Value& value, const std::string& member,
              long deadline, const std::string& how) {
    std::string payload = "-";
    if (value.type == "string") payload = value.text;
    if (!member.empty() && value.type != "set") payload = value.payloads.at(member);
    expected_.insert(
        line(db, key, member.empty() ? "-" : member, value.type, deadline, how, payload));
  }

  void sweep() { server_.sweep(); }

  std::string some_key() { return "k" + std::to_string(random_.below(12)); }

  // Any existing key, or an empty text.
  std::string existing() {
    db_ = static_cast<int>(random_.below(2));
    auto& keys = data_[db_];
    if (keys.empty()) return "";
    return std::next(keys.begin(), static_cast<long>(random_.below(keys.size())))->first;
  }

  void write() {
    db_ = static_cast<int>(random_.below(2));
    const std::string key = some_key();
    const std::string text = "v" + std::to_string(random_.below(1000));
    const auto found = data_[db_].find(key);
    const std::uint64_t kind = random_.below(6);
    if (kind == 0) {
      const long deadline = later();
      run(fmt::format("SET {} {} PXAT {}", key, text, deadline));
      data_[db_][key] = {"string", text, deadline, {}, {}};
    } else if (kind == 1 && found == data_[db_].end()) {
      const long deadline = later();
      run(fmt::format("RPUSH {} a b", key));
      run(fmt::format("PEXPIREAT {} {}", key, deadline));
      data_[db_][key] = {"list", "", deadline, {}, {}};
    } else if (kind == 5) {
      expire_whole(key);
    } else {
      put_member(key, kind, text);
    }
  }

  void expire_whole(const std::string& key) {
    const auto found = data_[db_].find(key);
    if (found == data_[db_].end() || found->second.members.empty()) return;
    Value& value = found->second;
    const std::string& type = value.type;
    run(fmt::format(fmt::runtime(type == "hash"  ? "HSET {} zz 1.5"
                                 : type == "set" ? "SADD {} zz"
                                                 : "ZADD {} 1.5 zz"),
                    key));
    value.members["zz"] = 0;
    value.payloads["zz"] = "1.5";
    value.deadline = later();
    run(fmt::format("PEXPIREAT {} {}", key, *value.deadline));
  }

  void put_member(const std::string& key, std::uint64_t kind, const std::string& text) {
    const char* const type = kind == 2 ? "set" : kind == 3 ? "zset" : "hash";
    const auto found = data_[db_].find(key);
    if (found != data_[db_].end() && (found->second.type != type || found->second.deadline)) return;
    const std::string member = "m" + std::to_string(random_.below(5));
    const long deadline = later();
    std::string payload = text;
    if (kind == 2) {
      run(fmt::format("SADDEX {} PXAT {} MEMBERS 1 {}", key, deadline, member));
    } else if (kind == 3) {
      payload = std::to_string(random_.below(100)) + ".5";
      run(fmt::format("ZADDEX {} PXAT {} MEMBERS 1 {} {}", key, deadline, payload, member));
    } else {
      run(fmt::format("HSETEX {} PXAT {} FIELDS 1 {} {}", key, deadline, member, payload));
    }
    Value& value = data_[db_][key];
    value.type = type;
    value.members[member] = deadline;
    value.payloads[member] = payload;
  }

  static std::string letter(const Value& value) {
    return value.type == "hash" ? "H" : value.type == "set" ? "S" : "Z";
  }

  void expire_past() {
    const std::string key = existing();
    if (key.empty()) return;
    Value& value = data_[db_].at(key);
    const long past = now() - static_cast<long>(random_.below(5));
    if (value.members.empty() || random_.below(4) == 0) {
      if (!value.members.empty()) return;
      const bool is_set = value.type == "string" && random_.below(2) == 0;
      run(is_set ? fmt::format("SET {} other PXAT {}", key, past)
                 : fmt::format("PEXPIREAT {} {}", key, past));
      expect(db_, key, value, {}, past, "past");
      data_[db_].erase(key);
      return;
    }
    const std::string member = value.members.begin()->first;
    run(fmt::format("{}PEXPIREAT {} {} FIELDS 1 {}", letter(value), key, past, member));
    expect(db_, key, value, member, past, "past");
    value.members.erase(member);
    if (value.members.empty()) data_[db_].erase(key);
  }

  void remove() {
    const std::string key = existing();
    if (key.empty()) return;
    run((random_.below(2) == 0 ? "DEL " : "UNLINK ") + key);
    data_[db_].erase(key);
  }

  // Commands that look at keys, and find what is due.
  void touch() {
    db_ = static_cast<int>(random_.below(2));
    const std::string key = some_key();
    static constexpr std::array<const char*, 4> kReads = {"TYPE {}", "EXISTS {}", "DEL x{}",
                                                          "RANDOMKEY"};
    run(fmt::format(fmt::runtime(kReads[random_.below(kReads.size())]), key));
    const auto found = data_[db_].find(key);
    if (found == data_[db_].end()) return;
    const std::string& type = found->second.type;
    if (type == "hash") run(fmt::format("HGET {} m1", key));
    if (type == "set") run(fmt::format("SADD {} m9", key)), found->second.members["m9"] = 0;
    if (type == "zset") run(fmt::format("ZRANGE {} 0 -1", key));
    run("SCAN 0");
  }

  // Members that are due and not removed yet are logged by the new name of a key that is renamed.
  void catch_up() {
    run("DEBUG SET-ACTIVE-EXPIRE 1", false);
    sweep();
  }

  void rename() {
    catch_up();
    const std::string from = existing();
    const std::string to = some_key();
    if (from.empty() || from == to) return;
    run(fmt::format("RENAME {} {}", from, to));
    data_[db_][to] = data_[db_][from];
    data_[db_].erase(from);
  }

  Random random_;
  ServerFixture server_;
  TestClient& client_ = server_.connect();
  int db_ = 0;
  std::array<std::map<std::string, Value>, 2> data_;
  std::multiset<std::string> expected_;
};

TEST(ExpiryLogModelTest, EachExpiryIsLoggedExactlyOnce) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    LogModel model(seed);
    for (int i = 0; i < 600; ++i) model.step();
    model.finish();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace expiry_log_model_test
}  // namespace mayfly
