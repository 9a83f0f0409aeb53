// SPDX-License-Identifier: Apache-2.0
// DevProcesses: programs that this one starts, and that end with it.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

class DevProcesses {
 public:
  DevProcesses() = default;
  ~DevProcesses() { stop_all(); }
  DevProcesses(const DevProcesses&) = delete;
  DevProcesses& operator=(const DevProcesses&) = delete;

  struct Process {
    std::string name;
    pid_t pid = 0;
    std::filesystem::path log;
    std::vector<std::string> words;
    bool is_running = true;
  };

  // `words` is the program and its arguments; what it prints goes to `log`.
  Status start(std::string name, std::vector<std::string> words, std::filesystem::path log);

  const std::vector<Process>& all() const { return all_; }

  // The first that has ended since the last call.
  const Process* next_ended();

  // Asks all of them to end, and kills those that do not, the last started first; and others with
  // the same words.
  void stop_all();

 private:
  void stop_copies();

  std::vector<Process> all_;
};

// Ports of 127.0.0.1 that nobody uses at the moment.
Result<std::vector<int>> free_ports(std::size_t count);

// A program in PATH; nothing if it is not installed.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace mayfly
