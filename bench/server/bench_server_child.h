// SPDX-License-Identifier: Apache-2.0
// Servers and other programs that a benchmark starts, and that end with it, however it ends: on
// return, on an error, by Ctrl-C, even when it is killed.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "net/socket.h"
#include "tools/resp_client.h"

namespace mayfly {

// A program that runs. What it prints is collected in memory.
class Child {
 public:
  // `words` begin with the program: a path, or a name that is looked for in PATH. REQUIRES: the
  // thread lives as long as the child shall, which the system kills with it.
  static Result<Child> start(const std::vector<std::string>& words);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills it: there is nothing in it that anybody needs

  pid_t pid() const { return pid_; }
  bool has_ended();

  // What it has printed, on both of its outputs.
  std::string output() const;

  // Waits until it has ended by itself. Code::unsupported, with what it printed, if it failed.
  struct End {
    std::string output;
    double cpu_seconds;  // that it spent
  };
  Result<End> wait();

 private:
  Child(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;  // 0: it has ended, and the system has forgotten it
  Fd output_;
};

enum class ServerKind { mayfly, redis };

// "Mayfly", "redis-server".
std::string_view title_of(ServerKind kind);

// A server on loopback, at a port that was free, which saves nothing and is ready for clients.
class ServerChild {
 public:
  // `directory` is where it keeps its files, if it is told to; it reads what it finds there.
  static Result<ServerChild> start(ServerKind kind, const std::filesystem::path& directory =
                                                        std::filesystem::temp_directory_path());

  ServerKind kind() const { return kind_; }
  int port() const { return port_; }
  Result<RespClient> connect() const { return RespClient::connect(port_); }

  // That the process has spent until now, with all of its threads, in steps of 10 ms.
  Result<double> cpu_seconds() const;

 private:
  ServerChild(ServerKind kind, Child child, int port)
      : kind_(kind), child_(std::move(child)), port_(port) {}

  ServerKind kind_;
  Child child_;
  int port_;
};

// Whether there is a program of that name in PATH.
bool is_installed(std::string_view program);

// The fields utime and stime of a line of /proc/PID/stat, added, in ticks.
Result<long> cpu_ticks(std::string_view stat_line);

// Does nothing for a while. The benchmark waits for a moment of the wall clock, never a test.
void rest(Millis time);

}  // namespace mayfly
