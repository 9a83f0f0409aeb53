// SPDX-License-Identifier: Apache-2.0
// Configuration files and command lines: syntax, includes, errors, and writing a file back.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/config/config.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace config_file_test {

class ConfigFileTest : public testing::Test {
 protected:
  ConfigFileTest() : directory_(testing::TempDir() + "mayfly-config-XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  ~ConfigFileTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Empty if it worked, else why not, with the directory left out.
  std::string load(std::string_view text, bool strict = false) {
    return message(load_config_file(config_, write("valkey.conf", text), warnings_, strict));
  }

  std::string load_words(const std::vector<std::string>& words, bool strict = false) {
    return message(load_config_words(config_, words, warnings_, strict));
  }

  std::string message(const Status& status) const {
    if (status) return {};
    std::string text = status.error().message;
    const std::string prefix = directory_ + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }

  std::string show(std::string_view name) const {
    return directive_text(config_, name).value_or("(none)");
  }

  // Loads, changes, writes back, and returns the file.
  std::string rewritten(std::string_view text,
                        const std::vector<std::pair<std::string, std::string>>& changes) {
    EXPECT_EQ(load(text), "");
    for (const auto& [name, value] : changes) {
      EXPECT_TRUE(set_directive(config_, name, std::vector<std::string>{value}, true)) << name;
    }
    EXPECT_EQ(message(rewrite_config(config_)), "");
    return read(config_.file);
  }

  std::string directory_;
  Config config_;
  std::vector<std::string> warnings_;
};

TEST_F(ConfigFileTest, ReadsCommentsQuotesAndSeveralWords) {
  EXPECT_EQ(load("# a comment\n"
                 "\n"
                 "   # another\n"
                 "\tport 7000\r\n"
                 "PIDFILE '/tmp/with space.pid'\n"
                 "requirepass \"a\\x20b\\\"c\"\n"
                 "client-output-buffer-limit pubsub 32mb 8mb 61\n"
                 "save 900 1\n"
                 "save 300 10"),
            "");
  EXPECT_EQ(config_.port, 7000);
  EXPECT_EQ(config_.pidfile, "/tmp/with space.pid");
  EXPECT_EQ(config_.requirepass, "a b\"c");
  EXPECT_EQ(config_.output_pubsub.soft_seconds, 61);
  EXPECT_EQ(show("save"), "900 1 300 10");
  EXPECT_EQ(config_.file, path("valkey.conf"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ConfigFileTest, AnErrorSaysWhereAndWhat) {
  EXPECT_EQ(load("port 6379\nport 70000\n"),
            "valkey.conf, line 2: 'port 70000': argument must be between 0 and 65535 inclusive");
  EXPECT_EQ(load("maxmemory 5zb\n"),
            "valkey.conf, line 1: 'maxmemory 5zb': argument must be a memory value");
  EXPECT_EQ(load("prot 6379\n"),
            "valkey.conf, line 1: 'prot 6379': there is no directive prot; did you mean port?");
  EXPECT_EQ(load("\n\npidfile \"/tmp\n"), "valkey.conf, line 3: the quotes are not balanced");
}

TEST_F(ConfigFileTest, AFileThatIsRefusedChangesNothing) {
  EXPECT_NE(load("port 7000\nhz 9999\n"), "");
  EXPECT_EQ(config_.port, 6379);
  EXPECT_EQ(config_.file, "");
}

TEST_F(ConfigFileTest, AnErrorDoesNotTellAPassword) {
  EXPECT_EQ(load("requirepass one two\n"),
            "valkey.conf, line 1: 'requirepass (a secret) (a secret)': wrong number of arguments");
}

TEST_F(ConfigFileTest, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(message(load_config_file(config_, path("none.conf"), warnings_, false)),
            "cannot read the configuration file none.conf: No such file or directory");
  EXPECT_EQ(message(load_config_file(config_, directory_ + "/.", warnings_, false)),
            "cannot read the configuration file .: it is a directory");
}

TEST_F(ConfigFileTest, InertDirectivesAreNamedInOneWarning) {
  EXPECT_EQ(load("io-threads 4\nappendonly yes\nactivedefrag yes\nio-threads 2\n"), "");
  EXPECT_EQ(warnings_,
            (std::vector<std::string>{"Settings without effect here: activedefrag, io-threads"}));
  EXPECT_EQ(show("io-threads"), "2");
}

TEST_F(ConfigFileTest, AWordAndAFileGiveOneWarningTogether) {
  const std::string file = write("a.conf", "io-threads 4\n");
  EXPECT_EQ(load_words({file, "--activedefrag", "yes"}), "");
  EXPECT_EQ(warnings_,
            (std::vector<std::string>{"Settings without effect here: io-threads, activedefrag"}));
}

TEST_F(ConfigFileTest, WhatWouldChangeSafetyHasAWarningOfItsOwn) {
  EXPECT_EQ(load("unixsocketgroup web\nio-threads 4\n"), "");
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[0], "Settings without effect here: io-threads");
  EXPECT_TRUE(warnings_[1].starts_with("unixsocketgroup web has no effect in Mayfly"));
}

// A server with such a file would serve its clients without encryption.
TEST_F(ConfigFileTest, WhatWouldEncryptIsRefused) {
  for (const char* line : {"tls-port 6380", "tls-replication yes", "tls-cluster yes"}) {
    EXPECT_EQ(load(std::string(line) + "\n"),
              "valkey.conf, line 1: '" + std::string(line) +
                  "': this server has no TLS and would send plain text (leave it out, and put a "
                  "tunnel in front of the server)");
  }
  EXPECT_EQ(load("tls-port 0\ntls-replication no\ntls-cert-file x\n"), "");
}

TEST_F(ConfigFileTest, StrictRefusesOnlyWhatWouldChangeSafety) {
  EXPECT_EQ(load("io-threads 4\ntls-port 0\ncluster-enabled no\ntls-cert-file x\n", true), "");
  EXPECT_EQ(load("unixsocketgroup a\n", true),
            "valkey.conf, line 1: 'unixsocketgroup a': it has no effect here, and --strict was "
            "given");
}

// Every name that Valkey has and we only keep, each at its default.
TEST_F(ConfigFileTest, AllDefaultsOfValkeyGiveOneLineAndPassStrict) {
  std::string text;
  for (const InertDirective& row : inert_directives()) {
    text.append(row.name).append(" \"").append(row.value).append("\"\n");
  }
  EXPECT_EQ(load(text, true), "");
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(ConfigFileTest, DropUnsupportedNeedsNoValueOnACommandLine) {
  EXPECT_EQ(load_words({"--drop-unsupported", "--port", "7000"}), "");
  EXPECT_TRUE(config_.drop_unsupported);
  EXPECT_EQ(load_words({"--drop-unsupported", "no"}), "");
  EXPECT_FALSE(config_.drop_unsupported);
}

TEST_F(ConfigFileTest, IncludesFilesByPattern) {
  write("extra1.inc", "hz 20\ntimeout 5\n");
  write("extra2.inc", "hz 30\n");
  EXPECT_EQ(load("hz 11\ninclude " + path("extra*.inc") + "\ntimeout 6\n"), "");
  EXPECT_EQ(config_.hz, 30);
  EXPECT_EQ(config_.timeout, 6);
  EXPECT_EQ(config_.file, path("valkey.conf"));
}

TEST_F(ConfigFileTest, AnIncludedFileMustBeThereUnlessItIsAPattern) {
  EXPECT_EQ(load("include " + path("none*.inc") + "\n"), "");
  EXPECT_EQ(load("include " + path("none.inc") + "\n"),
            "cannot read the configuration file none.inc: No such file or directory");
}

TEST_F(ConfigFileTest, AFileThatIncludesItselfIsAnError) {
  EXPECT_NE(load("include " + path("valkey.conf") + "\n").find("too deeply"), std::string::npos);
}

TEST_F(ConfigFileTest, WordsWinOverTheFile) {
  const std::string file = write("a.conf", "port 7000\nhz 20\nsave 900 1\n");
  EXPECT_EQ(load_words({file, "--port", "7001", "--maxmemory", "10mb", "--save", "60", "5",
                        "--bind", "127.0.0.1 ::1", "--hz=25"}),
            "");
  EXPECT_EQ(config_.port, 7001);
  EXPECT_EQ(config_.hz, 25);
  EXPECT_EQ(config_.maxmemory, 10'485'760u);
  EXPECT_EQ(show("save"), "900 1 60 5");
  EXPECT_EQ(config_.bind.size(), 2u);
  EXPECT_EQ(config_.file, file);
}

TEST_F(ConfigFileTest, SaveCanBeTurnedOffByWords) {
  EXPECT_EQ(load_words({"--save", ""}), "");
  EXPECT_EQ(show("save"), "");
  EXPECT_EQ(load_words({"--save", "--port", "7000"}), "");
  EXPECT_EQ(show("save"), "");
}

TEST_F(ConfigFileTest, AWordMayHaveANameAndItsValue) {
  EXPECT_EQ(load_words({"--maxmemory 700mb", "--maxmemory-policy 'volatile-lru'", "--bind a b"}),
            "");
  EXPECT_EQ(show("maxmemory"), "734003200");
  EXPECT_EQ(show("maxmemory-policy"), "volatile-lru");
  EXPECT_EQ(show("bind"), "a b");
}

TEST_F(ConfigFileTest, AValueMayBeginWithDashes) {
  EXPECT_EQ(load_words({"--requirepass", "--secret", "--proc-title-template", "--save", "--save",
                        "--loglevel", "verbose"}),
            "");
  EXPECT_EQ(config_.requirepass, "--secret");
  EXPECT_EQ(show("proc-title-template"), "--save");
  EXPECT_EQ(show("save"), "");
  EXPECT_EQ(show("loglevel"), "verbose");
}

TEST_F(ConfigFileTest, TheFirstWordBehindAFileMayBeAName) {
  EXPECT_EQ(load_words({write("a.conf", "hz 20\n"), "loglevel", "verbose", "--hz", "25"}), "");
  EXPECT_EQ(show("loglevel"), "verbose");
  EXPECT_EQ(show("hz"), "25");
}

TEST_F(ConfigFileTest, WrongWordsAreErrors) {
  EXPECT_EQ(load_words({"--port"}), "command line: 'port': wrong number of arguments");
  EXPECT_EQ(load_words({"--prot", "1"}),
            "command line: 'prot 1': there is no directive prot; did you mean port?");
  EXPECT_EQ(load_words({"--unixsocketgroup", "a"}, true),
            "command line: 'unixsocketgroup a': it has no effect here, and --strict was given");
  EXPECT_EQ(config_.port, 6379);
}

TEST_F(ConfigFileTest, TheFileOfDebiansRedisIsTaken) {
  const char* const file = "/etc/redis/redis.conf";
  if (::access(file, R_OK) != 0) GTEST_SKIP() << "there is no " << file;
  Status status = load_config_file(config_, file, warnings_, false);
  EXPECT_TRUE(status || status.error().message.find("'dir ") != std::string::npos)
      << status.error().message;
}

TEST_F(ConfigFileTest, RewritingChangesOnlyWhatDiffers) {
  EXPECT_EQ(rewritten("# ours\nport 7000\n\nmaxmemory 10mb  \nhz 20\n# the end\n", {{"hz", "25"}}),
            "# ours\nport 7000\n\nmaxmemory 10mb  \nhz 25\n# the end\n");
}

TEST_F(ConfigFileTest, RewritingAppendsWhatIsNew) {
  EXPECT_EQ(rewritten("hz 20\n", {{"maxmemory", "1kb"}, {"repl-timeout", "5"}}),
            "hz 20\n# Generated by CONFIG REWRITE\nmaxmemory 1024\nrepl-timeout 5\n");
  EXPECT_EQ(rewritten(read(config_.file), {{"timeout", "3"}}),
            "hz 20\n# Generated by CONFIG REWRITE\nmaxmemory 1024\nrepl-timeout 5\ntimeout 3\n");
}

TEST_F(ConfigFileTest, RewritingPutsRepeatedDirectivesIntoOneLine) {
  EXPECT_EQ(rewritten("save 900 1\nhz 20\nsave 300 10\n", {{"save", ""}}), "save \"\"\nhz 20\n");
  config_ = {};
  EXPECT_EQ(rewritten("save 900 1\nhz 20\nsave 300 10\n", {{"save", "5 6"}}),
            "save 900 1 300 10 5 6\nhz 20\n");
}

TEST_F(ConfigFileTest, RewritingKeepsAliasesThatAreRightAndReplacesOthers) {
  EXPECT_EQ(
      rewritten("hash-max-ziplist-entries 5\nslave-priority 7\n", {{"replica-priority", "8"}}),
      "hash-max-ziplist-entries 5\nreplica-priority 8\n");
}

TEST_F(ConfigFileTest, WhatWasRewrittenReadsBackTheSame) {
  rewritten("port 7000\n", {{"requirepass", "a \"b\"\n\\ #'"},
                            {"bind", "* -::*"},
                            {"unixsocketperm", "700"},
                            {"client-output-buffer-limit", "pubsub 1mb 2 3"},
                            {"notify-keyspace-events", "KEA"},
                            {"maxmemory-policy", "allkeys-lfu"},
                            {"logfile", ""},
                            {"oom-score-adj-values", "1 2 3"}});
  Config again;
  EXPECT_EQ(message(load_config_file(again, config_.file, warnings_, false)), "");
  for (const std::string_view name : directive_names()) {
    EXPECT_EQ(directive_text(again, name), directive_text(config_, name)) << name;
  }
}

TEST_F(ConfigFileTest, AllDirectivesCanBeWrittenAndReadBackTheSame) {
  EXPECT_EQ(load("hz 20\nsave 1 2\n"), "");
  EXPECT_EQ(message(rewrite_config(config_, true)), "");
  Config again;
  EXPECT_EQ(message(load_config_file(again, config_.file, warnings_, false)), "");
  for (const std::string_view name : directive_names()) {
    EXPECT_EQ(directive_text(again, name), directive_text(config_, name)) << name;
  }
}

TEST_F(ConfigFileTest, RewritingKeepsPermissionsAndLeavesNoOtherFile) {
  EXPECT_EQ(load("hz 20\n"), "");
  ASSERT_EQ(::chmod(config_.file.c_str(), 0600), 0);
  config_.hz = 30;
  EXPECT_EQ(message(rewrite_config(config_)), "");
  struct stat now {};
  ASSERT_EQ(::stat(config_.file.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(ConfigFileTest, RewritingNeedsAFileThatCanBeWritten) {
  EXPECT_EQ(message(rewrite_config(config_)), "The server is running without a config file");
  config_.file = path("no/such/place.conf");
  const Status status = rewrite_config(config_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::io);
}

}  // namespace config_file_test
}  // namespace mayfly
