// SPDX-License-Identifier: Apache-2.0
// MIGRATE between two servers in one test: what moves, what stays when something fails, and which
// connections are kept.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/migration/migration_targets.h"

namespace mayfly {
namespace migrate_commands_test {

using Lines = std::vector<std::string>;

// What is wrong with connections to the other server.
struct Fault {
  int writes = -1;     // so many work, then the connection is broken; negative: all
  int lines = -1;      // the same for lines that are read
  bool times = false;  // it is not broken, but silent
};

// Leads to a client of another server.
class TestStream final : public BlockingStream {
 public:
  TestStream(TestClient& client, Fault& fault) : client_(client), fault_(fault) {}

  Status write(std::string_view bytes, Millis) override {
    if (fault_.writes == 0) return failure();
    if (fault_.writes > 0) --fault_.writes;
    input_ += client_.send(bytes);
    return Done{};
  }

  Result<std::string> read_line(Millis) override {
    const std::size_t end = input_.find("\r\n");
    if (fault_.lines == 0 || end == std::string::npos) return failure();
    if (fault_.lines > 0) --fault_.lines;
    std::string line = input_.substr(0, end);
    input_.erase(0, end + 2);
    return line;
  }

 private:
  Error failure() const { return {fault_.times ? Code::busy : Code::io, "a test"}; }

  TestClient& client_;
  Fault& fault_;
  std::string input_;
};

class MigrateTest : public testing::Test {
 protected:
  MigrateTest() {
    from_.dial = [this](int port) -> Result<std::unique_ptr<BlockingStream>> {
      if (port != 7000) return Error{Code::io, "nobody listens there"};
      ++dialed_;
      return std::unique_ptr<BlockingStream>(std::make_unique<TestStream>(to_.connect(), fault_));
    };
  }

  std::string run(std::string_view line) { return client_.run(line); }
  std::string there(std::string_view line) { return other_.run(line); }
  // MIGRATE of keys, which have no spaces in them.
  std::string migrate(std::string_view options_and_keys) {
    std::vector<std::string> words = {"MIGRATE", "host", "7000", "", "0", "1000"};
    for (std::size_t at = 0; at < options_and_keys.size();) {
      const std::size_t end = std::min(options_and_keys.find(' ', at), options_and_keys.size());
      words.emplace_back(options_and_keys.substr(at, end - at));
      at = end + 1;
    }
    return client_.run(words);
  }
  Lines propagated() { return std::exchange(from_.propagated, {}); }
  std::size_t kept() { return from_.server().parts().migration_targets.size(); }

  ServerFixture from_;
  ServerFixture to_;
  TestClient& client_ = from_.connect();
  TestClient& other_ = to_.connect();
  Fault fault_;
  int dialed_ = 0;
};

TEST_F(MigrateTest, MovesAKeyWithItsDeadline) {
  run("SET a 1 PX 5000");
  from_.advance(Millis(1000));
  propagated();
  EXPECT_EQ(run("MIGRATE host 7000 a 3 1000"), "OK");
  EXPECT_EQ(run("EXISTS a"), "(integer) 0");
  EXPECT_EQ(propagated(), Lines{"0: DEL a"});
  there("SELECT 3");
  EXPECT_EQ(there("GET a"), "\"1\"");
  EXPECT_EQ(there("PTTL a"), "(integer) 4000");
}

TEST_F(MigrateTest, MovesSeveralKeysOfAllKinds) {
  run("SET a 1");
  run("HSET h f v g w");
  run("HPEXPIRE h 5000 FIELDS 1 f");
  run("SADD s x y");
  run("ZADD z 1 m");
  EXPECT_EQ(migrate("KEYS a none h s z"), "OK");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_EQ(there("DBSIZE"), "(integer) 4");
  EXPECT_EQ(there("HPTTL h FIELDS 2 f g"), "[(integer) 5000, (integer) -1]");
  EXPECT_EQ(propagated().back(), "0: DEL a h s z");
}

TEST_F(MigrateTest, CopiesAndReplaces) {
  run("SET a 1");
  there("SET a 2");
  propagated();
  EXPECT_EQ(migrate("COPY KEYS a"),
            "(error) ERR Target instance replied with error: BUSYKEY Target key name already "
            "exists.");
  EXPECT_EQ(there("GET a"), "\"2\"");
  EXPECT_EQ(migrate("COPY REPLACE KEYS a"), "OK");
  EXPECT_EQ(there("GET a"), "\"1\"");
  EXPECT_EQ(run("GET a"), "\"1\"");
  EXPECT_EQ(propagated(), Lines{});
}

TEST_F(MigrateTest, RemovesOnlyWhatTheOtherServerTook) {
  run("MSET a 1 b 2 c 3");
  there("SET b 0");
  propagated();
  EXPECT_TRUE(migrate("KEYS a b c").starts_with("(error) ERR Target instance"));
  EXPECT_EQ(run("KEYS *"), "[\"b\"]");
  EXPECT_EQ(there("MGET a b c"), "[\"1\", \"0\", \"3\"]");
  EXPECT_EQ(propagated(), Lines{"0: DEL a c"});
}

TEST_F(MigrateTest, MovesAKeyThatIsNamedTwiceOnce) {
  run("SET a 1");
  propagated();
  EXPECT_EQ(migrate("REPLACE KEYS a a"), "OK");
  EXPECT_EQ(propagated(), Lines{"0: DEL a"});
  EXPECT_EQ(there("GET a"), "\"1\"");
}

TEST_F(MigrateTest, LosesNothingIfTheConnectionBreaks) {
  run("MSET a 1 b 2 c 3");
  propagated();
  fault_.lines = 2;  // SELECT and one key
  EXPECT_EQ(migrate("KEYS a b c"), "(error) IOERR error or timeout reading to target instance");
  EXPECT_EQ(run("MGET a b c"), "[(nil), \"2\", \"3\"]");
  EXPECT_EQ(propagated(), Lines{"0: DEL a"});
  EXPECT_EQ(kept(), 0u);
  fault_ = {.writes = 0};
  EXPECT_EQ(migrate("KEYS b"), "(error) IOERR error or timeout writing to target instance");
  EXPECT_EQ(run("EXISTS b"), "(integer) 1");
  EXPECT_EQ(run("MIGRATE host 7001 b 0 100"),
            "(error) IOERR error or timeout writing to target instance");
  EXPECT_EQ(run("MIGRATE host nowhere b 0 100"),
            "(error) IOERR error or timeout connecting to the client");
  EXPECT_EQ(propagated(), Lines{});
}

TEST_F(MigrateTest, KeepsTheConnectionForAWhile) {
  run("MSET a 1 b 2 c 3");
  migrate("KEYS a");
  migrate("KEYS b");
  EXPECT_EQ(dialed_, 1);
  EXPECT_EQ(kept(), 1u);
  EXPECT_NE(run("INFO stats").find("migrate_cached_sockets:1"), std::string::npos);
  from_.advance(Millis(9'999));
  from_.sweep();
  EXPECT_EQ(kept(), 1u);
  from_.advance(Millis(200));
  from_.sweep();
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(migrate("KEYS c"), "OK");
  EXPECT_EQ(dialed_, 2);
}

TEST_F(MigrateTest, ReplacesAKeptConnectionThatIsBroken) {
  run("MSET a 1 b 2");
  migrate("KEYS a");
  fault_ = {.lines = 0};
  from_.dial = [this](int) -> Result<std::unique_ptr<BlockingStream>> {
    fault_ = {};
    return std::unique_ptr<BlockingStream>(std::make_unique<TestStream>(to_.connect(), fault_));
  };
  EXPECT_EQ(migrate("REPLACE KEYS b"), "OK");
  EXPECT_EQ(there("GET b"), "\"2\"");
}

// It may be at work on the keys: to send them again would not help.
TEST_F(MigrateTest, DoesNotTryAgainIfAKeptConnectionIsSilent) {
  run("MSET a 1 b 2");
  migrate("KEYS a");
  fault_ = {.lines = 0, .times = true};
  EXPECT_EQ(migrate("KEYS b"), "(error) IOERR error or timeout reading to target instance");
  EXPECT_EQ(dialed_, 1);
  EXPECT_EQ(run("EXISTS b"), "(integer) 1");
}

TEST_F(MigrateTest, SaysWhoItIsAndForgetsItAfterwards) {
  run("MSET a 1 b 2");
  there("CONFIG SET requirepass secret");
  EXPECT_EQ(migrate("KEYS a"),
            "(error) ERR Target instance replied with error: NOAUTH Authentication required.");
  EXPECT_EQ(migrate("AUTH wrong KEYS a"),
            "(error) ERR Target instance replied with error: WRONGPASS invalid username-password "
            "pair or user is disabled.");
  EXPECT_EQ(migrate("AUTH secret KEYS a"), "OK");
  EXPECT_EQ(migrate("AUTH2 default secret KEYS b"), "OK");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  run("SET c 3");
  EXPECT_TRUE(migrate("KEYS c").ends_with("NOAUTH Authentication required."));
}

TEST_F(MigrateTest, SelectsTheDatabaseAgainAfterAnError) {
  run("MSET a 1 b 2");
  migrate("KEYS a");
  EXPECT_EQ(run("MIGRATE host 7000 b 99 1000"),
            "(error) ERR Target instance replied with error: ERR DB index is out of range");
  EXPECT_EQ(run("EXISTS b"), "(integer) 1");
  EXPECT_EQ(run("MIGRATE host 7000 b 2 1000"), "OK");
  there("SELECT 2");
  EXPECT_EQ(there("GET b"), "\"2\"");
}

TEST_F(MigrateTest, RefusesWrongWords) {
  run("SET a 1");
  EXPECT_EQ(migrate("KEYS none"), "NOKEY");
  EXPECT_EQ(migrate("KEYS"), "NOKEY");
  EXPECT_EQ(run("MIGRATE host 7000 none 0 1000"), "NOKEY");
  EXPECT_EQ(run("MIGRATE host 7000 a 0 1000 KEYS a"),
            "(error) ERR When using MIGRATE KEYS option, the key argument must be set to the empty "
            "string");
  EXPECT_EQ(run("MIGRATE host 7000 a 0 1000 AUTH"), "(error) ERR syntax error");
  EXPECT_EQ(run("MIGRATE host 7000 a 0 1000 AUTH2 user"), "(error) ERR syntax error");
  EXPECT_EQ(run("MIGRATE host 7000 a 0 1000 MAYBE"), "(error) ERR syntax error");
  EXPECT_EQ(run("MIGRATE host 7000 a x 1000"),
            "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(run("MIGRATE host 7000 a 0 x"), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(dialed_, 0);
}

TEST_F(MigrateTest, HasKeysInOneOfTwoPlaces) {
  EXPECT_EQ(run("COMMAND GETKEYS MIGRATE host 7000 a 0 1000 COPY"), "[\"a\"]");
  const Lines words = {"COMMAND", "GETKEYS", "MIGRATE", "host", "7000", "", "0",
                       "1000",    "AUTH",    "keys",    "KEYS", "a",    "b"};
  EXPECT_EQ(client_.run(words), "[\"a\", \"b\"]");
}

TEST_F(MigrateTest, DoesNotShowPasswords) {
  TestClient& monitor = from_.connect();
  monitor.run("MONITOR");
  run("MIGRATE host 7000 none 0 1000 COPY AUTH secret");
  run("MIGRATE host 7000 none 0 1000 AUTH2 user secret KEYS auth k");
  const std::string shown = monitor.messages();
  EXPECT_EQ(shown.find("secret"), std::string::npos);
  EXPECT_NE(shown.find(R"x("AUTH2" "(redacted)" "(redacted)" "KEYS" "auth" "k")x"),
            std::string::npos)
      << shown;
}

}  // namespace migrate_commands_test
}  // namespace mayfly
