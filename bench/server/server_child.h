// SPDX-License-Identifier: Apache-2.0
// Servers and other programs that a benchmark starts. They end with it, however it ends: on return,
// on an error, by Ctrl-C, even when it is killed.

#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/report/must.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "net/socket.h"
#include "tools/resp_client.h"
#include "tools/scratch_directory.h"

namespace mayfly::bench {

// A program that runs. What it prints is collected in memory.
class Child {
 public:
  // `words` begin with the program: a path, or a name to look for in PATH. REQUIRES: the thread
  // lives as long as the child, which the system kills with it.
  explicit Child(const std::vector<std::string>& words);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills it

  pid_t pid() const { return pid_; }
  bool has_ended();

  // What it has printed, on both of its outputs.
  std::string output() const;

  // Waits until it has ended by itself. Throws Failure, with what it printed, if it failed.
  struct End {
    std::string output;
    double cpu_seconds;  // that it spent
  };
  End wait();

 private:
  pid_t pid_;  // 0: it has ended
  Fd output_;
};

// A server that is measured.
struct ServerProgram {
  std::string name;                // in the results
  std::vector<std::string> words;  // the program and its first arguments
  bool has_field_ttl = false;      // whether it knows HSETEX
  bool has_sets = false;           // SADD, ZADD
  bool has_lists = false;          // lists, streams and the other types
  bool has_scripts = false;        // EVALSHA
  bool has_member_ttl = false;     // SADDEX, ZADDEX

  bool is_ours() const { return name == "mayfly"; }
};

// A server on loopback, at a free port, with a directory of its own. It saves nothing by itself and
// is ready for clients.
class ServerChild {
 public:
  explicit ServerChild(const ServerProgram& program);

  const ServerProgram& program() const { return *program_; }
  const std::string& name() const { return program_->name; }
  int port() const { return port_; }
  std::filesystem::path directory() const { return directory_.path(); }
  RespClient connect() const { return must(RespClient::connect(port_)); }

  // That the process has spent until now, with all of its threads, in steps of 10 ms.
  double cpu_seconds() const;

 private:
  const ServerProgram* program_;
  ScratchDirectory directory_;
  int port_ = 0;
  Child child_;  // ends first
};

// One of each.
std::vector<ServerChild> start_all(const std::vector<ServerProgram>& programs);

// Calls `measure(server)` for each of them. Another one begins in each round.
template <class Measure>
void in_turns(const std::vector<ServerChild>& servers, int round, Measure measure) {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    measure(servers[(i + static_cast<std::size_t>(round)) % servers.size()]);
  }
}

// The path of a program of that name in PATH; empty if there is none.
std::string find_program(std::string_view name);

// The fields utime and stime of a line of /proc/PID/stat, added, in ticks.
Result<long> cpu_ticks(std::string_view stat_line);

// Sleeps. The benchmark waits for a moment of the wall clock; tests never do.
void rest(Millis time);

}  // namespace mayfly::bench
