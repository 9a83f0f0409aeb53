// SPDX-License-Identifier: Apache-2.0
#include "store/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <vector>

#include "store/lmdb.h"

namespace mayfly {
namespace {

struct Shared {
  std::unique_ptr<Environment> environment;
  int handles = 0;
};

struct Registry {
  std::mutex mutex;
  std::vector<Shared> open;
};

// Never destroyed, so that a store that is closed while the process ends still finds it.
Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

// The file that is there now: compaction puts another one in its place.
FileId file_id(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

// Makes sure that there is a file, and says so in our words if there cannot be.
Status touch_file(const std::string& path, const StoreOptions& options, bool& made) {
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
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return system_error(errno, doing);
  ::close(file);
  made = true;
  return Done{};
}

}  // namespace

Result<Environment*> acquire_environment(const std::string& path, const StoreOptions& options) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  bool made = false;
  if (const Status there = touch_file(path, options, made); !there) return there.error();
  const FileId id = file_id(path);
  for (Shared& shared : all.open) {
    if (file_id(shared.environment->path()) != id) continue;
    if (!options.read_only && !shared.environment->writable()) {
      return Error{Code::denied, path + " is open in this process for reading only"};
    }
    ++shared.handles;
    return shared.environment.get();
  }
  auto opened = Environment::open(path, options);
  if (!opened) {
    if (made) ::unlink(path.c_str());
    return opened.error();
  }
  all.open.push_back({std::move(*opened), 1});
  return all.open.back().environment.get();
}

Status release_environment(Environment* environment) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  const auto found = std::ranges::find_if(
      all.open, [&](const Shared& shared) { return shared.environment.get() == environment; });
  if (--found->handles > 0) return Done{};
  const Status closed = found->environment->close();
  all.open.erase(found);
  return closed;
}

}  // namespace mayfly
