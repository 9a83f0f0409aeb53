// SPDX-License-Identifier: Apache-2.0
// FUNCTION and FCALL.

#include "server/scripting/functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "persist/rdb/rdb_functions.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace functions_test {

using Lines = std::vector<std::string>;

// A library with one function that returns a text.
std::string library(const std::string& name, const std::string& function,
                    const std::string& text = "hello") {
  return "#!lua name=" + name + "\nredis.register_function('" + function +
         "', function(keys, args) return '" + text + "' end)";
}

class FunctionsTest : public testing::Test, protected ServerFixture {
 protected:
  std::string load(const std::string& code) { return client.run({"FUNCTION", "LOAD", code}); }
  std::string replace(const std::string& code) {
    return client.run({"FUNCTION", "LOAD", "REPLACE", code});
  }
  std::string load_body(const std::string& body) { return load("#!lua name=lib\n" + body); }
  std::string restore(const std::string& payload, const std::string& policy = "APPEND") {
    return client.run({"FUNCTION", "RESTORE", payload, policy});
  }
  std::string dump() { return dump_functions(server().parts().scripting.functions().codes()); }
  std::string names() {
    std::string text;
    for (const auto& [name, library] : server().parts().scripting.functions().libraries()) {
      text += name + ":";
      for (const auto& [function, unused] : library->functions) text += function + " ";
    }
    return text;
  }

  TestClient& client = connect();
};

// ---- Loading ----

TEST_F(FunctionsTest, AreCalledWithKeysAndArguments) {
  EXPECT_EQ(load_body("redis.register_function('f', function(keys, args)\n"
                      "  return {#keys, keys[1], #args, args[1], tostring(KEYS)} end)"),
            "\"lib\"");
  EXPECT_TRUE(client.run("FCALL f 1 k a").starts_with("(error) ERR "));  // there is no KEYS
  replace(
      "#!lua name=lib\nredis.register_function('f', function(keys, args)\n"
      "  return {#keys, keys[1], #args, args[1]} end)");
  EXPECT_EQ(client.run("FCALL f 1 k a"), R"([(integer) 1, "k", (integer) 1, "a"])");
  EXPECT_EQ(client.run("FCALL F 1 k a"), R"([(integer) 1, "k", (integer) 1, "a"])");
  EXPECT_EQ(client.run("FCALL g 0"), "(error) ERR Function not found");
  EXPECT_EQ(client.run("FCALL f x"), "(error) ERR Bad number of keys provided");
  EXPECT_EQ(client.run("FCALL f 2 k"),
            "(error) ERR Number of keys can't be greater than number of args");
  EXPECT_EQ(client.run("FCALL f -1"), "(error) ERR Number of keys can't be negative");
}

TEST_F(FunctionsTest, ErrorsSayWhere) {
  load_body(
      "redis.register_function('f', function(keys)\n  local r = redis.call('INCR', keys[1])\n"
      "  return r end)");
  client.run("SET k text");
  EXPECT_EQ(client.run("FCALL f 1 k"),
            "(error) ERR value is not an integer or out of range script: on @user_function:3.");
}

TEST_F(FunctionsTest, MetadataAndNamesAreChecked) {
  EXPECT_EQ(load("return 1"), "(error) ERR Missing library metadata");
  EXPECT_EQ(load("#!lua name=x"), "(error) ERR Invalid library metadata");
  EXPECT_EQ(load("#!lua\nreturn 1"), "(error) ERR Library name was not given");
  EXPECT_EQ(load("#!js name=x\nreturn 1"), "(error) ERR Engine 'js' not found");
  EXPECT_EQ(load("#!lua name=a name=b\n"),
            "(error) ERR Invalid metadata value, name argument was given multiple times");
  EXPECT_EQ(load("#!lua name=a x=b\n"), "(error) ERR Invalid metadata value given: x=b");
  const std::string names_rule =
      " names can only contain letters, numbers, or underscores(_) and must be at least one "
      "character long";
  EXPECT_EQ(load("#!lua name=a-b\n"), "(error) ERR Library" + names_rule);
  EXPECT_EQ(load(library("lib", "a-b")),
            "(error) ERR Error registering functions: ERR Function" + names_rule);
  EXPECT_EQ(load("#!lua name=lib\nreturn 1"), "(error) ERR No functions registered");
  EXPECT_TRUE(load("#!lua name=lib\nreturn (")
                  .starts_with("(error) ERR Error compiling function: user_function:2: "));
  EXPECT_EQ(client.run("FUNCTION LOAD NOW x"), "(error) ERR Unknown option given: NOW");
  EXPECT_EQ(names(), "");
}

TEST_F(FunctionsTest, RegisteringIsChecked) {
  const auto error_of = [&](const std::string& arguments) {
    const std::string begin = "(error) ERR Error registering functions: ";
    const std::string reply = load_body("redis.register_function(" + arguments + ")");
    return reply.starts_with(begin) ? reply.substr(begin.size()) : reply;
  };
  EXPECT_EQ(error_of(""), "ERR wrong number of arguments to server.register_function");
  EXPECT_EQ(error_of("'f', function() end, 3"),
            "ERR wrong number of arguments to server.register_function");
  EXPECT_EQ(error_of("1, function() end"),
            "ERR first argument to server.register_function must be a string");
  EXPECT_EQ(error_of("'f', 'g'"),
            "ERR second argument to server.register_function must be a function");
  EXPECT_EQ(error_of("{function_name = 'f'}"),
            "ERR server.register_function must get a callback argument");
  EXPECT_EQ(error_of("{callback = function() end}"),
            "ERR server.register_function must get a function name argument");
  EXPECT_EQ(error_of("{function_name = 'f', callback = function() end, flags = {'x'}}"),
            "ERR unknown flag given");
  EXPECT_EQ(error_of("{function_name = 'f', callback = function() end, more = 1}"),
            "ERR unknown argument given to server.register_function");
  EXPECT_EQ(error_of("'f', function() end) redis.register_function('f', function() end"),
            "ERR Function already exists in the library");
  EXPECT_EQ(names(), "");
}

TEST_F(FunctionsTest, CommandsCannotBeCalledWhileLoading) {
  for (const std::string body :
       {"redis.call('SET', 'k', 1)", "redis.pcall('PING')", "redis.setresp(3)",
        "redis.set_repl(redis.REPL_NONE)", "x = 1", "local x = KEYS[1]", "local x = pcall"}) {
    EXPECT_TRUE(load_body(body + " redis.register_function('f', function() end)")
                    .starts_with("(error) ERR Error registering functions: "))
        << body;
  }
  EXPECT_EQ(client.run("EXISTS k"), "(integer) 0");
  load_body("redis.register_function('f', function() redis.register_function('g', print) end)");
  EXPECT_TRUE(client.run("FCALL f 0").starts_with("(error) ERR "));
  EXPECT_EQ(names(), "lib:f ");
}

TEST_F(FunctionsTest, LibrariesKeepWhatIsTheirs) {
  load_body(
      "local count = 0 redis.register_function('f', function() count = count + 1 "
      "return count end)");
  EXPECT_EQ(client.run("FCALL f 0"), "(integer) 1");
  EXPECT_EQ(client.run("FCALL f 0"), "(integer) 2");
  load("#!lua name=leaks\nredis.register_function('g', function() leak = 1 end)");
  EXPECT_TRUE(client.run("FCALL g 0").starts_with("(error) ERR "));
}

TEST_F(FunctionsTest, ALibraryWithoutEndIsStopped) {
  server().parts().config.lua_memory_limit = 8 << 20;
  EXPECT_NE(load_body("local t = {} for i = 1, 1e9 do t[i] = {i} end").find("not enough memory"),
            std::string::npos);
  EXPECT_NE(load_body("while true do end").find("FUNCTION LOAD timeout"), std::string::npos);
  EXPECT_EQ(load(library("lib", "f")), "\"lib\"");
  EXPECT_EQ(client.run("FCALL f 0"), "\"hello\"");
}

TEST_F(FunctionsTest, ReplaceIsAllOrNothing) {
  load(library("lib", "f", "old"));
  load(library("other", "g"));
  EXPECT_EQ(load(library("lib", "f", "new")), "(error) ERR Library 'lib' already exists");
  EXPECT_EQ(replace(library("lib", "g")), "(error) ERR Function g already exists");
  EXPECT_EQ(replace(library("lib", "G")), "(error) ERR Function G already exists");
  EXPECT_TRUE(replace("#!lua name=lib\nerror('x')").starts_with("(error) ERR "));
  EXPECT_EQ(client.run("FCALL f 0"), "\"old\"");
  EXPECT_EQ(replace(library("lib", "h", "new")), "\"lib\"");
  EXPECT_EQ(client.run("FCALL f 0"), "(error) ERR Function not found");
  EXPECT_EQ(client.run("FCALL h 0"), "\"new\"");
  EXPECT_EQ(names(), "lib:h other:g ");
  EXPECT_EQ(load(library("third", "H")), "(error) ERR Function H already exists");
}

TEST_F(FunctionsTest, DeleteAndFlush) {
  load(library("a", "f"));
  load(library("b", "g"));
  EXPECT_EQ(client.run("FUNCTION DELETE x"), "(error) ERR Library not found");
  EXPECT_EQ(client.run("FUNCTION DELETE a"), "OK");
  EXPECT_EQ(client.run("FCALL f 0"), "(error) ERR Function not found");
  EXPECT_EQ(names(), "b:g ");
  EXPECT_EQ(client.run("FUNCTION FLUSH x"),
            "(error) ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  EXPECT_EQ(client.run("FUNCTION FLUSH ASYNC"), "OK");
  EXPECT_EQ(names(), "");
  EXPECT_EQ(client.run("FUNCTION FLUSH SYNC"), "OK");
  EXPECT_EQ(load(library("a", "f")), "\"a\"");
  EXPECT_EQ(client.run("FLUSHALL"), "OK");  // data only
  EXPECT_EQ(client.run("FCALL f 0"), "\"hello\"");
  client.run("SCRIPT FLUSH");
  EXPECT_EQ(client.run("FCALL f 0"), "\"hello\"");
}

// ---- Listing ----

TEST_F(FunctionsTest, ListAndStats) {
  const std::string code =
      "#!lua name=lib\nredis.register_function{function_name = 'f', description = 'about',\n"
      "callback = function() end, flags = {'no-writes', 'allow-stale'}}";
  load(code);
  load(library("other", "g"));
  EXPECT_EQ(client.run("FUNCTION LIST LIBRARYNAME l*"),
            R"([["library_name", "lib", "engine", "LUA", "functions", [["name", "f", )"
            R"("description", "about", "flags", [no-writes, allow-stale]]]]])");
  const std::string with_code = client.run("FUNCTION LIST WITHCODE libraryname lib");
  EXPECT_NE(with_code.find("\"library_code\", \"#!lua name=lib"), std::string::npos) << with_code;
  EXPECT_EQ(client.run("FUNCTION LIST LIBRARYNAME none"), "[]");
  EXPECT_EQ(client.run("FUNCTION LIST LIBRARYNAME"),
            "(error) ERR library name argument was not given");
  EXPECT_EQ(client.run("FUNCTION LIST x"), "(error) ERR Unknown argument x");
  EXPECT_EQ(client.run("FUNCTION LIST WITHCODE WITHCODE"), "(error) ERR Unknown argument WITHCODE");
  EXPECT_EQ(client.run("FUNCTION STATS"),
            R"(["running_script", (nil), "engines", ["LUA", ["libraries_count", (integer) 2, )"
            R"("functions_count", (integer) 2]]])");
  EXPECT_EQ(client.run("FUNCTION KILL"), "(error) NOTBUSY No scripts in execution right now.");
  client.run("HELLO 3");
  EXPECT_TRUE(client.run("FUNCTION LIST LIBRARYNAME lib")
                  .starts_with(R"([{"library_name": "lib", "engine": "LUA", "functions": [{)"));
}

// ---- Flags ----

TEST_F(FunctionsTest, FlagsSayWhatAFunctionMayDo) {
  const auto function = [](const std::string& name, const std::string& flags) {
    return "redis.register_function{function_name = '" + name + "', flags = {" + flags +
           "}, callback = function(keys) local r = redis.call('SET', keys[1], 1) return r end}\n";
  };
  load_body(function("plain", "") + function("reads", "'no-writes'") +
            function("full", "'allow-oom'"));
  EXPECT_EQ(client.run("FCALL plain 1 k"), "OK");
  EXPECT_EQ(client.run("FCALL_RO plain 1 k"),
            "(error) ERR Can not execute a script with write flag using *_ro command.");
  const std::string refused =
      "(error) ERR Write commands are not allowed from read-only scripts. script: on "
      "@user_function:3.";
  EXPECT_EQ(client.run("FCALL reads 1 k"), refused);
  EXPECT_EQ(client.run("FCALL_RO reads 1 k"), refused);
  server().parts().config.maxmemory = 1;
  EXPECT_EQ(client.run("FCALL plain 1 k"),
            "(error) OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(client.run("FCALL full 1 k"), "OK");
  EXPECT_TRUE(load(library("more", "more")).starts_with("(error) OOM "));
  EXPECT_EQ(client.run("FUNCTION DELETE lib"), "OK");
}

// ---- Dumps ----

TEST_F(FunctionsTest, RestoreByEachPolicy) {
  load(library("a", "f", "one"));
  load(library("b", "g", "two"));
  const std::string payload = dump();
  EXPECT_EQ(restore(payload), "(error) ERR Library a already exists");
  EXPECT_EQ(client.run({"FUNCTION", "RESTORE", payload}), "(error) ERR Library a already exists");
  EXPECT_EQ(restore(payload, "LATER"),
            "(error) ERR Wrong restore policy given, value should be either FLUSH, APPEND or "
            "REPLACE.");
  client.run("FUNCTION FLUSH");
  EXPECT_EQ(restore(payload), "OK");
  EXPECT_EQ(client.run("FCALL f 0"), "\"one\"");

  replace(library("a", "f", "changed"));
  load(library("c", "h"));
  EXPECT_EQ(restore(payload, "REPLACE"), "OK");
  EXPECT_EQ(names(), "a:f b:g c:h ");
  EXPECT_EQ(client.run("FCALL f 0"), "\"one\"");
  EXPECT_EQ(restore(payload, "FLUSH"), "OK");
  EXPECT_EQ(names(), "a:f b:g ");
  EXPECT_EQ(restore(dump_functions({}), "APPEND"), "OK");
  EXPECT_EQ(names(), "a:f b:g ");
  EXPECT_EQ(restore(dump_functions({}), "FLUSH"), "OK");
  EXPECT_EQ(names(), "");
}

TEST_F(FunctionsTest, RestoreIsAllOrNothing) {
  load("#!lua name=a\nlocal n = 0 redis.register_function('f', function() n = n + 1 return n end)");
  client.run("FCALL f 0");
  const Lines wrong[] = {
      {library("b", "g"), "#!lua name=c\nerror('x')"},  // one cannot be loaded
      {library("b", "g"), library("b", "h")},           // one is there twice
      {library("b", "g"), library("c", "f")},           // a function of another library
      {library("b", "g"), "no library"},
  };
  for (const Lines& codes : wrong) {
    for (const std::string policy : {"APPEND", "REPLACE"}) {
      if (policy == "REPLACE" && &codes == &wrong[1]) continue;  // the second replaces the first
      EXPECT_TRUE(restore(dump_functions(codes), policy).starts_with("(error) ERR "));
      EXPECT_EQ(names(), "a:f ") << codes[1] << policy;
    }
  }
  EXPECT_TRUE(restore(dump_functions(wrong[0]), "FLUSH").starts_with("(error) ERR "));
  EXPECT_EQ(names(), "a:f ");
  EXPECT_EQ(client.run("FCALL f 0"), "(integer) 2");  // it is still the same library
  EXPECT_EQ(restore(dump_functions(std::vector{library("b", "f")}), "REPLACE"),
            "(error) ERR Function f already exists");
  EXPECT_EQ(restore(dump_functions(std::vector{library("b", "g")}), "APPEND"), "OK");
  EXPECT_EQ(client.run("FCALL f 0"), "(integer) 3");
}

TEST_F(FunctionsTest, DamagedPayloadsChangeNothing) {
  load(library("a", "f"));
  const std::string payload = dump();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::string damaged = payload;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(restore(damaged, "FLUSH"), "(error) ERR DUMP payload version or checksum are wrong");
    EXPECT_TRUE(restore(payload.substr(0, i), "FLUSH").starts_with("(error) ERR "));
  }
  EXPECT_EQ(names(), "a:f ");
}

// ---- Transactions and propagation ----

TEST_F(FunctionsTest, LoadedInATransaction) {
  client.run("MULTI");
  load(library("a", "f"));
  client.run("FCALL f 0");
  client.run("FUNCTION DELETE a");
  client.run("FCALL f 0");
  EXPECT_EQ(client.run("EXEC"), R"(["a", "hello", OK, (error) ERR Function not found])");
}

TEST_F(FunctionsTest, ChangesArePropagated) {
  const std::string code = library("a", "f");
  propagated.clear();
  load(code);
  load(code);  // refused
  client.run("FCALL f 0");
  EXPECT_EQ(propagated, Lines{"0: FUNCTION LOAD " + code});
  propagated.clear();
  client.run("FUNCTION DELETE a");
  client.run("FUNCTION DELETE a");
  client.run("FUNCTION FLUSH");
  EXPECT_EQ(propagated, (Lines{"0: FUNCTION DELETE a", "0: FUNCTION FLUSH"}));
  load_body(
      "redis.register_function('f', function(keys) redis.call('SET', keys[1], 1) "
      "redis.call('INCR', keys[1]) end)");
  propagated.clear();
  client.run("FCALL f 1 k");
  EXPECT_EQ(propagated, (Lines{"0: MULTI", "0: SET k 1", "0: INCR k", "0: EXEC"}));
  propagated.clear();
  restore(dump_functions({}), "APPEND");
  EXPECT_EQ(propagated.size(), 1u);
}

}  // namespace functions_test
}  // namespace mayfly
