// SPDX-License-Identifier: Apache-2.0
// The environments that this process has open, each once, however many handles and paths lead to
// it: acquire_environment() and release_environment().
//
// This is the one place in Mayfly with state of the whole process, because LMDB has it there: to
// open a file twice in one process would break its locks. The child of a fork begins with none: it
// must not touch what its parent has open.
//
// Threads: a file that is being opened or closed, which may take long, does not block opening or
// closing another one.

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <new>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/store_files.h"

namespace mayfly::internal {
namespace {

constexpr std::chrono::milliseconds kLook{20};

struct Shared {
  std::string path;
  std::unique_ptr<Environment> environment{};  // null while it is being opened or closed
  int handles = 0;
  bool is_closing = false;
};

struct Registry {
  std::mutex mutex;
  std::condition_variable changed;  // something has been opened or closed
  std::list<Shared> all;
  Registry* parents = nullptr;  // of the process that this one was forked from; it stays as it was
};

Registry*& present();

// In the child of a fork. The parent's handles still point to its environments.
void begin_anew() {
  if (!rule_on(Rule::pid)) return present()->mutex.unlock();
  Registry* const parents = present();
  for (const Shared& shared : parents->all) {
    if (shared.environment != nullptr) shared.environment->close_in_child();
  }
  present() = new Registry;
  present()->parents = parents;
}

// Never destroyed, so that a store that is closed while the process ends still finds it.
Registry*& present() {
  static Registry* instance = [] {
    auto first = std::make_unique<Registry>();
    const int failed = ::pthread_atfork([] { present()->mutex.lock(); },
                                        [] { present()->mutex.unlock(); }, begin_anew);
    if (failed != 0) throw std::bad_alloc();
    return first.release();
  }();
  return instance;
}

// Makes sure that there is a file; the error is in our words. No file is made beside the files of
// a store that another process has open.
Status touch_file(const std::string& path, const StoreOptions& options) {
  struct stat info {};
  std::string doing = "open the store ";
  doing += path;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return system_error(EISDIR, doing);
    if (!S_ISREG(info.st_mode)) return Error{Code::invalid, path + " is not a regular file"};
    const int mode = options.read_only ? O_RDONLY : O_RDWR;
    const int file = ::open(path.c_str(), mode | O_CLOEXEC);
    if (file < 0) return system_error(errno, doing);
    ::close(file);
    return Done{};
  }
  if (errno != ENOENT) return system_error(errno, doing);
  if (options.read_only || !options.create) return system_error(ENOENT, doing);
  const bool is_used = Session::has_members(path) || is_used_elsewhere(path);
  if (is_used && ::stat(path.c_str(), &info) != 0) return gone_error(doing, path);
  return make_store_file(path);
}

// Which file an entry has open, whatever is at its path now.
FileId id_of(const Shared& shared) {
  return shared.environment != nullptr ? shared.environment->id() : file_id(shared.path);
}

// The entry of the file that is at `path` now.
Shared* find(Registry& registry, const std::string& path) {
  const FileId id = file_id(path);
  for (Shared& shared : registry.all) {
    if (id_of(shared) == id) return &shared;
  }
  return nullptr;
}

// Whether two paths name the same entry of the same folder.
bool is_same_place(const std::string& one, const std::string& other) {
  const std::filesystem::path left(one);
  const std::filesystem::path right(other);
  return left.filename() == right.filename() &&
         file_id(left.parent_path().string()) == file_id(right.parent_path().string());
}

// Whether this process has a file open that was at `path` and is no more: -lock and -shm beside it
// are still in use, so no other store can be opened there.
bool is_lost(const Registry& registry, const std::string& path) {
  return std::ranges::any_of(registry.all, [&](const Shared& shared) {
    return is_same_place(shared.path, path) && shared.environment != nullptr &&
           shared.environment->id() != file_id(path);
  });
}

// Waits until something has changed. False if it is `end` already.
bool wait(Registry& registry, std::unique_lock<std::mutex>& lock, std::int64_t end) {
  const std::int64_t left = end - monotonic_ns();
  if (left <= 0) return false;
  registry.changed.wait_for(lock, std::chrono::nanoseconds(left));
  return true;
}

Error opening_error(const std::string& path) {
  return {Code::busy,
          "cannot open the store " + path + ": another thread is still opening it (try again)"};
}

// Opens the environment of an entry, which is gone again if that fails.
Result<Environment*> open_entry(Registry& registry, std::unique_lock<std::mutex>& lock,
                                std::list<Shared>::iterator entry, const StoreOptions& options) {
  struct Opening {  // however it ends, others wait no longer
    Registry& registry;
    std::unique_lock<std::mutex>& lock;
    std::list<Shared>::iterator entry;
    ~Opening() {
      if (!lock.owns_lock()) lock.lock();
      if (entry->environment == nullptr) registry.all.erase(entry);
      registry.changed.notify_all();
    }
  };
  const Opening opening{registry, lock, entry};
  lock.unlock();
  auto opened = Environment::open(entry->path, options);
  lock.lock();
  if (!opened) return opened.error();
  entry->environment = std::move(*opened);
  entry->handles = 1;
  return entry->environment.get();
}

}  // namespace

Result<Environment*> acquire_environment(const std::string& path, const StoreOptions& options) {
  const Millis patience = std::clamp(options.busy_timeout, Session::kLeastWait, kLongestWait);
  const std::int64_t end = monotonic_ns() + patience.count() * kNanosInMilli;
  const std::int64_t grace = monotonic_ns() + Session::kLeastWait.count() * kNanosInMilli;
  Registry& registry = *present();
  std::unique_lock lock(registry.mutex);
  for (;;) {
    if (is_lost(registry, path)) {
      return Error{Code::io, "cannot open " + path +
                                 ": it was removed or replaced while this process has it open "
                                 "(close it first)"};
    }
    const Status there = touch_file(path, options);
    if (!there && there.error().code == Code::io && monotonic_ns() < grace) {
      registry.changed.wait_for(lock, kLook);  // a process may just be ending
      continue;
    }
    if (!there) return there.error();
    Shared* const shared = find(registry, path);
    if (shared == nullptr) break;
    if (shared->environment != nullptr) {
      if (!options.read_only && !shared->environment->writable()) {
        return Error{Code::denied, path + " is open in this process read-only (close it first)"};
      }
      if (!options.read_only) shared->environment->add_writer();
      ++shared->handles;
      return shared->environment.get();
    }
    if (shared->is_closing) {
      registry.changed.wait(lock);
    } else if (!wait(registry, lock, end)) {
      return opening_error(path);
    }
  }
  const auto entry = registry.all.insert(registry.all.end(), Shared{.path = path});
  return open_entry(registry, lock, entry, options);
}

Status release_environment(Environment* environment, Time now) {
  if (environment->is_foreign()) return Done{};
  Registry& registry = *present();
  std::unique_lock lock(registry.mutex);
  const auto found = std::ranges::find_if(
      registry.all, [&](const Shared& shared) { return shared.environment.get() == environment; });
  if (--found->handles > 0) return Done{};
  struct Closing {  // memory may run out
    Registry& registry;
    std::unique_lock<std::mutex>& lock;
    std::list<Shared>::iterator entry;
    std::unique_ptr<Environment> environment;
    ~Closing() {
      environment.reset();
      lock.lock();
      registry.all.erase(entry);
      registry.changed.notify_all();
    }
  };
  found->is_closing = true;
  const Closing closing{registry, lock, found, std::move(found->environment)};
  lock.unlock();
  return closing.environment->close(now);
}

}  // namespace mayfly::internal
