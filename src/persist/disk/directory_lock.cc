// SPDX-License-Identifier: Apache-2.0
// SystemDisk: directories that one process uses alone, and second names of files.
//
// The lock is flock() on the file mayfly.lock in the directory, so it ends with the process, also
// with one that is killed. The file says who has it. Its owner removes it at the end; whoever has
// opened it before sees by its number that it is not the one of the directory any more.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "persist/disk/disk.h"

namespace mayfly {
namespace {

constexpr std::string_view kLockName = "mayfly.lock";
constexpr int kFileMode = 0644;
constexpr int kAttempts = 100;  // each means that another server has ended just now

Error failed(std::string_view deed, const std::string& path, Code code = Code::io) {
  const int number = errno;
  std::string message("cannot ");
  message.append(deed).append(" ").append(path).append(": ");
  message.append(std::generic_category().message(number));
  return {code, std::move(message)};
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// A lock does not need the right to write: somebody else may have made the file.
int open_lock_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (file >= 0 || errno != EACCES) return file;
  const int read_only = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (read_only < 0) errno = EACCES;
  return read_only;
}

std::string owner_in(int file) {
  std::array<char, 256> text;
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  std::string owner(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  owner.resize(std::min(owner.find('\n'), owner.size()));
  return owner.empty() ? std::string("a process that has not said its number") : owner;
}

}  // namespace

// The file of one directory, locked.
class SystemDisk::LockFile {
 public:
  LockFile(int file, std::string path) : file_(file), path_(std::move(path)) {}
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Removed before it is unlocked. The directory may have been moved and another be in its place.
  ~LockFile() {
    struct stat ours {};
    struct stat there {};
    if (::fstat(file_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
        is_same_file(ours, there)) {
      ::unlink(path_.c_str());
    }
    ::close(file_);
  }

  // A full disk does not matter: the lock is good without a text.
  void set_owner(const std::string& owner) const {
    const std::string line = owner + "\n";
    const bool is_written =
        ::ftruncate(file_, 0) == 0 &&
        ::pwrite(file_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
    (void)is_written;
  }

  int uses = 0;

 private:
  const int file_;
  const std::string path_;
};

class SystemDisk::Lock final : public DirectoryLock {
 public:
  Lock(SystemDisk& disk, DirectoryId id) : disk_(disk), id_(id) { ++disk_.locks_.at(id_)->uses; }
  ~Lock() override {
    if (--disk_.locks_.at(id_)->uses == 0) disk_.locks_.erase(id_);
  }
  void set_owner(const std::string& owner) override { disk_.locks_.at(id_)->set_owner(owner); }

 private:
  SystemDisk& disk_;
  const DirectoryId id_;
};

SystemDisk::SystemDisk() = default;
SystemDisk::~SystemDisk() = default;
SystemDisk::SystemDisk(SystemDisk&&) noexcept = default;

Result<std::unique_ptr<DirectoryLock>> SystemDisk::lock(const std::string& directory,
                                                        const std::string& owner) {
  struct stat about {};
  if (::stat(directory.c_str(), &about) != 0) return failed("look at", directory, Code::not_found);
  const DirectoryId id{about.st_dev, about.st_ino};
  const std::string path = directory + "/" + std::string(kLockName);
  for (int i = 0; i < kAttempts && !locks_.contains(id); ++i) {
    const int file = open_lock_file(path);
    if (file < 0) return failed("open", path, Code::denied);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const bool is_taken = errno == EWOULDBLOCK;
      const Error error =
          is_taken ? Error{Code::busy, "the folder '" + directory +
                                           "' is in use by another server: " + owner_in(file)}
                   : failed("lock", path);
      ::close(file);
      return error;
    }
    struct stat ours {};
    struct stat there {};
    if (::fstat(file, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
        is_same_file(ours, there)) {
      locks_.emplace(id, std::make_unique<LockFile>(file, path));
    } else {
      ::close(file);
    }
  }
  if (!locks_.contains(id)) return Error{Code::io, "cannot lock " + path + ": it comes and goes"};
  std::unique_ptr<DirectoryLock> lock = std::make_unique<Lock>(*this, id);
  lock->set_owner(owner);
  return lock;
}

// Not every file system has second names: a copy will do.
Status SystemDisk::link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return Done{};
  if (errno == EEXIST || errno == ENOENT || errno == ENOSPC) return failed("make", to);
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::none, error);
  if (!error) {
    const Result<std::unique_ptr<DiskFile>> copy = append(to);
    return copy ? (*copy)->sync() : Status(copy.error());
  }
  std::string message("cannot copy ");
  message.append(from).append(" to ").append(to).append(": ").append(error.message());
  return Error{Code::io, std::move(message)};
}

}  // namespace mayfly
