// SPDX-License-Identifier: Apache-2.0
// How a call is tried without memory: each of its allocations fails once, then all from each one
// on. After each time no lock is kept, for this process or for another, and the store is sound.

#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvstore.h"
#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {

// Another process, which has the same files. It opens the store, writes, reads and closes.
class OtherProcess {
 public:
  OtherProcess() {
    if (::pipe(ask_) != 0 || ::pipe(answer_) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) serve();
  }
  ~OtherProcess() {
    ::close(ask_[1]);
    ::waitpid(process_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // Empty, or the failure.
  std::string write(const std::string& path) {
    const std::string line = path + '\n';
    if (::write(ask_[1], line.data(), line.size()) < 0) return "it has ended";
    return read_line(answer_[0]);
  }

 private:
  static std::string read_line(int from) {
    std::string line;
    for (char byte = 0; ::read(from, &byte, 1) == 1 && byte != '\n';) line += byte;
    return line;
  }

  static std::string use(const std::string& path) {
    const ManualClock clock(kStart);
    StoreOptions options;
    options.busy_timeout = Millis(2000);
    options.log_segment_bytes = kLogSegmentBytesMin;  // a longer log is read again each time
    auto store = Store::open(path, clock, options);
    if (!store) return "open: " + store.error().message;
    if (const Status put = store->put("other", "process"); !put) return put.error().message;
    const auto found = store->get("other");
    if (!found || *found != "process") return "it does not read what it wrote";
    const Status closed = store->close();
    return closed ? std::string() : "close: " + closed.error().message;
  }

  [[noreturn]] void serve() {
    ::close(ask_[1]);
    for (std::string path = read_line(ask_[0]); !path.empty(); path = read_line(ask_[0])) {
      const std::string answer = use(path) + '\n';
      if (::write(answer_[1], answer.data(), answer.size()) < 0) break;
    }
    ::_exit(0);
  }

  int ask_[2];
  int answer_[2];
  pid_t process_;
};

inline std::size_t open_files() {
  DIR* const folder = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

enum class Outcome { done, no_memory, failed };

// The store that calls are tried on. Before each, `key` is "old" in it; there are entries with
// deadlines, three of them expired, and some that are in the tree already.
class World {
 public:
  World() {
    folder_ = "/dev/shm/mayfly-memory-XXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr) {
      folder_ = "/tmp/mayfly-memory-XXXXXX";
      if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder");
    }
    path = folder_ + "/store";
    options.busy_timeout = Millis(300);
    options.log_segment_bytes = kLogSegmentBytesMin;
    options.sync_interval = Millis(3'600'000);
  }
  ~World() {
    close();
    std::filesystem::remove_all(folder_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void open() {
    if (!store) store.emplace(must(Store::open(path, clock, options)));
  }
  void open_c() {
    if (c != nullptr) return;
    KVStoreConfig config{};
    config.busyTimeout = 300;
    config.walSizeLimit = 16;  // 64 KiB
    const KVStoreOptions c_options = clocked();
    if (kvstore_open_ex(path.c_str(), &c, &config, &c_options) != KVSTORE_OK) {
      throw std::runtime_error("cannot open");
    }
  }
  void close() {
    store.reset();
    kvstore_close(c);
    c = nullptr;
  }

  KVStoreOptions clocked() const {
    KVStoreOptions c_options{};
    c_options.size = sizeof c_options;
    c_options.nowMs = [](void*) { return kStart.time_since_epoch().count(); };
    return c_options;
  }

  // Writes the rows through another handle.
  void fill() {
    Store rows = must(Store::open(path, clock, options));
    if (!must(rows.contains("tree9"))) {
      for (int i = 0; i < 10; ++i) must(rows.put("tree" + std::to_string(i), "in the tree"));
      must(rows.put("due in tree", "gone", kStart - Millis(5)));
      must(rows.put("later in tree", "there", kStart + Millis(90'000)));
      must(rows.open_family("family"));
      must(rows.checkpoint());
    }
    must(rows.put("key", "old"));
    must(rows.put("number", "41"));
    must(rows.put("later", "there", kStart + Millis(60'000)));
    for (const char* const due : {"due1", "due2"}) must(rows.put(due, "gone", kStart - Millis(1)));
    const Family family = must(rows.family("family"));
    must(rows.put("row", "of the family", {}, family));
    must(rows.put("key", "old", {}, family));
    must(rows.put("number", "41", {}, family));
    must(rows.put("later", "there", kStart + Millis(60'000), family));
    must(rows.put("due1", "gone", kStart - Millis(1), family));
  }

  std::string path_of(const std::string& name) const { return folder_ + '/' + name; }

  std::string path;
  ManualClock clock{kStart};
  StoreOptions options;
  std::optional<Store> store{};
  KVStore* c = nullptr;

 private:
  std::string folder_;
};

struct Trial {
  std::string name;
  std::function<void(World&)> prepare;      // with memory; the rows are there
  std::function<Outcome(World&)> run;       // without
  std::optional<std::string> success = {};  // the value of `key` after success; empty: erased
  std::function<void(World&)> after = [](World&) {};
};

// The message of the last call that failed for another reason. It is kept without an allocation.
inline char failure_text[300];
inline Outcome failed_with(const char* message) {
  std::snprintf(failure_text, sizeof failure_text, "%s", message);
  return Outcome::failed;
}

inline Outcome outcome_of(const Status& status) {
  return status ? Outcome::done : failed_with(status.error().message.c_str());
}
template <class T>
Outcome outcome_of(const Result<T>& result) {
  return result ? Outcome::done : failed_with(result.error().message.c_str());
}
inline Outcome outcome_of(int code) {
  if (code == KVSTORE_NOMEM) return Outcome::no_memory;
  if (code == KVSTORE_OK) return Outcome::done;
  std::snprintf(failure_text, sizeof failure_text, "code %d", code);
  return Outcome::failed;
}

}  // namespace mayfly::internal
