// SPDX-License-Identifier: Apache-2.0
// A child as a process: fork(), and a page of memory that both can see.

#include "server/persistence/child.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <string>

namespace mayfly {
namespace {

// The page that both processes see. The child writes, the parent reads.
struct Shared {
  std::atomic<std::uint64_t> keys = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> copied_bytes = 0;
  std::atomic<bool> is_done = false;  // the next fields are complete
  bool is_error = false;
  Code code = Code::io;
  char message[1024] = {};
};

struct Unmap {
  void operator()(Shared* shared) const { munmap(shared, sizeof(Shared)); }
};
using SharedPage = std::unique_ptr<Shared, Unmap>;

// Memory of this process that is no longer shared with its parent.
std::uint64_t private_bytes() {
  std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "re");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "Private_Dirty: %llu kB", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return std::uint64_t{kilobytes} * 1024;
}

void close_all_but(std::vector<int>& kept) {
  std::ranges::sort(kept);
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) close_range(next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  close_range(next, ~0u, 0);
}

[[noreturn]] void run_child(Shared& shared, const ChildWork& work, pid_t parent) {
  // A server that was killed may be started again at once: its child must not go on writing its
  // files.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the whole group; our parent decides
  const Status status = work([&](const ChildProgress& progress) {
    shared.keys = progress.keys;
    shared.bytes = progress.bytes;
  });
  shared.copied_bytes = private_bytes();
  if (!status) {
    shared.is_error = true;
    shared.code = status.error().code;
    const std::string& text = status.error().message;
    std::memcpy(shared.message, text.data(), std::min(text.size(), sizeof(shared.message) - 1));
  }
  shared.is_done = true;
  _exit(status ? 0 : 1);
}

class ProcessChild final : public Child {
 public:
  ProcessChild(pid_t pid, SharedPage shared) : pid_(pid), shared_(std::move(shared)) {}
  ~ProcessChild() override { stop(); }

  bool is_running() override {
    if (exit_) return false;
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return true;
    exit_ = ended == pid_ ? status : -1;
    return false;
  }

  Status result() const override {
    if (shared_->is_done && !shared_->is_error) return Done{};
    if (shared_->is_done) return Error{shared_->code, shared_->message};
    const int status = exit_.value_or(-1);
    if (status != -1 && WIFSIGNALED(status)) {
      return Error{Code::io, fmt::format("process {} was ended by signal {} ({})", pid_,
                                         WTERMSIG(status), strsignal(WTERMSIG(status)))};
    }
    return Error{Code::io, fmt::format("process {} ended without a result", pid_)};
  }

  ChildProgress progress() const override {
    return {shared_->keys, shared_->bytes, shared_->copied_bytes};
  }

  void stop() override {
    if (exit_) return;
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    exit_ = status;
  }

  int pid() const override { return pid_; }

 private:
  const pid_t pid_;
  SharedPage shared_;
  std::optional<int> exit_;  // as of waitpid()
};

}  // namespace

void delay_keys(std::int64_t delay, std::uint64_t keys) {
  const auto count = static_cast<std::int64_t>(keys);
  const std::int64_t micros = delay > 0 ? delay * count : count / -delay;
  const std::timespec time{micros / 1'000'000, micros % 1'000'000 * 1000};
  if (micros > 0) ::nanosleep(&time, nullptr);
}

Result<std::unique_ptr<Child>> fork_child(const ChildWork& work, std::vector<int> kept) {
  void* const page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return Error{Code::io, fmt::format("no memory to share with a child: {}", strerror(errno))};
  }
  SharedPage shared(new (page) Shared);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Error{Code::io, fmt::format("cannot fork: {}", strerror(errno))};
  if (pid == 0) {
    close_all_but(kept);
    run_child(*shared, work, parent);
  }
  return std::unique_ptr<Child>(std::make_unique<ProcessChild>(pid, std::move(shared)));
}

}  // namespace mayfly
