// SPDX-License-Identifier: Apache-2.0
// Helper of store_memory_test.py: a lack of memory that src/capi/tests cannot make.
//
//   store_memory thread FOLDER          the thread of the log has none, at each of its allocations
//   store_memory address-space FOLDER   RLIMIT_AS leaves a process that has a store open little
//   store_memory use PATH               another process: opens the store, writes and reads

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "capi/tests/memory/failing_memory.h"
#include "mayfly/store.h"
#include "store/log/test_hooks.h"

namespace mayfly {
namespace {

using internal::FailingMemory;
using namespace std::chrono_literals;

constexpr Time kStart{Millis(1'800'000'000'000)};
constexpr int kMost = 5'000;  // allocations of the thread, in case it never succeeds

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

StoreOptions options() {
  StoreOptions all;
  all.busy_timeout = Millis(10'000);
  all.log_segment_bytes = kLogSegmentBytesMin;
  all.sync_interval = Millis(3'600'000);
  return all;
}

// Another process can use the store at once.
void use_elsewhere(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "store_memory", "use", path.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "another process cannot use the store");
}

void put_many(Store& store, const std::string& prefix, int count) {
  const std::string value(1'000, 'v');
  for (int i = 0; i < count; ++i) must(store.put(prefix + std::to_string(i % 50), value));
}

void verify(Store& store) {
  const CheckReport report = must(store.check());
  must(report.ok(), report.ok() ? "" : report.problems.front());
  must(must(store.get("kept")) == "value", "an entry is gone");
}

// ---- The thread of the log

// True: no allocation has failed.
bool try_thread(const std::string& path, int which, bool and_all_later) {
  ManualClock clock(kStart);
  Store store = must(Store::open(path, clock, options()));
  must(store.put("kept", "value"));
  for (int i = 0; i < 20; ++i) must(store.put("due" + std::to_string(i), "value", Millis(1)));
  must(store.checkpoint());
  clock.advance(1s);
  store.reset_stats();
  const std::uint64_t before = must(store.stats()).checkpoints;

  FailingMemory::arm(which, and_all_later);
  put_many(store, "first", 70);  // more than a segment: the thread is asked for a checkpoint
  while (!FailingMemory::has_failed() && must(store.stats()).checkpoints == before) {
    std::this_thread::yield();
  }
  const bool has_failed = FailingMemory::disarm();

  put_many(store, "second", 200);  // needs more room than there is without checkpoints
  use_elsewhere(path);
  must(store.purge_expired().status);
  must(must(store.count()).expired == 0, "expired entries are left");
  must(store.checkpoint());
  verify(store);
  must(store.close());
  return !has_failed;
}

void try_threads(const std::string& folder) {
  internal::on_step = [](const char* what) {
    if (std::string_view(what) == "thread") FailingMemory::watch_this_thread();
  };
  for (const bool and_all_later : {false, true}) {
    int which = 1;
    while (!try_thread(folder + "/store", which, and_all_later)) {
      must(++which < kMost, "it never succeeds");
    }
    must(which > 10, "the thread did not lack memory");
    std::printf("thread: %d allocations\n", which - 1);
  }
}

// ---- The address space

std::uint64_t address_space() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) throw std::runtime_error("statm");
  std::fclose(file);
  return std::uint64_t{pages} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_address_space(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  must(::setrlimit(RLIMIT_AS, &limit) == 0, "cannot set RLIMIT_AS");
}

// Returns false after std::bad_alloc, or an error whose message names memory; ends the process
// after any other error.
template <class Run>
bool did(const char* what, Run run) {
  try {
    const Status done = run();
    if (done) return true;
    if (done.error().message.find("memory") == std::string::npos) {
      std::fprintf(stderr, "%s: %s\n", what, done.error().message.c_str());
      ::_exit(1);
    }
  } catch (const std::bad_alloc&) {
  }
  return false;
}

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status(Done{}) : Status(result.error());
}

// Returns how many calls got too little memory.
int try_calls(Store& store, const std::string& path, const Clock& clock, std::string_view large) {
  int failed = 0;
  const auto run = [&failed](const char* what, auto call) {
    if (!did(what, call)) ++failed;
  };
  run("get", [&] { return status_of(store.get("kept")); });
  run("put", [&] { return store.put("key", "value", 1h); });
  run("put much", [&] {
    for (int i = 0; i < 100; ++i) {
      if (Status put = store.put("large" + std::to_string(i), large); !put) return put;
    }
    return Status(Done{});
  });
  run("cursor", [&] {
    auto cursor = store.cursor();
    if (!cursor) return Status(cursor.error());
    while (cursor->next()) continue;
    return cursor->status();
  });
  run("open again", [&] { return status_of(Store::open(path, clock, options())); });
  run("open another", [&] { return status_of(Store::open(path + "2", clock, options())); });
  run("checkpoint", [&] { return store.checkpoint(); });
  run("purge", [&] { return store.purge_expired().status; });
  run("check", [&] { return status_of(store.check()); });
  run("backup", [&] {
    std::filesystem::remove(path + "3");
    return store.backup(path + "3");
  });
  run("compact", [&] { return store.compact(); });
  return failed;
}

void try_space(const std::string& path, std::uint64_t left) {
  ManualClock clock(kStart);
  Store store = must(Store::open(path, clock, options()));
  must(store.put("kept", "value"));
  must(store.put("due", "value", Millis(1)));
  clock.advance(1s);
  const std::string large(300'000, 'x');
  limit_address_space(static_cast<rlim_t>(address_space() + left));
  const int failed = try_calls(store, path, clock, large);
  limit_address_space(RLIM_INFINITY);
  must(store.put("again", "value"));
  use_elsewhere(path);
  verify(store);
  must(store.close());
  std::printf("address space, %llu KiB left: %d calls failed\n",
              static_cast<unsigned long long>(left / 1024), failed);
  must(left > 0 || failed > 0, "the limit does nothing");
}

// Each in a separate process, whose memory is as after a start.
void try_spaces(const std::string& folder) {
  for (std::uint64_t left = 0; left < 1ULL << 33; left = left == 0 ? 16'384 : 2 * left) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        try_space(folder + "/store", left);
        std::fflush(stdout);
        ::_exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
      }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    must(status == 0, "with " + std::to_string(left) + " bytes left it fails");
  }
}

void use(const std::string& path) {
  const SystemClock clock;
  StoreOptions of = options();
  of.log_segment_bytes = kLogSegmentBytesMin;
  Store store = must(Store::open(path, clock, of));
  must(store.put("elsewhere", "value"));
  must(must(store.get("elsewhere")) == "value", "it does not read what it wrote");
  must(store.close());
}

int run(const std::string& mode, const std::string& where) {
  if (mode == "thread") {
    try_threads(where);
  } else if (mode == "address-space") {
    try_spaces(where);
  } else if (mode == "use") {
    use(where);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace mayfly

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return mayfly::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
}
