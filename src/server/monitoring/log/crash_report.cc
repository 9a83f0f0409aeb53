// SPDX-License-Identifier: Apache-2.0
// Writing the crash report from within a signal handler.

#include "server/monitoring/log/crash_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/version.h"
#include "commands/command.h"
#include "server/core/client.h"
#include "server/monitoring/log/log_file.h"

namespace mayfly {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
constexpr unsigned kLongestSeconds = 5;  // that a report may take
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kFramesMost = 64;

// The handler reads it; it is written before signals are caught, but for `info`, which has two
// places: the one that is in use is not written to.
struct State {
  std::array<char, 4096> log_path{};
  const RunningRequest* request = nullptr;
  const Clock* clock = nullptr;
  pid_t process = 0;
  std::uintptr_t program_begin = 0;  // where the program lies in memory
  std::uintptr_t program_end = 0;
  std::array<std::array<char, 48 * 1024>, 2> info{};
  std::array<std::size_t, 2> info_bytes{};
  std::array<Time, 2> info_at{};
  std::atomic<int> info_place = -1;                   // -1: no INFO yet
  std::atomic<pid_t> reporting = 0;                   // which thread
  alignas(16) std::array<char, kStackBytes> stack{};  // the usual one may have overflowed
};
State state;

// A line, made without allocating, and written whole.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  ~Line() {
    text_[size_++] = '\n';
    write_all(fd_, {text_.data(), size_});
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& operator<<(std::string_view text) {
    const std::size_t count = std::min(text.size(), text_.size() - 1 - size_);
    if (count > 0) std::memcpy(text_.data() + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Line& operator<<(std::int64_t number) { return add(number, 10); }
  Line& hex(std::uintptr_t number) {
    *this << "0x";
    return add(number, 16);
  }

  static void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(fd, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

 private:
  template <class Number>
  Line& add(Number number, int base) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }

  int fd_;
  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

std::string_view name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? std::string_view("?") : std::string_view(name);
}

void write_address(int fd, std::uintptr_t address) {
  Line line(fd);
  line << "  ";
  line.hex(address);
  if (address < state.program_begin || address >= state.program_end) return;
  line << "  mayfly+";
  line.hex(address - state.program_begin);
}

void write_addresses(int fd, const void* instruction) {
  Line(fd) << "--- Addresses (addr2line -Cfie mayfly OFFSET, of the same build)";
  if (instruction != nullptr) write_address(fd, reinterpret_cast<std::uintptr_t>(instruction));
  std::array<void*, kFramesMost> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    write_address(fd, reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]));
  }
}

// Where the code of libraries lies: the lines of executable mappings.
void write_mappings(int fd) {
  Line(fd) << "--- Code in memory";
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  std::array<char, 4096> text;
  std::size_t filled = 0;
  for (;;) {
    const ssize_t count = ::read(maps, text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
    std::string_view rest(text.data(), filled);
    for (std::size_t end = 0; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      if (rest.substr(0, end).find(" r-xp ") != rest.npos) Line(fd) << "  " << rest.substr(0, end);
    }
    if (rest.size() == text.size()) rest = {};  // a line without an end
    std::memmove(text.data(), rest.data(), rest.size());
    filled = rest.size();
  }
  ::close(maps);
}

// No words of the request: they may be secret.
void write_request(int fd) {
  const RunningRequest* const request = state.request;
  if (request == nullptr || request->client == nullptr || request->command == nullptr) {
    Line(fd) << "--- Request: none was running";
    return;
  }
  const Client& client = *request->client;
  Line(fd) << "--- Request: command " << request->command->parent
           << (request->command->parent.empty() ? "" : "|") << request->command->name << " of "
           << static_cast<std::int64_t>(request->words) << " words";
  if (request->of_script != nullptr) Line(fd) << "  by a script: " << request->of_script->name;
  Line(fd) << "  client id=" << static_cast<std::int64_t>(client.id())
           << " addr=" << client.link().address() << " db=" << client.database()
           << " resp=" << client.protocol() << (client.is_primary ? " primary" : "");
}

void write_info(int fd) {
  const int place = state.info_place;
  if (place < 0) return;
  const auto which = static_cast<std::size_t>(place);
  {
    Line line(fd);
    line << "--- INFO";
    if (state.clock != nullptr) {
      line << ", " << (state.clock->now() - state.info_at[which]).count() / 1000
           << " seconds before";
    }
  }
  Line::write_all(fd, {state.info[which].data(), state.info_bytes[which]});
}

int open_log() {
  if (state.log_path[0] == '\0') return STDOUT_FILENO;
  const int fd = open_text_descriptor(state.log_path.data(), TextFile::log);
  return fd < 0 ? STDERR_FILENO : fd;
}

const void* instruction_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  (void)machine;
  return nullptr;
#endif
}

// The process ends by the signal when the handler returns: until then it is blocked.
void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  (void)::raise(signal);
}

void on_crash(int signal, siginfo_t* details, void* context) {
  const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
  pid_t first = 0;
  if (!state.reporting.compare_exchange_strong(first, thread)) {
    if (first == thread) return end_by(signal);  // the report itself has crashed
    for (;;) ::pause();                          // another thread is at it, and ends the process
  }
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(kLongestSeconds);
  const int fd = open_log();
  write_crash_report(fd, signal, details->si_code, details->si_addr, instruction_of(context));
  end_by(signal);
}

int find_program(dl_phdr_info* info, std::size_t, void*) {
  state.program_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    state.program_end =
        std::max<std::uintptr_t>(state.program_end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return 1;  // the first is the program
}

}  // namespace

void write_crash_report(int fd, int signal, int code, const void* address,
                        const void* instruction) {
  Line(fd) << "=== MAYFLY CRASH REPORT. Please send it with what the server was doing ===";
  {
    Line line(fd);
    line << "Mayfly " << kMayflyVersion << " was ended by signal " << signal << " (SIG"
         << name_of_signal(signal) << ", code " << code << ") at address ";
    line.hex(reinterpret_cast<std::uintptr_t>(address));
    line << ", process " << ::getpid();
    if (state.process != 0 && ::getpid() != state.process) line << ", a child of the server";
    if (state.clock != nullptr) line << ", time " << state.clock->now().time_since_epoch().count();
  }
  write_addresses(fd, instruction);
  write_mappings(fd);
  write_info(fd);
  write_request(fd);  // last: its objects may be broken
  Line(fd) << "=== END OF THE CRASH REPORT ===";
}

void catch_crashes(const CrashSources& sources) {
  const std::size_t size = std::min(sources.log_path.size(), state.log_path.size() - 1);
  std::memcpy(state.log_path.data(), sources.log_path.data(), size);
  state.log_path[size] = '\0';
  state.request = sources.request;
  state.clock = sources.clock;
  state.process = ::getpid();
  ::dl_iterate_phdr(find_program, nullptr);
  std::array<void*, 1> frame;
  (void)::backtrace(frame.data(), 1);  // the first call loads a library

  stack_t stack{};
  stack.ss_sp = state.stack.data();
  stack.ss_size = state.stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

void release_crashes() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

void keep_info_for_crash(std::string_view info, Time now) {
  const std::size_t place = state.info_place == 0 ? 1 : 0;
  const std::size_t size = std::min(info.size(), state.info[place].size());
  std::memcpy(state.info[place].data(), info.data(), size);
  state.info_bytes[place] = size;
  state.info_at[place] = now;
  state.info_place = static_cast<int>(place);
}

}  // namespace mayfly
