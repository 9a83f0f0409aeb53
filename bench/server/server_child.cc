// SPDX-License-Identifier: Apache-2.0
#include "bench/server/server_child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "mayfly/internal/stopwatch.h"

namespace mayfly::bench {
namespace {

constexpr int kAttempts = 3;  // another program may take the free port before the server does
constexpr std::int64_t kStartNs = 15'000'000'000;  // 15 s
constexpr int kNotFound = 127;

[[noreturn]] void fail_with_errno(std::string_view what) {
  throw Failure(fmt::format("{}: {}", what, errno_text(errno)));
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become(pid_t parent, int output, char* const* words) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotFound);  // it died before prctl() was called
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(words[0], words);
  ::_exit(kNotFound);
}

int free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!socket.valid() || ::bind(socket.get(), any, size) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    fail_with_errno("no free port");
  }
  return ntohs(address.sin_port);
}

std::vector<std::string> server_words(const ServerProgram& program, int port,
                                      const std::filesystem::path& directory) {
  std::vector<std::string> words = program.words;
  for (const std::string& word :
       {std::string("--port"), std::to_string(port), std::string("--bind"),
        std::string("127.0.0.1"), std::string("--save"), std::string(), std::string("--appendonly"),
        std::string("no"), std::string("--dir"), directory.string(),
        std::string("--enable-debug-command"), std::string("yes"), std::string("--maxclients"),
        std::string("20000")}) {  // 10,000 of them wait in one measurement
    words.push_back(word);
  }
  return words;
}

bool answers(int port) {
  Result<RespClient> client = RespClient::connect(port);
  return client && client->call("PING");
}

// The last lines of what a program printed.
std::string tail(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  constexpr std::size_t kMost = 400;
  if (text.size() > kMost) text.remove_prefix(text.size() - kMost);
  return text.empty() ? "it printed nothing" : std::string(text);
}

Child start_server(const ServerProgram& program, const std::filesystem::path& directory,
                   int& port) {
  std::string why;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    port = free_port();
    Child child(server_words(program, port, directory));
    const std::int64_t start = monotonic_ns();
    while (!child.has_ended() && monotonic_ns() - start < kStartNs) {
      if (answers(port)) return child;
      rest(Millis(5));
    }
    why = tail(child.output());
  }
  throw Failure(fmt::format("{} does not start: {}", program.name, why));
}

}  // namespace

Child::Child(const std::vector<std::string>& words)
    : pid_(0), output_(::memfd_create("mayfly-bench", MFD_CLOEXEC)) {
  if (!output_.valid()) fail_with_errno("no memory for what a program prints");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail_with_errno(fmt::format("cannot start {}", words.front()));
  if (pid_ == 0) become(parent, output_.get(), pointers.data());
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}

Child::~Child() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool Child::has_ended() {
  if (pid_ != 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ == 0;
}

std::string Child::output() const {
  std::string text;
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t got =
        ::pread(output_.get(), block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

Child::End Child::wait() {
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0) {
    if (errno != EINTR) fail_with_errno("cannot wait for a program");
  }
  pid_ = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Failure(tail(output()));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {output(), seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

ServerChild::ServerChild(const ServerProgram& program)
    : program_(&program),
      directory_(must(ScratchDirectory::make(std::filesystem::temp_directory_path()))),
      port_(0),
      child_(start_server(program, directory_.path(), port_)) {}

double ServerChild::cpu_seconds() const {
  std::ifstream file(fmt::format("/proc/{}/stat", child_.pid()));
  std::string line;
  std::getline(file, line);
  return static_cast<double>(must(cpu_ticks(line))) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<ServerChild> start_all(const std::vector<ServerProgram>& programs) {
  std::vector<ServerChild> servers;
  servers.reserve(programs.size());
  for (const ServerProgram& program : programs) servers.emplace_back(program);
  return servers;
}

std::string find_program(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
    if (folder.size() == folders.size()) return "";
    folders.remove_prefix(folder.size() + 1);
  }
}

Result<long> cpu_ticks(std::string_view stat_line) {
  // The name of the program, in brackets, may itself have spaces and brackets. Behind it come the
  // state, which is field 3, and utime and stime, which are fields 14 and 15.
  constexpr int kUtime = 14;
  constexpr int kStime = 15;
  const Error wrong = {Code::corrupt, "cannot read how long the server has run"};
  const std::size_t name_end = stat_line.rfind(')');
  if (name_end == std::string_view::npos) return wrong;
  stat_line.remove_prefix(name_end + 1);
  long ticks = 0;
  for (int field = 3; field <= kStime; ++field) {
    if (!stat_line.starts_with(' ')) return wrong;
    stat_line.remove_prefix(1);
    const std::string_view word = stat_line.substr(0, stat_line.find(' '));
    stat_line.remove_prefix(word.size());
    if (field < kUtime) continue;
    long number = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failure != std::errc() || end != word.data() + word.size()) return wrong;
    ticks += number;
  }
  return ticks;
}

void rest(Millis time) {
  (void)::poll(nullptr, 0, static_cast<int>(std::max(time, Millis(0)).count()));
}

}  // namespace mayfly::bench
