// SPDX-License-Identifier: Apache-2.0
// The contents of a crash report, and that it has no secrets.

#include "server/monitoring/log/crash_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "base/version.h"
#include "commands/command.h"
#include "server/core/requests.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace crash_report_test {

constexpr const char* kSecret = "open-sesame-of-a-client";

class CrashReportTest : public testing::Test {
 protected:
  // What the handler writes.
  static std::string report() {
    const int fd = ::memfd_create("report", 0);
    write_crash_report(fd, SIGSEGV, 1, nullptr, reinterpret_cast<const void*>(0x1234));
    std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    ::close(fd);
    return text;
  }

  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect("127.0.0.1:5123");
};

TEST_F(CrashReportTest, ItHasSignalVersionAddressesAndInfo) {
  keep_info_for_crash("# Server\r\nredis_version:7\r\n", fixture_.wall().now());
  const std::string text = report();
  EXPECT_TRUE(has(text, std::string(kMayflyVersion))) << text;
  EXPECT_TRUE(has(text, "signal 11 (SIGSEGV, code 1) at address 0x0")) << text;
  EXPECT_TRUE(has(text, "\n  0x1234\n")) << text;
  EXPECT_TRUE(has(text, " r-xp ")) << text;
  EXPECT_TRUE(has(text, "redis_version:7")) << text;
  EXPECT_TRUE(has(text, "=== END OF THE CRASH REPORT ===\n")) << text;
}

TEST_F(CrashReportTest, ALongInfoIsCutAndTheLastOneCounts) {
  keep_info_for_crash("first", Time{});
  keep_info_for_crash(std::string(1 << 20, 'x'), Time{});
  keep_info_for_crash("third", Time{});
  EXPECT_TRUE(has(report(), "third"));
  EXPECT_FALSE(has(report(), "first"));
  keep_info_for_crash(std::string(1 << 20, 'x'), Time{});
  EXPECT_LT(report().size(), 100'000u);
}

TEST_F(CrashReportTest, ItNamesTheCommandAndTheClientButNotTheWords) {
  const Command* const set = fixture_.server().parts().commands.find("set");
  RunningRequest running{&client_.client(), set, nullptr, 3};
  catch_crashes({.log_path = "", .request = &running, .clock = nullptr});
  client_.run({"SET", kSecret, kSecret});
  client_.run({"CONFIG", "SET", "requirepass", kSecret});
  const std::string text = report();
  EXPECT_TRUE(has(text, "command set of 3 words")) << text;
  EXPECT_TRUE(has(text, "addr=127.0.0.1:5123 db=0")) << text;
  EXPECT_FALSE(has(text, kSecret)) << text;
  running = {};
  EXPECT_TRUE(has(report(), "none was running"));
  catch_crashes({});
  release_crashes();
}

// The request under way, and the command that its script has called.
TEST_F(CrashReportTest, TheServerKeepsWhatIsRunning) {
  const RunningRequest& running = fixture_.server().parts().requests.running();
  EXPECT_EQ(running.command, nullptr);
  std::string_view command;
  std::string_view of_script;
  fixture_.server().parts().config.busy_reply_threshold = 1;
  fixture_.when_busy = [&] {
    command = running.command->name;
    of_script = running.of_script->name;
    fixture_.connect().run("SCRIPT KILL");
  };
  client_.run({"EVAL", "redis.call('GET', 'k') while true do end", "0"});
  EXPECT_EQ(command, "eval");
  EXPECT_EQ(of_script, "get");
  EXPECT_EQ(running.command, nullptr);
}

class CrashReportDeathTest : public CrashReportTest {
 protected:
  // Called in a child process.
  [[noreturn]] void crash(int signal, const RunningRequest* request) const {
    catch_crashes({.log_path = path_, .request = request, .clock = nullptr});
    (void)std::raise(signal);
    _exit(0);
  }

  // The report, which is removed.
  std::string take_log() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    ::unlink(path_.c_str());
    return text.str();
  }

  const std::string path_ = testing::TempDir() + "crash_report_" + std::to_string(::getpid());
};

TEST_F(CrashReportDeathTest, TheProcessEndsByTheSignalAndTheReportIsInTheLog) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    EXPECT_EXIT(crash(signal, nullptr), testing::KilledBySignal(signal), "");
    const std::string text = take_log();
    EXPECT_TRUE(has(text, "signal " + std::to_string(signal) + " (SIG")) << text;
    EXPECT_TRUE(has(text, "END OF THE CRASH REPORT")) << text;
  }
}

// As other lines of the log: a link of another user is not followed.
TEST_F(CrashReportDeathTest, TheReportIsNotWrittenThroughLinksOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  const std::string victim = path_ + "_victim";
  std::ofstream(victim) << "precious";
  ASSERT_EQ(::symlink(victim.c_str(), path_.c_str()), 0);
  ASSERT_EQ(::lchown(path_.c_str(), 65'534, 65'534), 0);
  EXPECT_EXIT(crash(SIGABRT, nullptr), testing::KilledBySignal(SIGABRT), "END OF THE CRASH REPORT");
  EXPECT_EQ(take_log(), "precious");
  ::unlink(victim.c_str());
}

// The client is destroyed: the report ends there, and so does the process.
TEST_F(CrashReportDeathTest, AReportThatCrashesItselfEndsTheProcess) {
  const Command* const set = fixture_.server().parts().commands.find("set");
  const RunningRequest broken{reinterpret_cast<const Client*>(0x10), set, nullptr, 3};
  EXPECT_EXIT(crash(SIGABRT, &broken), testing::KilledBySignal(SIGSEGV), "");
  const std::string text = take_log();
  EXPECT_TRUE(has(text, "command set of 3 words")) << text;
  EXPECT_FALSE(has(text, "END OF THE CRASH REPORT")) << text;
}

}  // namespace crash_report_test
}  // namespace mayfly
