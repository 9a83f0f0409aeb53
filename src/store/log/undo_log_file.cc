// SPDX-License-Identifier: Apache-2.0
// UndoFile, UndoFileLock and the sync of a directory.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "store/lmdb/lmdb.h"
#include "store/log/undo_log.h"

namespace mayfly::internal {

Result<std::optional<UndoFile>> UndoFile::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 && (errno == EROFS || errno == EACCES)) {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // then it can still be read
  }
  if (descriptor >= 0) return std::optional(UndoFile(path, descriptor));
  if (errno == ENOENT) return std::optional<UndoFile>();
  return system_error(errno, "open", path);
}

Result<UndoFile> UndoFile::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC, 0644);
  if (descriptor < 0) return system_error(errno, "create", path);
  return UndoFile(path, descriptor);
}

UndoFile::UndoFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

UndoFile::UndoFile(UndoFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

UndoFile& UndoFile::operator=(UndoFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

UndoFile::~UndoFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void UndoFile::close_in_child() { ::close(descriptor_); }

Result<std::size_t> UndoFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "read", path_);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Status UndoFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "write", path_);
    if (count == 0) return system_error(ENOSPC, "write", path_);
    done += static_cast<std::size_t>(count);
  }
  return Done{};
}

Status UndoFile::sync() {
  int failed = 0;
  do {
    failed = ::fdatasync(descriptor_);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return system_error(errno, "sync", path_);
  return Done{};
}

Status UndoFile::lock(std::uint64_t byte, Lock kind) {
  struct flock range {};
  range.l_type = static_cast<short>(kind == Lock::shared ? F_RDLCK : F_WRLCK);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  int failed = 0;
  do {
    failed = ::fcntl(descriptor_, F_OFD_SETLKW, &range);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return system_error(errno, "lock", path_);
  return Done{};
}

void UndoFile::unlock(std::uint64_t byte) {
  struct flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  ::fcntl(descriptor_, F_OFD_SETLK, &range);  // cannot fail on a lock that is held
}

Result<UndoFileLock> UndoFileLock::take(UndoFile& file, std::uint64_t byte, UndoFile::Lock kind) {
  Status locked = file.lock(byte, kind);
  if (!locked) return locked.error();
  return UndoFileLock(file, byte);
}

UndoFileLock::UndoFileLock(UndoFileLock&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), byte_(other.byte_) {}

UndoFileLock::~UndoFileLock() {
  if (file_ != nullptr) file_->unlock(byte_);
}

Status sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string directory = ".";
  if (slash != std::string::npos) directory = path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "open", directory);
  const int failed = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  if (failed != 0) return system_error(error_number, "sync", directory);
  return Done{};
}

}  // namespace mayfly::internal
