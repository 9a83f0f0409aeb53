// SPDX-License-Identifier: Apache-2.0
// SystemDisk: files and directories.

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "persist/disk/disk.h"

namespace mayfly {
namespace {

constexpr int kFileMode = 0600;
constexpr int kDirectoryMode = 0700;

Code code_of(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return Code::full;
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    default:
      return Code::io;
  }
}

Error failed(std::string_view action, std::string_view path) {
  const int number = errno;
  std::string message("cannot ");
  message.append(action).append(" ").append(path).append(": ");
  message.append(std::generic_category().message(number));
  return {code_of(number), std::move(message)};
}

// Retries after a signal.
template <class Call>
auto retry_eintr(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

class SystemFile final : public DiskFile {
 public:
  SystemFile(int descriptor, std::string path, std::uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written =
          retry_eintr([&] { return ::write(descriptor_.number(), bytes.data(), bytes.size()); });
      if (written < 0) return failed("write to", path_);
      size_ += static_cast<std::uint64_t>(written);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return Done{};
  }

  Status sync() override {
    if (retry_eintr([&] { return ::fdatasync(descriptor_.number()); }) < 0) {
      return failed("sync", path_);
    }
    return Done{};
  }

  std::uint64_t size() const override { return size_; }

  Status truncate(std::uint64_t size) override {
    if (retry_eintr([&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(size)); }) <
        0) {
      return failed("truncate", path_);
    }
    size_ = size;
    return Done{};
  }

 private:
  const Descriptor descriptor_;  // in append mode: every write goes to the end
  const std::string path_;
  std::uint64_t size_;
};

class SystemSource final : public ByteSource {
 public:
  SystemSource(int descriptor, std::string path, std::uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}

  Result<std::size_t> read(std::span<char> room) override {
    const ssize_t count =
        retry_eintr([&] { return ::read(descriptor_.number(), room.data(), room.size()); });
    if (count < 0) return failed("read", path_);
    return static_cast<std::size_t>(count);
  }

  std::uint64_t size() const override { return size_; }

 private:
  const Descriptor descriptor_;
  const std::string path_;
  const std::uint64_t size_;
};

Result<std::uint64_t> size_of(const Descriptor& descriptor, const std::string& path) {
  struct stat about {};
  if (::fstat(descriptor.number(), &about) < 0) return failed("read", path);
  if (S_ISDIR(about.st_mode)) errno = EISDIR;
  if (S_ISDIR(about.st_mode)) return failed("open", path);
  return static_cast<std::uint64_t>(about.st_size);
}

int open_to_write(const std::string& path, int flags) {
  return retry_eintr([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, kFileMode);
  });
}

Result<std::unique_ptr<DiskFile>> opened(int number, const std::string& path) {
  Descriptor descriptor(number);
  if (number < 0) return failed("open", path);
  const Result<std::uint64_t> size = size_of(descriptor, path);
  if (!size) return size.error();
  return std::unique_ptr<DiskFile>(std::make_unique<SystemFile>(descriptor.release(), path, *size));
}

// A name that cannot be foreseen, so that it is free.
std::string unforeseen_name(const std::string& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) {
    random = static_cast<std::uint64_t>(::getpid());  // O_EXCL is what matters
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = path + ".";
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[random >> shift & 15];
  return name;
}

}  // namespace

// A link of this name is replaced; the file that it leads to is not written to.
Result<std::unique_ptr<DiskFile>> SystemDisk::create(const std::string& path) {
  const std::string fresh = unforeseen_name(path);
  const int number = open_to_write(fresh, O_EXCL | O_NOFOLLOW);
  if (number < 0) return failed("open", path);
  if (std::rename(fresh.c_str(), path.c_str()) == 0) return opened(number, path);
  const Error error = failed("open", path);
  ::unlink(fresh.c_str());
  ::close(number);
  return error;
}

Result<std::unique_ptr<DiskFile>> SystemDisk::append(const std::string& path) {
  const int number = open_to_write(path, O_NOFOLLOW);
  if (number >= 0 || errno != ELOOP) return opened(number, path);
  std::string message("cannot open ");
  message.append(path).append(": it is a symbolic link (put the file itself there)");
  return Error{Code::denied, std::move(message)};
}

Result<std::unique_ptr<DiskFile>> SystemDisk::append_through_links(const std::string& path) {
  return opened(open_to_write(path, 0), path);
}

Result<std::unique_ptr<ByteSource>> SystemDisk::open(const std::string& path,
                                                     std::uint64_t offset) {
  Descriptor descriptor(retry_eintr([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (descriptor.number() < 0) return failed("open", path);
  const Result<std::uint64_t> size = size_of(descriptor, path);
  if (!size) return size.error();
  if (::lseek(descriptor.number(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return failed("read", path);
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<SystemSource>(descriptor.release(), path, *size - std::min(*size, offset)));
}

// The administrator may have given the old file to a group.
Status SystemDisk::rename(const std::string& from, const std::string& to) {
  struct stat old {};
  if (::lstat(to.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
    (void)::chmod(from.c_str(), old.st_mode & 0777);
  }
  if (std::rename(from.c_str(), to.c_str()) < 0) return failed("rename", from + " to " + to);
  return Done{};
}

// Freeing the blocks of a large file takes a tenth of a second or more. It happens at the last
// close(), which a thread does.
Status SystemDisk::remove(const std::string& path) {
  constexpr off_t kLarge = 16 << 20;
  struct stat about {};
  const int held = ::stat(path.c_str(), &about) == 0 && about.st_size > kLarge
                       ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC)
                       : -1;
  const bool is_removed = ::unlink(path.c_str()) == 0 || errno == ENOENT;
  const int error = errno;
  if (held >= 0) std::thread([held] { ::close(held); }).detach();
  errno = error;
  if (!is_removed) return failed("remove", path);
  return Done{};
}

Status SystemDisk::make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return Done{};
  struct stat about {};
  const bool exists = errno == EEXIST;
  if (exists && ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return Done{};
  if (exists) errno = EEXIST;
  return failed("create directory", path);
}

Status SystemDisk::sync_directory(const std::string& path) {
  const Descriptor descriptor(
      retry_eintr([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (descriptor.number() < 0) return failed("open directory", path);
  if (retry_eintr([&] { return ::fsync(descriptor.number()); }) < 0) {
    return failed("sync directory", path);
  }
  return Done{};
}

bool SystemDisk::exists(const std::string& path) const {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

Result<std::vector<std::string>> SystemDisk::list(const std::string& directory) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (stream == nullptr) return failed("list", directory);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failed("list", directory);
  return names;
}

std::optional<DiskRoom> SystemDisk::room(const std::string& directory) const {
  struct statvfs about {};
  if (::statvfs(directory.c_str(), &about) != 0) return std::nullopt;
  return DiskRoom{about.f_bavail * about.f_frsize, about.f_blocks * about.f_frsize};
}

// A copy, if the file system has no hard links.
Status SystemDisk::link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return Done{};
  if (errno == EEXIST || errno == ENOENT || errno == ENOSPC) return failed("create", to);
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
