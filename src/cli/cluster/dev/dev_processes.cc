// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/dev/dev_processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "mayfly/internal/stopwatch.h"
#include "net/socket.h"

namespace mayfly {
namespace {

constexpr std::int64_t kStopWaitNs = 3'000'000'000;
constexpr std::chrono::milliseconds kStopLook{20};

// In the child. Only what is allowed between fork and exec.
[[noreturn]] void become(char* const* words, int log, pid_t parent) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);  // Ctrl-C is for us: we end them in order
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::execv(words[0], words);
  ::_exit(127);
}

}  // namespace

Status DevProcesses::start(std::string name, std::vector<std::string> words,
                           std::filesystem::path log) {
  const Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.valid()) {
    return Error{Code::io, fmt::format("cannot write {}: {}", log.string(), errno_text(errno))};
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(pointers.data(), file.get(), parent);
  if (pid < 0) {
    return Error{Code::io, fmt::format("cannot start {}: {}", words[0], errno_text(errno))};
  }
  all_.push_back({std::move(name), pid, std::move(log), std::move(words)});
  return Done{};
}

const DevProcesses::Process* DevProcesses::next_ended() {
  for (Process& process : all_) {
    if (!process.is_running || ::waitpid(process.pid, nullptr, WNOHANG) != process.pid) continue;
    process.is_running = false;
    return &process;
  }
  return nullptr;
}

void DevProcesses::stop_all() {
  for (const Process& process : all_) {
    if (process.is_running) ::kill(process.pid, SIGCONT);  // it may have been stopped
    if (process.is_running) ::kill(process.pid, SIGTERM);
  }
  const std::int64_t end_ns = monotonic_ns() + kStopWaitNs;
  const auto is_any_running = [&] {
    return std::ranges::any_of(all_, [](const Process& process) { return process.is_running; });
  };
  while (is_any_running() && monotonic_ns() < end_ns) {
    if (next_ended() == nullptr) std::this_thread::sleep_for(kStopLook);
  }
  for (auto process = all_.rbegin(); process != all_.rend(); ++process) {
    if (!process->is_running) continue;
    ::kill(process->pid, SIGKILL);
    ::waitpid(process->pid, nullptr, 0);
    process->is_running = false;
  }
  stop_copies();
}

// Processes started in a shell by the command lines that we have printed: no children of ours.
void DevProcesses::stop_copies() {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    const bool is_copy = std::ranges::any_of(all_, [&](const Process& process) {
      std::string own;
      for (const std::string& word : process.words) own.append(word).push_back('\0');
      return words == own;
    });
    if (is_copy) ::kill(static_cast<pid_t>(std::stol(name)), SIGKILL);
  }
}

Result<std::vector<int>> free_ports(std::size_t count) {
  std::vector<Fd> sockets;  // all are kept until the end, so that no port comes twice
  std::vector<int> ports;
  while (ports.size() < count) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(socket.get(), general, size) != 0 ||
        ::getsockname(socket.get(), general, &size) != 0) {
      return Error{Code::io, fmt::format("no free port: {}", errno_text(errno))};
    }
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(std::move(socket));
  }
  return ports;
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const char* const variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "/usr/bin:/bin" : variable;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

}  // namespace mayfly
