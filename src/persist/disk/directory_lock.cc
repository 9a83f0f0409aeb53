// SPDX-License-Identifier: Apache-2.0
// SystemDisk: locks on directories, so that only one process uses each.
//
// The lock is flock() on the file mayfly.lock in the directory, so it ends with the process, also
// when it is killed. The file names the owner, who removes it at the end. A process that opened the
// file before that sees by the inode number that it is no longer the file of the directory.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "persist/disk/disk.h"

namespace mayfly {
namespace {

constexpr std::string_view kLockName = "mayfly.lock";
constexpr int kLockFileMode = 0600;
constexpr int kAttempts = 100;  // a retry means that another server has just ended

Error lock_error(std::string_view action, const std::string& path, Code code = Code::io) {
  const int number = errno;
  std::string message("cannot ");
  message.append(action).append(" ").append(path).append(": ");
  message.append(std::generic_category().message(number));
  return {code, std::move(message)};
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// A lock does not need write permission: another user may have created the file.
int open_lock_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kLockFileMode);
  if (file >= 0 || errno != EACCES) return file;
  const int read_only = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (read_only < 0) errno = EACCES;
  return read_only;
}

std::string owner_in(int file) {
  std::array<char, 256> text;
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  std::string owner(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  owner.resize(std::min(owner.find('\n'), owner.size()));
  return owner.empty() ? std::string("an unknown process") : owner;
}

}  // namespace

// The file of one directory, locked.
class SystemDisk::LockFile {
 public:
  LockFile(int file, std::string path) : file_(file), path_(std::move(path)) {}
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Removes the file before unlocking it, unless the directory was replaced by another.
  ~LockFile() {
    struct stat ours {};
    struct stat there {};
    if (::fstat(file_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
        is_same_file(ours, there)) {
      ::unlink(path_.c_str());
    }
    ::close(file_);
  }

  // A full disk does not matter: the lock works without the text.
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
  if (::stat(directory.c_str(), &about) != 0) return lock_error("read", directory, Code::not_found);
  const DirectoryId id{about.st_dev, about.st_ino};
  const std::string path = directory + "/" + std::string(kLockName);
  for (int i = 0; i < kAttempts && !locks_.contains(id); ++i) {
    const int file = open_lock_file(path);
    if (file < 0) return lock_error("open", path, Code::denied);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const bool is_taken = errno == EWOULDBLOCK;
      const Error error =
          is_taken ? Error{Code::busy, "directory '" + directory +
                                           "' is in use by another server: " + owner_in(file)}
                   : lock_error("lock", path);
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
  if (!locks_.contains(id))
    return Error{Code::io, "cannot lock " + path + ": it is created and removed repeatedly"};
  std::unique_ptr<DirectoryLock> lock = std::make_unique<Lock>(*this, id);
  lock->set_owner(owner);
  return lock;
}

}  // namespace mayfly
