// SPDX-License-Identifier: Apache-2.0
// COMMAND: replies in the form that Redis 7 gives, and rows that make sense.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "commands/syntax.h"
#include "resp/glob.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace command_commands_test {

class CommandCommandsTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return client_.run(line); }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

// The expected text is what redis-server 7.0 says.
TEST_F(CommandCommandsTest, InfoHasTenElements) {
  run("HELLO 3");
  EXPECT_EQ(run("COMMAND INFO get"),
            R"([["get", (integer) 2, (set) [readonly, fast], (integer) 1, (integer) 1, )"
            R"((integer) 1, (set) [@read, @string, @fast], (set) [], (set) [{"flags": )"
            R"((set) [RO, access], "begin_search": {"type": "index", "spec": {"index": )"
            R"((integer) 1}}, "find_keys": {"type": "range", "spec": {"lastkey": (integer) 0, )"
            R"("keystep": (integer) 1, "limit": (integer) 0}}}], []]])");
}

TEST_F(CommandCommandsTest, EveryCommandRefusesCostlyPatterns) {
  const std::string refused = "(error) " + std::string(kPatternTooCostly);
  const std::string costly = "*?" + std::string(kSignsMost, 'x') + "*";
  const std::vector<std::vector<std::string>> requests = {
      {"KEYS", costly},
      {"SCAN", "0", "MATCH", costly},
      {"EXPIRESCAN", "0", "FROM", "now", "TO", "1h", "MATCH", costly},
      {"PSUBSCRIBE", "*", costly},
      {"PUBSUB", "CHANNELS", costly},
      {"PUBSUB", "SHARDCHANNELS", costly},
      {"CONFIG", "GET", "maxmemory", costly},
      {"COMMAND", "LIST", "FILTERBY", "PATTERN", costly},
      {"FUNCTION", "LIST", "LIBRARYNAME", costly},
  };
  for (const auto& request : requests) EXPECT_EQ(client_.run(request), refused) << request[0];
}

TEST_F(CommandCommandsTest, InfoOfSubcommandsAndOfNone) {
  run("HELLO 3");
  EXPECT_EQ(
      run("COMMAND INFO config|get nosuch config|nosuch"),
      R"([["config|get", (integer) -3, (set) [admin, noscript, loading, stale], (integer) 0, )"
      R"((integer) 0, (integer) 0, (set) [@admin, @slow, @dangerous], (set) [], (set) [], )"
      R"([]], (nil), (nil)])");
  EXPECT_TRUE(
      run("COMMAND INFO config")
          .starts_with(
              R"([["config", (integer) -2, (set) [], (integer) 0, (integer) 0, (integer) 0, )"
              R"((set) [@slow], (set) [], (set) [], [["config|get",)"));
}

TEST_F(CommandCommandsTest, CountsWhatItLists) {
  const std::size_t count = fixture_.server().parts().commands.rows().size();
  EXPECT_EQ(run("COMMAND COUNT"), "(integer) " + std::to_string(count));
  EXPECT_TRUE(client_.send("COMMAND\r\n").starts_with("*" + std::to_string(count) + "\r\n"));
  EXPECT_TRUE(client_.send("COMMAND INFO\r\n").starts_with("*" + std::to_string(count) + "\r\n"));
}

TEST_F(CommandCommandsTest, DocsHaveSummaryAndSubcommands) {
  run("HELLO 3");
  EXPECT_EQ(run("COMMAND DOCS hget nosuch"),
            R"({"hget": {"summary": "Returns the value of a field.", "since": "2.0.0", )"
            R"("group": "hash", "arguments": [{"name": "key", "type": "key", )"
            R"("display_text": "key", "key_spec_index": (integer) 0}, {"name": "field", )"
            R"("type": "string", "display_text": "field"}]}})");
  const std::string docs = run("COMMAND DOCS config");
  EXPECT_NE(docs.find(R"("subcommands": {"config|get": {"summary":)"), std::string::npos);
}

TEST_F(CommandCommandsTest, DocsDescribeOptionsAndChoices) {
  run("HELLO 3");
  const std::string docs = run("COMMAND DOCS hgetex");
  EXPECT_NE(docs.find(R"({"name": "expiration", "type": "oneof", "flags": (set) [optional], )"
                      R"("arguments": [{"name": "seconds", "type": "integer", )"
                      R"("display_text": "seconds", "token": "EX"})"),
            std::string::npos)
      << docs;
  EXPECT_NE(docs.find(R"({"name": "field", "type": "string", "display_text": "field", )"
                      R"("flags": (set) [multiple]})"),
            std::string::npos)
      << docs;
}

// The places of several keys, units in small letters, and the blocks of an area.
TEST_F(CommandCommandsTest, DocsOfPositionsAndMigrationsAreThoseOfValkey) {
  run("HELLO 3");
  const auto expect_in = [&](const char* command, const char* part) {
    const std::string docs = run(std::string("COMMAND DOCS ") + command);
    EXPECT_NE(docs.find(part), std::string::npos) << docs;
  };
  expect_in("geosearch", R"({"name": "search-type", "type": "oneof", "arguments": [)"
                         R"({"name": "radius-or-box", "type": "block", "arguments": [)"
                         R"({"name": "from", "type": "oneof")");
  expect_in("geosearch", R"({"name": "circle", "type": "block", "arguments": [{"name": "radius", )"
                         R"("type": "double", "display_text": "radius", "token": "BYRADIUS"}, )"
                         R"({"name": "unit", "type": "oneof", "arguments": [{"name": "m", )"
                         R"("type": "pure-token", "display_text": "m", "token": "m"})");
  expect_in("geosearch", R"({"name": "box", "type": "block", "arguments": [{"name": "width")");
  expect_in("geosearch", R"({"name": "polygon", "type": "block")");
  expect_in("geosearch", R"({"name": "count-block", "type": "block", "flags": (set) [optional])");
  expect_in("georadius", R"({"name": "storekey", "type": "key", "display_text": "storekey", )"
                         R"("key_spec_index": (integer) 1, "token": "STORE"})");
  expect_in("georadius", R"("key_spec_index": (integer) 2, "token": "STOREDIST")");
  expect_in("migrate", R"({"name": "key-selector", "type": "oneof", "arguments": [{"name": "key")");
  expect_in("migrate", R"({"name": "empty-string", "type": "pure-token")");
  expect_in("migrate", R"("key_spec_index": (integer) 1, "token": "KEYS")");
  expect_in("rename", R"({"name": "newkey", "type": "key", "display_text": "newkey", )"
                      R"("key_spec_index": (integer) 1})");
}

// The expected text is redis-server 7.0's.
TEST_F(CommandCommandsTest, InfoOfGeoradiusHasThePlacesOfWhatIsStored) {
  run("HELLO 3");
  const std::string info = run("COMMAND INFO georadius");
  for (const char* const part :
       {R"({"flags": (set) [OW, update, variable_flags], "begin_search": {"type": "keyword", )"
        R"("spec": {"keyword": "STORE", "startfrom": (integer) 6}})",
        R"("spec": {"keyword": "STOREDIST", "startfrom": (integer) 6}})"}) {
    EXPECT_NE(info.find(part), std::string::npos) << info;
  }
}

TEST_F(CommandCommandsTest, ListCanBeFiltered) {
  EXPECT_EQ(run("COMMAND LIST FILTERBY PATTERN hset*x"), R"(["hsetnx", "hsetex"])");
  EXPECT_NE(run("COMMAND LIST FILTERBY PATTERN config*").find(R"("config", "config|get")"),
            std::string::npos);
  EXPECT_NE(run("COMMAND LIST FILTERBY ACLCAT hash").find(R"("hset")"), std::string::npos);
  EXPECT_EQ(run("COMMAND LIST FILTERBY ACLCAT hash").find(R"("get")"), std::string::npos);
  EXPECT_EQ(run("COMMAND LIST FILTERBY ACLCAT nosuch"), "[]");
  EXPECT_EQ(run("COMMAND LIST FILTERBY MODULE any"), "[]");
  EXPECT_EQ(run("COMMAND LIST FILTERBY PATTERN"), "(error) ERR syntax error");
  EXPECT_EQ(run("COMMAND LIST FILTERBY COLOUR red"), "(error) ERR syntax error");
}

TEST_F(CommandCommandsTest, GetkeysFindsKeys) {
  EXPECT_EQ(run("COMMAND GETKEYS MSET a 1 b 2"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYS MEMORY USAGE k"), R"(["k"])");
  EXPECT_EQ(run("COMMAND GETKEYSANDFLAGS HGET h f"), R"([["h", [RO, access]]])");
}

TEST_F(CommandCommandsTest, GetkeysFindsTargetsAndCountedKeys) {
  EXPECT_EQ(run("COMMAND GETKEYS zunionstore d 2 a b WEIGHTS 1 2"), R"(["d", "a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYS zrangestore d a 0 -1"), R"(["d", "a"])");
  EXPECT_EQ(run("COMMAND GETKEYS zinter 2 a b"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYS bzmpop 0 2 a b MIN"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYS bzpopmin a b 0"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYSANDFLAGS zrangestore d a 0 -1"),
            R"([["d", [OW, update]], ["a", [RO, access]]])");
}

// First key, last key and step for clients that know one range only, and then all ranges.
TEST_F(CommandCommandsTest, InfoShowsTheTargetAsARangeOfItsOwn) {
  const std::string store = run("COMMAND INFO zunionstore");
  EXPECT_NE(store.find("(integer) 1, (integer) 1, (integer) 1, "), std::string::npos) << store;
  const std::size_t target = store.find("OW, update");
  const std::size_t sources = store.find("RO, access");
  EXPECT_LT(target, sources) << store;
  EXPECT_NE(sources, std::string::npos) << store;
  const std::string range = run("COMMAND INFO zrangestore");
  EXPECT_NE(range.find("(integer) 1, (integer) 2, (integer) 1, "), std::string::npos) << range;
  const std::string move = run("COMMAND INFO smove");
  EXPECT_NE(move.find("(integer) 1, (integer) 2, (integer) 1, "), std::string::npos) << move;
  EXPECT_LT(move.find("RW, access, delete"), move.find("RW, insert")) << move;
  const std::string inter = run("COMMAND INFO sinterstore");
  EXPECT_NE(inter.find("(integer) 1, (integer) -1, (integer) 1, "), std::string::npos) << inter;
}

TEST_F(CommandCommandsTest, KeysBehindAKeywordAreShownAndFound) {
  EXPECT_EQ(run("COMMAND GETKEYS xreadgroup GROUP g streams STREAMS a b > >"), R"(["a", "b"])");
  EXPECT_EQ(run("COMMAND GETKEYSANDFLAGS xread STREAMS a 0"), R"([["a", [RO, access]]])");
  run("HELLO 3");
  EXPECT_EQ(
      run("COMMAND INFO xreadgroup"),
      R"([["xreadgroup", (integer) -7, (set) [write, blocking, movablekeys], (integer) 0, )"
      R"((integer) 0, (integer) 0, (set) [@write, @stream, @slow, @blocking], (set) [], )"
      R"((set) [{"flags": (set) [RO, access], "begin_search": {"type": "keyword", "spec": )"
      R"({"keyword": "STREAMS", "startfrom": (integer) 4}}, "find_keys": {"type": "range", )"
      R"("spec": {"lastkey": (integer) -1, "keystep": (integer) 1, "limit": (integer) 2}}}], )"
      R"([]]])");
}

TEST_F(CommandCommandsTest, GetkeysRefusesWhatHasNone) {
  EXPECT_EQ(run("COMMAND GETKEYS nosuch a"), "(error) ERR Invalid command specified");
  EXPECT_EQ(run("COMMAND GETKEYS ping"), "(error) ERR The command has no key arguments");
  EXPECT_EQ(run("COMMAND GETKEYS hget h"),
            "(error) ERR Invalid number of arguments specified for command");
}

// Every row of every family, subcommands included.
TEST_F(CommandCommandsTest, RowsAreComplete) {
  const auto check = [](const Command& row) {
    const std::string name = full_name(row);
    EXPECT_NE(row.arity, 0) << name;
    EXPECT_FALSE(row.group.empty()) << name;
    EXPECT_FALSE(row.since.empty()) << name;
    // No version of Valkey brought what its documents do not have.
    const bool is_ours = row.name == "saddex" || row.name == "expirescan" || row.name == "ttlstats";
    if (is_ours) {
      EXPECT_EQ(row.since, kOnlyHere) << name;
    }
    EXPECT_TRUE(row.summary.ends_with('.')) << name;
    EXPECT_TRUE(row.handler != nullptr || !row.subcommands.empty()) << name;
    EXPECT_EQ(row.keys.first == 0, row.keys.access == 0) << name;
  };
  for (const Command* const row : fixture_.server().parts().commands.rows()) {
    check(*row);
    for (const Command& subcommand : row->subcommands) {
      check(subcommand);
      EXPECT_EQ(subcommand.parent, row->name);
    }
  }
}

// ---- The syntax of every row, against its arity and against what the handler takes ----

using Request = std::vector<std::string>;

// Words that an argument can stand for.
struct Piece {
  Request words;
  int times = 1;  // how often a repeated argument occurs in them
};
using Pieces = std::vector<Piece>;

Pieces pieces_of(const Argument& argument);

void append(Request& words, const Request& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// The first piece of each argument, but for argument `place`, which has `piece`.
Request join(const std::vector<Argument>& arguments, const std::vector<Pieces>& pieces,
             std::size_t place, std::size_t piece) {
  Request words;
  const auto chosen = [&](std::size_t i) { return pieces[i][i == place ? piece : 0]; };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    append(words, chosen(i).words);
    if (arguments[i].is_count) words.back() = std::to_string(chosen(i + 1).times);
  }
  return words;
}

// The shortest form, and then one for each other piece of each argument.
Pieces pieces_of(const std::vector<Argument>& arguments) {
  std::vector<Pieces> all;
  for (const Argument& argument : arguments) all.push_back(pieces_of(argument));
  Pieces joined = {{join(arguments, all, 0, 0)}};
  for (std::size_t place = 0; place < all.size(); ++place) {
    for (std::size_t piece = 1; piece < all[place].size(); ++piece) {
      joined.push_back({join(arguments, all, place, piece)});
    }
  }
  return joined;
}

Pieces values_of(const Argument& argument) {
  using enum ArgumentKind;
  Pieces pieces;
  switch (argument.kind) {
    case token:
      return {{}};
    case block:
      return pieces_of(argument.parts);
    case choice:
      for (const Argument& part : argument.parts) {
        for (Piece& piece : pieces_of(part)) pieces.push_back(std::move(piece));
      }
      return pieces;
    case integer:
      return {{{"1"}}};
    case number:
      return {{{"1.5"}}};
    case unix_time:
      return {{{"9999999999"}}};
    default:
      return {{{argument.name}}};
  }
}

Pieces pieces_of(const Argument& argument) {
  Pieces pieces = values_of(argument);
  if (!argument.token.empty()) {
    for (Piece& piece : pieces) piece.words.insert(piece.words.begin(), argument.token);
  }
  if (argument.is_repeated) {
    Piece twice = pieces.front();
    const bool skips_token = !argument.token.empty() && !argument.repeats_token;
    append(twice.words, Request(twice.words.begin() + skips_token, twice.words.end()));
    twice.times = 2;
    pieces.push_back(std::move(twice));
  }
  if (argument.is_optional) pieces.insert(pieces.begin(), Piece{});
  return pieces;
}

std::vector<Request> requests_of(const Command& row) {
  std::vector<Request> requests;
  for (const Piece& piece : pieces_of(*parse_syntax(row.syntax))) {
    Request request;
    if (!row.parent.empty()) request.emplace_back(row.parent);
    request.emplace_back(row.name);
    append(request, piece.words);
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<const Command*> all_rows(const Server& server) {
  std::vector<const Command*> rows;
  for (const Command* const row : server.parts().commands.rows()) {
    if (row->handler != nullptr && row->subcommands.empty()) rows.push_back(row);
    for (const Command& subcommand : row->subcommands) rows.push_back(&subcommand);
  }
  return rows;
}

TEST_F(CommandCommandsTest, SyntaxAgreesWithArityAndKeys) {
  for (const Command* const row : all_rows(fixture_.server())) {
    const auto arguments = parse_syntax(row->syntax);
    ASSERT_TRUE(arguments.ok()) << full_name(*row) << ": " << arguments.error().message;
    const WordCount words = count_words(*arguments);
    const int least = words.least + (row->parent.empty() ? 1 : 2);
    const bool is_fixed = words.most == words.least;
    EXPECT_EQ(row->arity, is_fixed ? least : -least) << full_name(*row) << ": " << row->syntax;
  }
}

// A reply that says that the request is not of the form that the syntax describes.
bool says_wrong_form(const std::string& reply) {
  if (!reply.starts_with("(error)")) return false;
  for (const std::string_view sign :
       {"syntax error", "wrong number of arguments", "unknown command", "nknown subcommand",
        "Unrecognized", "numfields", "nummembers"}) {
    if (reply.find(sign) != std::string::npos) return true;
  }
  return false;
}

// Whether a request lacks what the syntax cannot say: WEIGHTS has as many values as there are keys,
// LIMIT needs BYSCORE or BYLEX, or `~` when a stream is trimmed, and JITTER needs a time.
bool is_incomplete(const Request& request) {
  const auto has = [&](std::string_view word) { return std::ranges::count(request, word) > 0; };
  constexpr std::array<std::string_view, 4> kLimited = {"zrange", "zrangestore", "xadd", "xtrim"};
  const bool is_limited = std::ranges::count(kLimited, request.front()) > 0;
  constexpr std::array<std::string_view, 7> kTimed = {"set",    "getex",  "msetex", "hgetex",
                                                      "hsetex", "saddex", "zaddex"};
  const bool is_timed = has("EX") || has("PX") || has("EXAT") || has("PXAT");
  const bool wants_time = std::ranges::count(kTimed, request.front()) > 0;
  return has("WEIGHTS") || (is_limited && has("LIMIT")) ||
         (wants_time && has("JITTER") && !is_timed);
}

TEST_F(CommandCommandsTest, HandlersTakeWhatTheSyntaxDescribes) {
  for (const Command* const row : all_rows(fixture_.server())) {
    // The words behind these have no rows.
    if (row->name == "debug" || row->name == "replconf") continue;
    for (const Request& request : requests_of(*row)) {
      if (is_incomplete(request)) continue;
      ServerFixture fixture;  // some requests change the state of the whole server
      const std::string reply = fixture.connect().run(request);
      EXPECT_FALSE(says_wrong_form(reply)) << testing::PrintToString(request) << ": " << reply;
    }
  }
}

// The type of `key` without which some commands of a group reply before they read all options.
std::optional<ValueType> type_of_group(std::string_view group) {
  if (group == "hash") return ValueType::hash;
  if (group == "set") return ValueType::set;
  if (group == "sorted-set") return ValueType::zset;
  return std::nullopt;
}

TEST_F(CommandCommandsTest, HandlersTakeNothingBehindIt) {
  for (const Command* const row : all_rows(fixture_.server())) {
    const WordCount words = count_words(*parse_syntax(row->syntax));
    if (!words.most) continue;           // the word could be a repeated one
    if (row->name == "psync") continue;  // as in Valkey, it ignores further words
    Request request = requests_of(*row).front();
    const std::size_t too_many =
        static_cast<std::size_t>(*words.most) + (row->parent.empty() ? 2 : 3);
    while (request.size() < too_many) request.push_back("nosuchword");
    ServerFixture fixture;
    if (const std::optional<ValueType> type = type_of_group(row->group)) {
      const ExecContext context{};
      Database& database = fixture.server().parts().keyspace[0];
      const Slot slot = database.make_members(context, *type, "key");
      database.members(context, slot).put("field", *type == ValueType::set ? "" : "8 bytes.");
    }
    const std::string reply = fixture.connect().run(request);
    EXPECT_TRUE(reply.starts_with("(error)")) << testing::PrintToString(request) << ": " << reply;
  }
}

}  // namespace command_commands_test
}  // namespace mayfly
